// SPDX-License-Identifier: Apache-2.0
// Ranges of time, as the API takes them: unix seconds, or "-15m" and "now".
import { isoInZone, secondsIn } from './zone';

/** '' in both: the usual range; of one film, the whole film. */
export interface Range {
	from: string;
	to: string;
}

/** Unix seconds. */
export interface Span {
	from: number;
	to: number;
}

export const PRESETS = ['-1m', '-5m', '-15m', '-1h', '-3h', '-6h', '-1d', '-7d'] as const;
export const USUAL_RANGE: Range = { from: '-1h', to: 'now' };

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** Seconds since 1970 that a word of a range stands for; NaN for another word. */
export function secondsOf(word: string, now: number): number {
	if (word === 'now')
		return now;
	const relative = /^-(\d+(?:\.\d+)?)([smhdw])$/.exec(word);
	if (relative)
		return now - Number(relative[1]) * UNITS[relative[2]!]!;
	if (/^\d+(\.\d+)?$/.test(word))
		return Number(word);
	return Date.parse(word) / 1000;
}

/** The words of a moment, of milliseconds. */
export function wordOf(seconds: number): string {
	return String(Math.round(seconds * 1000) / 1000);
}

export function rangeOf(span: Span): Range {
	return { from: wordOf(span.from), to: wordOf(span.to) };
}

/** Null where it stands for none. */
export function spanOf(range: Range, now: number): Span | null {
	const from = secondsOf(range.from, now), to = secondsOf(range.to, now);
	return to > from ? { from, to } : null;
}

/** The same with both ends, where one of them is left out: until now, or an hour until then. end: of one film. */
export function withBothEnds(range: Range, end = 'now'): Range {
	if (range.from && !range.to)
		return { from: range.from, to: end };
	return range.to && !range.from ? { from: before(range.to, 3600), to: range.to } : range;
}

export function isRelative(range: Range): boolean {
	return range.to === 'now' || range.from.startsWith('-');
}

/** The same range an amount of its own length later (1) or earlier (-1). */
export function shifted(span: Span, lengths: number): Span {
	const by = (span.to - span.from) * lengths;
	return { from: span.from + by, to: span.to + by };
}

/** A number of seconds before a word of a range; before a relative one it is relative, too. */
function before(word: string, seconds: number): string {
	const at = secondsOf(word, 0);
	return word === 'now' || word.startsWith('-') ? `${wordOf(at - seconds)}s` : wordOf(at - seconds);
}

/** The same range, some seconds earlier. */
export function rangeBefore(range: Range, seconds: number): Range {
	return { from: before(range.from, seconds), to: before(range.to, seconds) };
}

/** In seconds. */
export function lengthOf(range: Range): number {
	return secondsOf(range.to, 0) - secondsOf(range.from, 0);
}

const LENGTH_MIN = 1;

/** A longer (above 1) or shorter range around the same middle. */
export function scaled(span: Span, factor: number): Span {
	const middle = (span.from + span.to) / 2;
	const half = Math.max((span.to - span.from) * factor, LENGTH_MIN) / 2;
	return { from: Math.floor(middle - half), to: Math.ceil(middle + half) };
}

const STEPS_MOST = 240;
const STEP_LEAST = 0.25; // seconds: of a machine that is filmed 99 times a second still some samples

/*
 * Whole minutes are what a store's index has. Finer steps are counted in the films themselves, which takes longer the
 * more samples there are: of an hour at most, which has steps of 15 s, and not again and again in live mode. Of
 * many films the server sends minutes all the same.
 */
const MINUTES_FROM = 600; // seconds: of less, minutes would be too few
const FINE_MOST = 3600;

/** Whether there is a choice between minutes and finer steps. */
export function canBeFine(span: Span | null): boolean {
	return !!span && span.to - span.from >= MINUTES_FROM && span.to - span.from <= FINE_MOST + 1;
}

/** In how many steps a range is drawn. isCoarse: in minutes, where there is a choice. */
export function stepsOf(span: Span | null, isCoarse = false): number {
	if (span && span.to - span.from >= MINUTES_FROM && (isCoarse || !canBeFine(span)))
		return Math.min(STEPS_MOST, Math.ceil((span.to - span.from) / 60) + 1); // minutes that it lies in
	return span ? Math.max(1, Math.min(STEPS_MOST, Math.floor((span.to - span.from) / STEP_LEAST))) : STEPS_MOST;
}

/** ms between two questions in live mode: until a sixtieth of the picture is new, but 5 s at least, 30 s at most. */
export function liveBeat(span: Span | null): number {
	return 1000 * Math.min(Math.max(span ? (span.to - span.from) / 60 : 0, 5), 30);
}

/** The part of a span of whole minutes in which there are films. */
export function within({ from, to }: Span, films: Span | null): Span {
	return films && films.from < to && films.to > from ? { from: Math.max(from, films.from), to: Math.min(to, films.to) } : { from, to };
}

/** "2026-11-21", in the zone of the page */
export function dayOf(seconds: number): string {
	return isoInZone(seconds).split('T')[0]!;
}

/** "14:32:08" or "14:32" */
export function clockOf(seconds: number, hasSeconds = true): string {
	return isoInZone(seconds).split('T')[1]!.slice(0, hasSeconds ? 8 : 5);
}

/** "2026-11-21 14:32:08 – 14:47:08" */
export function spanText({ from, to }: Span): string {
	const end = dayOf(from) === dayOf(to) ? clockOf(to) : `${dayOf(to)} ${clockOf(to)}`;
	return `${dayOf(from)} ${clockOf(from)} \u2013 ${end}`;
}

/** The same where there is little room: of days of this year "11-20 14:32 – 11-21 14:47" */
export function shortSpanText(span: Span, now: number): string {
	const [first, last] = [dayOf(span.from), dayOf(span.to)];
	if (first === last || [first, last].some((day) => day.slice(0, 4) !== dayOf(now).slice(0, 4)))
		return spanText(span);
	const short = (seconds: number) => `${dayOf(seconds).slice(5)} ${clockOf(seconds, false)}`;
	return `${short(span.from)} \u2013 ${short(span.to)}`;
}

/** "15 min", "1 h", "2.5 d" */
export function lengthText(seconds: number): string {
	const [size, unit] = seconds < 60 ? [1, 's'] : seconds < 3600 ? [60, 'min'] :
		seconds < 86400 ? [3600, 'h'] : [86400, 'd'];
	return `${Number((seconds / (size as number)).toFixed(1))} ${unit}`;
}

/** What <input type="datetime-local"> has for a moment, and back (NaN: none). */
export function fieldOf(seconds: number): string {
	return `${dayOf(seconds)}T${clockOf(seconds)}`;
}
export function secondsOfField(value: string): number {
	return secondsIn(value);
}
