// SPDX-License-Identifier: Apache-2.0
// The cells of a heat map of calls by value: a row for each value, a column for each power of two of the duration.
import type { Heat } from './answers';

export interface HeatCells {
	/** The least ns of each column, from the first to the last that has calls. */
	columns: number[];
	/** Calls, by row and column. */
	rows: number[][];
	most: number;
}

const powerOf = (ns: number) => (ns > 0 ? Math.round(Math.log2(ns)) : 0);

export function cellsOf(heat: Pick<Heat, 'rows'>): HeatCells {
	const powers = heat.rows.flatMap(({ buckets }) => buckets.map(({ from_ns }) => powerOf(from_ns)));
	const first = Math.min(...powers), last = Math.max(...powers), most = { calls: 0 };
	if (!powers.length)
		return { columns: [], rows: heat.rows.map(() => []), most: 0 };
	const columns = Array.from({ length: last - first + 1 }, (_, i) => (first + i ? 2 ** (first + i) : 0));
	const rows = heat.rows.map(({ buckets }) => {
		const row = columns.map(() => 0);
		for (const { from_ns, calls } of buckets) {
			row[powerOf(from_ns) - first] = calls;
			most.calls = Math.max(most.calls, calls);
		}
		return row;
	});
	return { columns, rows, most: most.calls };
}
