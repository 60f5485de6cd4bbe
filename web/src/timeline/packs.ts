// SPDX-License-Identifier: Apache-2.0
// Threads that live for a short time share rows: of a server that starts a thread for each request, or of a build, each
// would have a row of its own with nothing else on it.
import type { LaneRow } from './answers';
import type { Lane, Row, ThreadRow } from './lanes';
import type { LaneKey } from './tiles';
import type { Stretch } from './time';

const SHORT = 0.25; // of the time: what lives for less may share a row
const LEAST = 12; // that many short ones are worth it
const GAIN = 2; // how many of them a row must have on average

export function isShort(row: LaneRow, length: number): boolean {
	return row.last - row.first < length * SHORT;
}

/** From the first slice of all to the last one, or all: before and behind it a film has nothing of any thread. */
export function livesOf(lanes: readonly LaneRow[], length: number): Stretch {
	const from = lanes.reduce((least, { first }) => Math.min(least, first), length);
	const to = lanes.reduce((most, { last }) => Math.max(most, last), 0);
	return to > from ? { from, to } : { from: 0, to: length };
}

/** The lanes of each row: in the order of their time, and no two of a row at the same time. Null: it gains too little. */
export function packed(lanes: readonly Lane[]): Lane[][] | null {
	if (lanes.length < LEAST)
		return null;
	const rows: { end: number; lanes: Lane[] }[] = [];
	for (const lane of [...lanes].sort((a, b) => a.row.first - b.row.first || a.row.tid - b.row.tid)) {
		const row = rows.find(({ end }) => end <= lane.row.first);
		if (row) {
			row.lanes.push(lane);
			row.end = lane.row.last;
		} else {
			rows.push({ end: lane.row.last, lanes: [lane] });
		}
	}
	return rows.length * GAIN <= lanes.length ? rows.map((row) => row.lanes) : null;
}

/** The lanes of a row; none: it has no slices, or those of a CPU or a device. */
export function lanesOf(row: Row): readonly Lane[] {
	return row.kind === 'lane' ? [row.lane] : row.kind === 'pack' ? row.lanes : [];
}

/** Those of them that live in a stretch. */
export function lanesIn(row: Row, { from, to }: Stretch): readonly Lane[] {
	if (row.kind !== 'pack')
		return lanesOf(row);
	return row.lanes.slice(placeAt(row.lanes, from), placeAt(row.lanes, to - 1) + 1);
}

/** The first lane that ends after a moment. */
function placeAt(lanes: readonly Lane[], moment: number): number {
	let low = 0, high = lanes.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (lanes[middle]!.row.last > moment)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** What is at a moment of a row: of a pack one of its lanes, as if it had the row for itself. */
export function rowAt(row: Row, moment: number): Row {
	if (row.kind !== 'pack')
		return row;
	const lane = row.lanes[placeAt(row.lanes, moment)];
	return lane && lane.row.first <= moment ? laneRow(lane, false) : row;
}

export function laneRow(lane: Lane, isPinned: boolean): ThreadRow {
	return { kind: 'lane', key: lane.key, lane, lanes: [], threads: 0, processes: 0, isPinned };
}

/** Where the rows of lanes are, by their keys. */
export function placesOfLanes(rows: readonly Row[]): Map<LaneKey, number> {
	return new Map(rows.flatMap((row, i) => lanesOf(row).map(({ key }) => [key, i] as const)));
}
