// SPDX-License-Identifier: Apache-2.0
// The spans of a request's trace, or else of its process, along the request's own time.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, formatOf, safe } from '../format';
import { NO_LINK } from '../state/link';
import { explainText as words } from '../text/explain';
import type { Explanation, SpansAnswer } from './answers';
import { nsOfTime, placesOf } from './span_places';

const SHOWN = 100;
const TRACE = /^[0-9a-f]{32}$/i;
const AROUND = 3600e9; // ns: a trace may begin before the request, and end behind it

function wordOf(ns: bigint): string {
	return `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, '0')}`;
}

export function Spans({ of, host }: { of: Explanation; host: string }) {
	const start = nsOfTime(of.start), trace = TRACE.test(of.id ?? '') ? of.id! : '', ns = formatOf('ns');
	const more = BigInt(trace ? AROUND : 0);
	const { answer } = useAnswer<SpansAnswer>('spans',
		askOf('', { from: wordOf(start > more ? start - more : 0n), to: wordOf(start + BigInt(of.duration) + more) },
			{ ...NO_LINK.filters, host: trace ? '' : host, pid: trace ? '' : String(of.pid) }, { trace, limit: SHOWN }));
	if (!answer?.spans.length)
		return null;
	const places = placesOf(answer.spans, start, of.duration), [left, width] = places.request;
	return <div class="explain-spans" id="spans">
		<h3>{trace ? words.spansOfTrace : words.spansOfProcess}</h3>
		<ol>{answer.spans.map((span, i) => <li key={`${span.trace}${span.id}`} class={span.status === 'error' ? 'failed' : ''}
			title={`${safe(span.name)}\n${safe(span.service)} ${safe(span.host)} ${span.pid || ''} ${span.tid || ''}\n${span.kind}`}>
			<span class="span-name" style={{ paddingLeft: `${Math.min(span.depth, 12) * 12}px` }}>{safe(span.name)}
				<span class="hint"> {safe(span.service)}</span></span>
			<span class="span-time"><i class="whole" style={{ left: `${left}%`, width: `${width}%` }} />
				<i class="span-bar" style={{ left: `${places.spans[i]![0]}%`, width: `${places.spans[i]![1]}%` }} /></span>
			<span class="number">{ns(span.duration)}{span.status === 'error' && <span class="warn"> {words.spanFailed}</span>}</span>
		</li>)}</ol>
		{answer.cut && <p class="hint">{words.moreSpans(count(SHOWN))}</p>}
	</div>;
}
