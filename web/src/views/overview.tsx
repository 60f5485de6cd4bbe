// SPDX-License-Identifier: Apache-2.0
// The machine, or all machines, over time; and which services used how much.
import type { SeriesAnswer, TimelineAnswer } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { AskBar } from '../parts/ask_bar';
import { Chart } from '../parts/chart';
import { FineChoice } from '../parts/fine';
import { Groups } from '../parts/groups';
import { Kept } from '../parts/kept';
import { MoreKinds } from '../parts/more_kinds';
import { Answers } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { SumLine } from '../parts/sum_line';
import { stepsOfPage, usePage } from '../state/page';
import { rangeOf } from '../state/range';
import { text } from '../text/text';

const ROWS = 100; // with a line over time
const SERIES = 10_000;

export function Overview() {
	const page = usePage(), { link, range, beat, theme, go } = page;
	const asked = useAnswer<TimelineAnswer>('timeline', askOf(link.event, range, link.filters,
		{ group: link.byLabel ? `label.${link.byLabel}` : link.group, steps: stepsOfPage(page), rows: ROWS }), beat);
	// more than have a line: only their sums
	const hasMore = (asked.answer?.rows.length ?? 0) >= ROWS;
	const all = useAnswer<SeriesAnswer>(hasMore ? 'series' : null,
		askOf(link.event, range, link.filters, { limit: SERIES }), beat);
	const { answer } = asked;

	return <main id="content" class="overview">
		<h2 class="unseen">{text.views.overview}</h2>
		<AskBar />
		<Answers asked={[asked]} isSilent={link.isLive}>
			{answer && (answer.sum.total === 0 ? <NothingFilmed sum={answer.sum} /> : <>
				<SumLine sum={answer.sum} />
				<Kept span={answer.sum} />
				<Chart answer={answer} theme={theme} height={220} what={link.byLabel || link.group}
					onSelect={(span) => go({ range: rangeOf(span), isLive: false })}><FineChoice /></Chart>
				<Groups timeline={answer} series={all.answer} />
			</>)}
			{answer && <MoreKinds />}
		</Answers>
	</main>;
}
