// SPDX-License-Identifier: Apache-2.0
// Values per second, as an event has them.
import type { EventType, Sum, TimelineAnswer, TimelineRow } from '../api/answers';
import { columnFormatOf, count, formatOf } from '../format';
import { text } from '../text/text';

/**
 * Time on CPUs per time is a number of CPUs, time that threads wait one of threads; all else is so much per second, or,
 * of a level, so much.
 */
export interface Rate {
	/** "CPUs", "bytes/s" */
	name: string;
	/** "0.613 CPUs" */
	format(perSecond: number): string;
	/** "0.613": the name stands elsewhere, or the unit is a part */
	short(perSecond: number): string;
	/** "0.5": for round numbers */
	mark(perSecond: number): string;
}

function ratio(n: number): string {
	return n.toFixed(n >= 99.95 ? 1 : n >= 9.995 ? 2 : 3);
}

export function rateOf({ unit, rate, rate_scale: scale, level }: EventType): Rate {
	if (scale !== 1 && !level)
		return {
			name: rate,
			format: (v) => `${ratio(v / scale)} ${rate}`,
			short: (v) => ratio(v / scale),
			mark: (v) => String(Number((v / scale).toPrecision(3))),
		};
	const format = formatOf(unit);
	const small = (v: number) => (v > 0 && v < 10 && format(v) === count(v) ? v.toFixed(2) : format(v));
	const short = (v: number) => (level ? format(v) : text.chart.perSecond(small(v)));
	// "10 MB/s", not "10.0 MB/s"
	return { name: rate, format: short, short, mark: (v) => short(v).replace(/\.0+(?= )/, '') };
}

const MINUTES_FROM = 600, HOURS_FROM = 36000; // seconds

/** All in one unit: they stand below each other. Where the largest is long, minutes or hours. */
export function amountOf({ unit, rate_scale: second }: EventType, largest: number): (value: number) => string {
	if (second === 1 || largest < MINUTES_FROM * second)
		return columnFormatOf(unit, largest);
	if (largest < HOURS_FROM * second)
		return (value) => `${(value / 60 / second).toFixed(1)} min`;
	return (value) => `${(value / 3600 / second).toFixed(2)} h`;
}

const FILMED_LEAST = 1; // seconds: of less, one sample more or less would be a peak

/** How much of a step was filmed, in seconds; of one without films the whole, which has nothing. */
function filmedOf({ step, filmed }: TimelineAnswer, i: number): number {
	return filmed[i] ? Math.max(filmed[i], Math.min(step, FILMED_LEAST)) : step;
}

/** How much of a step was filmed: its rate is of that. */
export type Filmed = 'all' | 'part' | 'nothing';

const NEARLY = 0.95; // of a step, which is filmed as a whole: films begin and end beside its edges

export function howFilmed(answer: TimelineAnswer, i: number): Filmed {
	const part = answer.filmed[i] ?? 0, whole = Math.min(answer.step, answer.sum.to - answer.sum.from - i * answer.step);
	return part >= whole * NEARLY ? 'all' : part > 0 ? 'part' : 'nothing';
}

const THIN = 0.25; // of a step

/** Of the last step, which grows still, a few seconds say nothing about a minute: what their rate is may be noise. */
export function isThin({ filmed, step }: TimelineAnswer, { level }: EventType, i: number): boolean {
	return !level && i > 0 && i === filmed.length - 1 && filmed[i]! < step * THIN;
}

/** The highest of a row's rates. */
export function peakOf(answer: TimelineAnswer, type: EventType, rates: number[]): number {
	return Math.max(0, ...rates.filter((_, i) => !isThin(answer, type, i)));
}

/** A row's values per second; of a level, as they are. */
export function ratesOf(answer: TimelineAnswer, row: TimelineRow, { level }: EventType): number[] {
	return level ? row.values : row.values.map((value, i) => value / filmedOf(answer, i));
}

/** Until when an answer has all that was filmed. */
export function untilOf({ from, to, complete_until: until }: Pick<Sum, 'from' | 'to' | 'complete_until'>): number {
	return until < from ? to : Math.min(until, to);
}

/** Since when. */
export function sinceOf({ from, complete_from: since }: Pick<Sum, 'from' | 'complete_from'>): number {
	return Math.max(since, from);
}

const LATE = 2; // seconds: what was just filmed is always on its way

/** Whether a part is missing that will come. */
export function isLate(sum: Sum): boolean {
	return sum.to - untilOf(sum) > LATE;
}

/** Per second of the time that was filmed; of a level, as it is. */
export function averageOf({ sum }: { sum: Sum }, total: number, { level }: EventType): number {
	return level ? total : total / Math.max(sum.filmed, 1e-3);
}
