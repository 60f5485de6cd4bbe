// SPDX-License-Identifier: Apache-2.0
// What the threads of a request did, and the spans of its trace, or else of its process, along one axis of time.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, formatOf, safe } from '../format';
import { NO_LINK } from '../state/link';
import { explainText as words } from '../text/explain';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import type { SlicesAnswer } from '../timeline/answers';
import { className, colourOf, familyOf, heightOf } from '../timeline/classes';
import { laneKey } from '../timeline/lanes';
import { type Runs, unpackRuns } from '../timeline/runs';
import type { ExplainedThread, Explanation, SpansAnswer } from './answers';
import { nsOfTime, placesOf } from './span_places';

const SHOWN = 100;
const LANES = 8; // threads beside the spans
const PIXELS = 400; // of such a lane
const TRACE = /^[0-9a-f]{32}$/i;
const AROUND = 3600e9; // ns: a trace may begin before the request, and end behind it

function wordOf(ns: bigint): string {
	return `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, '0')}`;
}

export function Spans({ of, threads, host }: { of: Explanation; threads: ExplainedThread[]; host: string }) {
	const { status } = usePage(), shown = threads.slice(0, LANES);
	const start = nsOfTime(of.start), trace = TRACE.test(of.id ?? '') ? of.id! : '', ns = formatOf('ns');
	const more = BigInt(trace ? AROUND : 0);
	const { answer } = useAnswer<SpansAnswer>('spans',
		askOf('', { from: wordOf(start > more ? start - more : 0n), to: wordOf(start + BigInt(Math.max(of.duration, 1)) + more) },
			{ ...NO_LINK.filters, host: trace ? '' : host, pid: trace ? '' : String(of.pid) }, { trace, limit: SHOWN }));
	const { answer: slices } = useAnswer<SlicesAnswer>(of.duration > 0 ? 'timeline/slices' : null,
		askOf(slicesEvent(status), { from: wordOf(start), to: wordOf(start + BigInt(of.duration)) }, { ...NO_LINK.filters, host },
			{ lanes: shown.map(laneKey).join(','), pixel: Math.ceil(of.duration / PIXELS) }));
	const spans = answer?.spans ?? [];
	if (!spans.length && !slices?.lanes.length)
		return null;
	const places = placesOf(spans, start, of.duration), [left, width] = places.request;
	return <div class="explain-spans" id="spans">
		{slices && <h3>{words.threads}</h3>}
		{slices && <ol class="explain-lanes">{shown.map((thread) => {
			const lane = slices.lanes.find((one) => laneKey(one) === laneKey(thread));
			return lane && <li key={laneKey(thread)}>
				<span class="span-name">{safe(thread.comm)} <span class="hint">{thread.tid}</span></span>
				<span class="span-time"><span class="lane" style={{ left: `${left}%`, width: `${width}%` }}>
					<Lane runs={unpackRuns(lane.runs, Number(BigInt(slices.base) - start))} classes={slices.classes} length={of.duration} /></span></span>
				<span />
			</li>;
		})}</ol>}
		{answer && spans.length > 0 && <h3>{trace ? words.spansOfTrace : words.spansOfProcess}</h3>}
		<ol class="spans">{spans.map((span, i) => <li key={`${span.trace}${span.id}`} class={span.status === 'error' ? 'failed' : ''}
			title={`${safe(span.name)}\n${safe(span.service)} ${safe(span.host)} ${span.pid || ''} ${span.tid || ''}\n${span.kind}`}>
			<span class="span-name" style={{ paddingLeft: `${Math.min(span.depth, 12) * 12}px` }}>{safe(span.name)}
				<span class="hint"> {safe(span.service)}</span></span>
			<span class="span-time"><i class="whole" style={{ left: `${left}%`, width: `${width}%` }} />
				<i class="span-bar" style={{ left: `${places.spans[i]![0]}%`, width: `${places.spans[i]![1]}%` }} /></span>
			<span class="number">{ns(span.duration)}{span.status === 'error' && <span class="warn"> {words.spanFailed}</span>}</span>
		</li>)}</ol>
		{answer?.cut && <p class="hint">{words.moreSpans(count(SHOWN))}</p>}
	</div>;
}

/** What a thread did in that time; as in the timeline, heights say what colours do. */
function Lane({ runs, classes, length }: { runs: Runs; classes: readonly string[]; length: number }) {
	const { theme } = usePage(), ns = formatOf('ns');
	return <>{Array.from({ length: runs.count }, (_, i) => {
		const name = classes[runs.class[i]!] ?? '', family = familyOf(name);
		const from = Math.max(runs.start[i]!, 0), to = Math.min(runs.end[i]!, length);
		return to > from && <i key={i} title={`${className(name)} ${ns(to - from)}`} style={{ left: `${from / length * 100}%`,
			width: `${(to - from) / length * 100}%`, height: `${heightOf(family) * 100}%`, background: colourOf(theme, family) }} />;
	})}</>;
}
