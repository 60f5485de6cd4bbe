// SPDX-License-Identifier: Apache-2.0
// Which part of a graph can be seen: a range of its width, which is in the event's unit.

export interface Range {
	from: number;
	to: number;
}

const NARROWEST = 1e-9; // of the whole: far below one sample, far above what numbers can tell apart

function limited(from: number, size: number, whole: number): Range {
	const at = Math.min(Math.max(from, 0), whole - size);
	return { from: at, to: at + size };
}

/** The range made narrower (factor above 1) or wider, so that a place stays where it is on the screen. */
export function zoomedAt(range: Range, whole: number, place: number, factor: number): Range {
	const before = range.to - range.from;
	const size = Math.min(Math.max(before / factor, whole * NARROWEST), whole);
	const part = before > 0 ? (place - range.from) / before : 0;

	return limited(place - part * size, size, whole);
}

/** The range moved, as far as there is anything. */
export function moved(range: Range, whole: number, by: number): Range {
	return limited(range.from + by, range.to - range.from, whole);
}

/**
 * The range that two fingers make: the places that were under them stay under them.
 * Fingers are in parts of the width, 0 to 1.
 */
export function pinched(range: Range, whole: number, before: [number, number],
	now: [number, number]): Range {
	const size = range.to - range.from;
	const factor = Math.abs(now[1] - now[0]) / Math.max(Math.abs(before[1] - before[0]), 0.01);
	const middle = (before[0] + before[1]) / 2;
	const wider = zoomedAt(range, whole, range.from + middle * size, Math.max(factor, 0.01));
	const drift = (now[0] + now[1]) / 2 - middle;

	return moved(wider, whole, -drift * (wider.to - wider.from));
}

/** On the way from one range to another: part 0 to 1, fast first. */
export function between(from: Range, to: Range, part: number): Range {
	if (part >= 1)
		return to;
	const eased = 1 - (1 - part) ** 3;
	return { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased };
}

export function isSame(a: Range, b: Range): boolean {
	const least = (b.to - b.from) * 1e-6;
	return Math.abs(a.from - b.from) <= least && Math.abs(a.to - b.to) <= least;
}

/** Where rows are. Level 0 is at the top of an icicle and at the bottom of a flame. */
export interface Rows {
	isIcicle: boolean;
	row: number; // pixels from one level to the next
	height: number; // of all rows, or of the window if that is higher
}

export function topOfLevel({ isIcicle, row, height }: Rows, level: number): number {
	return isIcicle ? level * row : height - (level + 1) * row;
}

export function levelAt({ isIcicle, row, height }: Rows, y: number): number {
	return Math.floor((isIcicle ? y : height - y) / row);
}
