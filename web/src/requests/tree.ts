// SPDX-License-Identifier: Apache-2.0
// Each request once: what was asked for it, and its side in the other process, stand below it.
import type { RequestRow } from './answers';

export interface Placed {
	row: RequestRow;
	/** 0: nothing in the list is above it. */
	depth: number;
}

const startOf = ({ end, duration }: RequestRow) => end - duration;

/** The other side of what this process served: it has the same id, and was open all the time. */
function askerOf(row: RequestRow, rows: readonly RequestRow[]): RequestRow | undefined {
	if (row.role !== 'served' || row.name === row.number) // without an id of its own, nothing says so
		return undefined;
	return rows.filter((other) => other.role === 'made' && other.name === row.name &&
		(other.pid !== row.pid || other.host !== row.host) && startOf(other) <= startOf(row) && other.end >= row.end)
		.sort((a, b) => a.duration - b.duration)[0];
}

/** In the order of those that nothing is above; below each what belongs to it, by its beginning. */
export function treeOf(rows: readonly RequestRow[]): Placed[] {
	const byNumber = new Map(rows.map((row) => [row.number, row])), below = new Map<RequestRow, RequestRow[]>();
	const roots: RequestRow[] = [];
	for (const row of rows) {
		const above = byNumber.get(row.parent) ?? askerOf(row, rows);
		if (above && above !== row)
			below.set(above, [...below.get(above) ?? [], row]);
		else
			roots.push(row);
	}
	const placed: Placed[] = [], seen = new Set<RequestRow>();
	const place = (row: RequestRow, depth: number) => {
		if (seen.has(row))
			return;
		seen.add(row);
		placed.push({ row, depth });
		(below.get(row) ?? []).sort((a, b) => startOf(a) - startOf(b)).forEach((one) => place(one, depth + 1));
	};
	roots.forEach((row) => place(row, 0));
	rows.forEach((row) => place(row, 0)); // that say of each other to be above
	return placed;
}
