// SPDX-License-Identifier: Apache-2.0
// The timelines of both sides of a comparison, over a time that has both. Dragging in one chooses its range.
import { useMemo } from 'preact/hooks';
import type { TimelineAnswer } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { Filters, Side } from '../state/link';
import { usePage } from '../state/page';
import { type Range, rangeOf, type Span, spanOf, stepsOf } from '../state/range';
import { text } from '../text/text';
import { Chart } from './chart';

/** A time around both, a tenth longer on each side. */
function around(a: Span, b: Span): Span {
	const from = Math.min(a.from, b.from), to = Math.max(a.to, b.to);
	const margin = (to - from) / 10;
	return { from: Math.floor((from - margin) / 60) * 60, to: Math.ceil(Math.min(to + margin, Math.max(to, Date.now() / 1000))) };
}

export function Sides({ now, before, beforeFilters, onNow, onBefore }: {
	now: Range; before: Side; beforeFilters: Filters;
	onNow(range: Range): void; onBefore(range: Range): void;
}) {
	const { link, theme, beat } = usePage();
	// once for each question: a relative range would be another one each time that this is drawn
	const { spans, both } = useMemo(() => {
		const seconds = Date.now() / 1000;
		const spans = { now: spanOf(now, seconds), before: spanOf(before.range, seconds) };
		return { spans, both: spans.now && spans.before && around(spans.now, spans.before) };
	}, [now.from, now.to, before.range.from, before.range.to, beat]);
	const more = { group: 'none', steps: both ? stepsOf(both) : 1 };
	const ask = (filters: Filters) => askOf(link.event, both ? rangeOf(both) : now, filters, more);
	const befores = useAnswer<TimelineAnswer>(both && 'timeline', ask(beforeFilters), beat);
	const nows = useAnswer<TimelineAnswer>(both && 'timeline', ask(link.filters), beat);

	const chart = (name: string, id: string, answer: TimelineAnswer | null, marked: Span | null, onRange: (range: Range) => void) =>
		<div class="side" id={id}>
			<h3>{name}</h3>
			{answer && <Chart answer={answer} theme={theme} height={150} marked={marked}
				onSelect={(span) => onRange(rangeOf(span))} />}
		</div>;
	return both && <div class="two-sides">
		{chart(text.compare.before, 'side-before', befores.answer, spans.before, onBefore)}
		{chart(text.compare.now, 'side-now', nows.answer, spans.now, onNow)}
	</div>;
}
