// SPDX-License-Identifier: Apache-2.0
// Why a request, or a thread, took as long as it did: sentences whose times add up, each with its evidence behind it.
import type { Asked } from '../api/use_answer';
import { count, formatOf, percent, safe } from '../format';
import { Answers } from '../parts/notice';
import { ToLink } from '../parts/to_link';
import { LIST_MAX, type Link, NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import { explainText as words } from '../text/explain';
import { colourOf, type Family } from '../timeline/classes';
import { laneKey } from '../timeline/lanes';
import { NO_TIMELINE } from '../timeline/link';
import { Origin } from '../timeline/time';
import type { ExplainAnswer, ExplainedPart, ExplainedThread, Explanation } from './answers';
import { causesOf, threadsOf } from './path';
import { nsOfTime } from './span_places';
import { Spans } from './spans';

const STACK = 12; // frames
const CAUSES = 3; // in words below the bar
const AROUND = 0.1; // of its length, on each side in the timeline
const FILM = 60e9; // ns of film around it, in which its threads are listed
const FAMILIES: Record<string, Family> = {
	'on-cpu': 'run', ready: 'ready', disk: 'storage', file: 'storage', 'page-fault': 'storage',
	'socket-read': 'network', 'socket-write': 'network', connect: 'network', accept: 'network',
	pipe: 'ipc', ipc: 'ipc', child: 'ipc', sleep: 'idle', poll: 'idle', timer: 'idle', unexplained: 'hole', hole: 'hole',
};

/** Kinds that the page does not know are locks, of any kind, or something else. */
export function familyOfKind(kind: string): Family {
	return FAMILIES[kind] ?? (/mutex|lock|condition|monitor|futex|gil|semaphore/i.test(kind) ? 'lock' : 'other');
}

export function ExplainPanel({ asked, host, onClose }: { asked: Asked<ExplainAnswer>; host: string; onClose(): void }) {
	const { answer } = asked;
	return <section class="explain" id="explain" aria-label={words.title}>
		<header class="row"><h2>{words.title}</h2>
			<button type="button" class="quiet icon" id="close-explain" aria-label={words.close} title={words.close} onClick={onClose}>×</button></header>
		<Answers asked={[asked]}>
			{answer?.requests.map((one, i) => <One key={i} of={one} host={host} />)}
		</Answers>
	</section>;
}

/** The timeline of its time, with all of its threads above the others. */
function timelineOfThreads({ start, duration }: Explanation, threads: ExplainedThread[], host: string): Link {
	const origin = new Origin(nsOfTime(start)), more = duration * AROUND, lanes = threads.map(laneKey);
	return { ...NO_LINK, view: 'timeline', filters: { ...NO_LINK.filters, host },
		range: { from: origin.wordOf(-FILM), to: origin.wordOf(duration + FILM) },
		timeline: { ...NO_TIMELINE, pinned: lanes.slice(0, LIST_MAX), lane: lanes[0] ?? '', at: origin.wordOf(Math.floor(duration / 2)),
			from: origin.wordOf(-more), to: origin.wordOf(duration + more) } };
}

function One({ of, host }: { of: Explanation; host: string }) {
	const { theme } = usePage();
	const ns = formatOf('ns'), causes = causesOf(of.parts), threads = threadsOf(of);
	return <article>
		<p><b>{of.endpoint ? safe(of.endpoint) : safe(of.comm)}</b> {(of.open ? words.hadTaken : words.took)(ns(of.duration), `${safe(of.comm)} ${of.tid}`)}</p>
		<div class="explain-bar" role="img" aria-label={words.bar}>
			{causes.map(({ kind, words: what, thread, duration }, i) => <i key={i} style={{ '--colour': colourOf(theme, familyOfKind(kind)), flexGrow: duration }}
				title={`${safe(what)}\n${safe(thread.comm)} ${thread.tid}\n${ns(duration)}, ${percent(duration, of.duration)}`} />)}
		</div>
		<ol class="explain-causes">{causes.slice(0, CAUSES).map(({ kind, words: what, thread, duration }, i) => <li key={i}>
			<i class="swatch" style={{ '--colour': colourOf(theme, familyOfKind(kind)) }} />
			<b class="number">{percent(duration, of.duration)}</b> {safe(what)}{thread.tid !== of.tid && <span class="hint"> {words.inThread(`${safe(thread.comm)} ${thread.tid}`)}</span>}
		</li>)}</ol>
		<p><ToLink class="button" id="explain-timeline" title={words.timelineHint} to={timelineOfThreads(of, threads, host)}>
			{words.timeline(count(threads.length))}</ToLink></p>
		<Spans of={of} threads={threads} host={host} />
		<Parts parts={of.parts} whole={of.duration} />
		<p class="explain-rest"><span class="number">{ns(of.unexplained)}</span> {words.unexplained}</p>
		{of.cause && of.cause.thread.pid !== of.pid && <p class="hint">
			{words.cause(safe(of.cause.words), `${safe(of.cause.thread.comm)} (${of.cause.thread.tid})`, ns(of.cause.duration))}</p>}
		<p class="hint">{words.moreThreads[of.more_threads]} {safe(of.more_threads_why)}</p>
		{of.not_linked.length > 0 && <p class="hint">{words.notLinked(safe(of.not_linked.join(', ')))}</p>}
	</article>;
}

function Parts({ parts, whole }: { parts: ExplainedPart[]; whole: number }) {
	const { theme } = usePage();
	const ns = formatOf('ns');
	return <ol class="explain-parts">{parts.map((part, i) => <li key={i}>
		<details>
			<summary><i class="swatch" style={{ '--colour': colourOf(theme, familyOfKind(part.kind)) }} />
				<span class="number">{ns(part.duration)}</span> <span class="hint number">{percent(part.duration, whole)}</span>{' '}
				{safe(part.words)}{part.likely && <span class="hint"> {words.likely}</span>}
				{part.parts.length > 0 && <>{', '}{words.spent}</>}</summary>
			<p class="hint">{words.evidence}: {safe(part.evidence)}</p>
			{part.stack.length > 0 && <ol class="explain-stack">{part.stack.slice(0, STACK).map((name, k) =>
				<li key={k}>{safe(name)}</li>)}</ol>}
		</details>
		{part.parts.length > 0 && <Parts parts={part.parts} whole={whole} />}
	</li>)}</ol>;
}
