// SPDX-License-Identifier: Apache-2.0
// What every thread did, every moment: the threads of the time that was picked, and the board that draws them.
import { useMemo } from 'preact/hooks';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { safe } from '../format';
import { AskBar } from '../parts/ask_bar';
import { Answers, Notice } from '../parts/notice';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import type { Span } from '../state/range';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer } from '../timeline/answers';
import { ofThreads } from '../timeline/lanes';
import { Board } from '../timeline/board';
import type { TimelineLink } from '../timeline/link';
import { levelOf } from '../timeline/tiles';

const LANES = 5000;
const STEPS = 600;
const SHOWN = 48; // lanes of the first picture
const ASIDE = 290; // pixels of the page that no lane has

/** The level of the first picture: that of all of the time, or -1: the address says what is in sight, or nothing is known. */
function firstLevel(span: Span | null, { from }: TimelineLink): number {
	if (!span || from)
		return -1;
	return levelOf((span.to - span.from) * 1e9 / Math.max(innerWidth - ASIDE, 100) / (devicePixelRatio || 1));
}

export function Timeline() {
	const { link, range, span, beat, status } = usePage();
	// what is asked does not change with what is in sight later
	const level = useMemo(() => firstLevel(span, link.timeline), [span?.from, span?.to]);
	const { focus, ignore } = link.filters;
	const lanes = useAnswer<LanesAnswer>('timeline/lanes', askOf(slicesEvent(status), range, ofThreads(link.filters),
		{ limit: LANES, steps: STEPS, ...(level < 0 ? {} : { shown: SHOWN, pixel: 2 ** level }) }), beat);
	const { answer } = lanes;
	const hosts = [...new Set(answer?.lanes.map(({ host }) => host))];

	return <main id="content" class="timeline">
		<h2 class="unseen">{words.name}</h2>
		<AskBar hasEvent={false} />
		{(focus || ignore) && <p class="hint">{words.stacks}</p>}
		<Answers asked={[lanes]} isSilent={link.isLive}>
			{answer && (hosts.length > 1 ? <Notice title={words.hosts}><HostChoice hosts={hosts} /></Notice> :
				answer.lanes.length > 0 ? <Board key={`${answer.base} ${answer.length}`} answer={answer} level={level} /> :
				<Notice title={words.empty}><span>{words.emptyHint}</span></Notice>)}
		</Answers>
	</main>;
}

/** Threads of two machines may have the same numbers: lanes are of one of them. */
function HostChoice({ hosts }: { hosts: string[] }) {
	const { link, go } = usePage();
	return <span class="row">{hosts.map((host) => <button type="button" key={host}
		onClick={() => go({ filters: { ...link.filters, host } })}>{safe(host)}</button>)}</span>;
}
