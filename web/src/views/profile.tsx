// SPDX-License-Identifier: Apache-2.0
// Where the time of what was picked went: table, flame graph, or both.
import { useState } from 'preact/hooks';
import type { FlameAnswer, SandwichAnswer, TimelineAnswer } from '../api/answers';
import { askOf, profileAsk } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FlameState } from '../flame/contract';
import { FlamePanel } from '../flame/FlamePanel';
import { count } from '../format';
import { AskBar } from '../parts/ask_bar';
import { Chart } from '../parts/chart';
import { Details, exactly, useDetails } from '../parts/details';
import { ExportMenu } from '../parts/export_menu';
import { Answers } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { SumLine } from '../parts/sum_line';
import { usePage } from '../state/page';
import { rangeOf, stepsOf } from '../state/range';
import { text } from '../text/text';

const NODES = 20_000;
const NODES_MOST = 200_000;
const FUNCTIONS = 1000;

export function Profile() {
	const { link, range, span, beat, theme, go } = usePage();
	const steps = stepsOf(span);
	const [nodes, setNodes] = useState(NODES);
	const [frame, showFrame] = useDetails();
	const { sandwich } = link.flame;
	const timeline = useAnswer<TimelineAnswer>('timeline',
		askOf(link.event, range, link.filters, { group: 'none', steps }), beat);
	const flame = useAnswer<FlameAnswer>('flame', profileAsk(link, range, { nodes, functions: 1, limit: FUNCTIONS,
		sort: link.flame.sort === 'total' ? 'total' : 'self' }), beat);
	const around = useAnswer<SandwichAnswer>(sandwich && 'sandwich', profileAsk(link, range,
		{ name: sandwich?.name, image: sandwich?.image, nodes }), beat);
	const { answer } = flame;
	const change = (part: Partial<FlameState>, isStep = false) =>
		go({ flame: { ...link.flame, ...part } }, isStep);

	return <main id="content" class="profile">
		<AskBar hasShape />
		<Answers asked={[flame, timeline, around]} isSilent={link.isLive}>
			{answer && (answer.sum.total === 0 ? <NothingFilmed sum={answer.sum} /> : <>
				<div class="row spread">
					<SumLine sum={answer.sum} />
					<ExportMenu ask={profileAsk(link, range)} />
				</div>
				{timeline.answer && <Chart answer={timeline.answer} theme={theme} height={96}
					onSelect={(span) => go({ range: rangeOf(span), isLive: false })} />}
				<div class={frame ? 'graph-area with-details' : 'graph-area'}>
					<FlamePanel panes={[{ title: '', answer }]} functions={answer.functions ?? null}
						sandwich={around.answer} state={link.flame} theme={theme} onState={change}
						onDetails={showFrame}
						onFocus={({ name }) => go({ filters: { ...link.filters, focus: exactly(name) } })} />
					{frame && <Details frame={frame} unit={answer.unit} whole={timeline.answer} steps={steps}
						onClose={() => showFrame(null)} />}
				</div>
				{answer.hidden > 0 && <p class="hint">{text.profile.pruned(count(answer.hidden))}{' '}
					{nodes < NODES_MOST && <button type="button" class="quiet" id="more-nodes"
						onClick={() => setNodes(NODES_MOST)}>{text.profile.showAll}</button>}</p>}
			</>)}
		</Answers>
	</main>;
}
