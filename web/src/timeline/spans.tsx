// SPDX-License-Identifier: Apache-2.0
// Spans that clients of OpenTelemetry sent: bars on the lanes of the threads that they name.
import { useMemo } from 'preact/hooks';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, safe } from '../format';
import type { Span, SpansAnswer } from '../explain/answers';
import { NO_LINK } from '../state/link';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer } from './answers';
import { laneKey, type Row } from './lanes';
import { placesOfLanes } from './packs';
import { ROW } from './sizes';
import { exactly, type Origin, type Stretch } from './time';
import { useRest } from './use_rest';

const LIMIT = 1000; // spans of an answer
const LEAST = 3; // pixels

interface Bar {
	span: Span;
	lane: string;
	/** ns since the origin */
	at: number;
	x: number;
	y: number;
	width: number;
}

export interface SpanBarsOf {
	spans: readonly Span[];
	/** There are more than an answer has. */
	isCut: boolean;
}

export function useSpans(answer: LanesAnswer, origin: Origin, range: Stretch): SpanBarsOf {
	const rested = useRest(range);
	const asked = useAnswer<SpansAnswer>('spans', askOf('', { from: origin.wordOf(rested.from), to: origin.wordOf(rested.to) },
		{ ...NO_LINK.filters, host: answer.lanes[0]?.host ?? '' }, { limit: LIMIT }));
	return { spans: asked.answer?.spans ?? [], isCut: !!asked.answer?.cut };
}

function barsOf(spans: readonly Span[], origin: Origin, rows: readonly Row[], offset: number, range: Stretch, width: number): Bar[] {
	const perPixel = (range.to - range.from) / Math.max(width, 1);
	const places = placesOfLanes(rows);
	return spans.flatMap((span) => {
		const lane = laneKey(span), place = places.get(lane), at = Number(BigInt(span.start) - origin.base);
		if (!span.tid || place === undefined || at + span.duration < range.from || at >= range.to)
			return [];
		const from = Math.max((at - range.from) / perPixel, 0), to = Math.min((at + span.duration - range.from) / perPixel, width);
		return [{ span, lane, at, x: from, y: place * ROW - offset, width: Math.max(to - from, LEAST) }];
	});
}

/** On the lanes in sight: one that lies in another one is drawn upon it. */
export function SpanBars({ spans: { spans, isCut }, origin, rows, offset, range, width, choose }: {
	spans: SpanBarsOf; origin: Origin; rows: readonly Row[]; offset: number; range: Stretch; width: number; choose(lane: string, moment: number): void;
}) {
	const bars = useMemo(() => barsOf(spans, origin, rows, offset, range, width), [spans, origin, rows, offset, range, width]);
	const homeless = spans.filter((span) => !span.tid).length;
	return <div class="tl-spans">
		{bars.map(({ span, lane, at, x, y, width: wide }) => <button type="button" key={`${span.trace}${span.id}`} tabIndex={-1}
			class={span.status === 'error' ? 'bad' : ''} style={{ transform: `translate(${x}px, ${y + ROW - 5}px)`, width: `${wide}px` }}
			title={`${safe(span.name)}\n${safe(span.service)}, ${exactly(span.duration)}\n${safe(span.trace)}`}
			aria-label={words.span(safe(span.name), exactly(span.duration))} onClick={() => choose(lane, Math.max(at, range.from))} />)}
		{(homeless > 0 || isCut) && <p class="hint">{homeless > 0 && words.spansWithoutThread(count(homeless))} {isCut && words.spansCut}</p>}
	</div>;
}
