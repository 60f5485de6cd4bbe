// SPDX-License-Identifier: Apache-2.0
// Each request once: what was asked for it, and its side in the other process, stand below it.
import type { RequestRow } from './answers';

export interface Placed {
	row: RequestRow;
	/** 0: nothing in the list is above it. */
	depth: number;
	/** It is taken to belong there: it has the same path and was open meanwhile, and nothing else fits. */
	isLikely: boolean;
}

interface Asker {
	row: RequestRow;
	isLikely: boolean;
}

const startOf = ({ end, duration }: RequestRow) => end - duration;

/** The other side of what this process served: open all the time, with the same id, or else the only one of its path. */
function askerOf(row: RequestRow, rows: readonly RequestRow[]): Asker | null {
	if (row.role !== 'served')
		return null;
	const around = rows.filter((other) => other.role === 'made' && (other.pid !== row.pid || other.host !== row.host) &&
		startOf(other) <= startOf(row) && other.end >= row.end);
	const same = row.name === row.number ? [] : around.filter(({ name }) => name === row.name).sort((a, b) => a.duration - b.duration);
	if (same[0])
		return { row: same[0], isLikely: false };
	// one clock alone says that one was open while the other was
	const alike = around.filter((other) => other.host === row.host && other.protocol === row.protocol && other.endpoint === row.endpoint &&
		other.path === row.path && row.path !== '' && other.name === other.number);
	return alike.length === 1 && row.name === row.number ? { row: alike[0]!, isLikely: true } : null;
}

/** In the order of those that nothing is above; below each what belongs to it, by its beginning. */
export function treeOf(rows: readonly RequestRow[]): Placed[] {
	const byNumber = new Map(rows.map((row) => [row.number, row])), below = new Map<RequestRow, RequestRow[]>();
	const roots: RequestRow[] = [], likely = new Set<RequestRow>();
	for (const row of rows) {
		const parent = byNumber.get(row.parent), asker = parent ? null : askerOf(row, rows), above = parent ?? asker?.row;
		if (asker?.isLikely)
			likely.add(row);
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
		placed.push({ row, depth, isLikely: likely.has(row) });
		(below.get(row) ?? []).sort((a, b) => startOf(a) - startOf(b)).forEach((one) => place(one, depth + 1));
	};
	roots.forEach((row) => place(row, 0));
	rows.forEach((row) => place(row, 0)); // that say of each other to be above
	return placed;
}
