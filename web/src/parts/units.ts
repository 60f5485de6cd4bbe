// SPDX-License-Identifier: Apache-2.0
// Values per second, of an event's unit.
import type { Sum, TimelineAnswer, TimelineRow } from '../api/answers';
import { count, formatOf } from '../format';
import { CALLS } from '../state/link';
import { text } from '../text/text';

/** Time on CPUs per time is a number of CPUs, time in calls one of threads; all else is so much per second. */
export interface Rate {
	/** "CPUs", "bytes/s" */
	name: string;
	/** "0.613 CPUs" */
	format(perSecond: number): string;
	/** "0.613": the name stands elsewhere, or the unit is part of it */
	short(perSecond: number): string;
	/** "0.5": for round numbers */
	mark(perSecond: number): string;
}

function cpus(ns: number): string {
	const n = ns / 1e9;
	return n.toFixed(n >= 99.95 ? 1 : n >= 9.995 ? 2 : 3);
}

export function rateOf(unit: string, event = ''): Rate {
	const name = event === CALLS ? text.chart.threads : text.chart.cpus;
	if (unit === 'ns')
		return {
			name,
			format: (v) => `${cpus(v)} ${name}`,
			short: cpus,
			mark: (v) => String(Number((v / 1e9).toPrecision(3))),
		};
	const format = unit === 'bytes' ? formatOf(unit) : (v: number) => (v < 10 ? v.toFixed(2) : count(v));
	const short = (v: number) => text.chart.perSecond(format(v));
	return { name: text.chart.perSecond(unit), format: short, short, mark: short };
}

const MINUTES_FROM = 600e9, HOURS_FROM = 36000e9; // ns

/** As formatOf(), but where the largest is long, all in minutes or hours: they stand below each other. */
export function amountOf(unit: string, largest: number): (value: number) => string {
	if (unit !== 'ns' || largest < MINUTES_FROM)
		return formatOf(unit);
	if (largest < HOURS_FROM)
		return (value) => `${(value / 60e9).toFixed(1)} min`;
	return (value) => `${(value / 3600e9).toFixed(2)} h`;
}

/** How long a step was: the last one may end early. */
function secondsOf(answer: TimelineAnswer, i: number): number {
	const left = answer.sum.to - answer.sum.from - i * answer.step;
	return Math.max(Math.min(answer.step, left), 1e-3);
}

/** A row's values per second. */
export function ratesOf(answer: TimelineAnswer, row: TimelineRow): number[] {
	return row.values.map((value, i) => value / secondsOf(answer, i));
}

/** Until when an answer has all that was filmed. */
export function untilOf({ from, to, complete_until: until }: Pick<Sum, 'from' | 'to' | 'complete_until'>): number {
	return until > from ? Math.min(until, to) : to;
}

/** Since when. */
export function sinceOf({ from, complete_from: since }: Pick<Sum, 'from' | 'complete_from'>): number {
	return Math.max(since, from);
}

const LATE = 2; // seconds: what was just filmed is always on its way

/** Whether something of it is missing that will come. */
export function isLate(sum: Sum): boolean {
	return sum.to - untilOf(sum) > LATE;
}

/** Per second of the time that was filmed. */
export function averageOf({ sum }: { sum: Sum }, total: number): number {
	return total / Math.max(sum.filmed, 1e-3);
}
