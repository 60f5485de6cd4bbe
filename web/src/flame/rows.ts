// SPDX-License-Identifier: Apache-2.0
// Which functions a table shows, in which order.
import type { FunctionRow } from '../api/answers';
import { safe } from '../format';
import type { Sorting } from './contract';
import type { Test } from './pattern';

/** A function as it may be shown. Shares are parts of one. */
export interface Row {
	/** as the server knows it */
	of: FunctionRow;
	name: string;
	image: string;
	kind: string;
	self: number;
	total: number;
	beforeSelf: number;
	beforeTotal: number;
	/** How the share of total changed. */
	change: number;
	place: string;
}

export const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);

/** whole, before: all that was recorded on each side, in its own unit. */
export function rowsOf(functions: FunctionRow[], whole: number, before: number): Row[] {
	return functions.map((row) => ({
		of: row,
		name: safe(row.name),
		image: safe(row.image),
		kind: row.kind,
		self: row.self,
		total: row.total,
		beforeSelf: row.before_self ?? 0,
		beforeTotal: row.before_total ?? 0,
		change: share(row.total, whole) - share(row.before_total ?? 0, before),
		place: row.file ? `${safe(row.file)}${row.line ? `:${row.line}` : ''}` : '',
	}));
}

const ORDER: Record<Sorting, (a: Row, b: Row) => number> = {
	self: (a, b) => b.self - a.self || b.total - a.total,
	total: (a, b) => b.total - a.total || b.self - a.self,
	change: (a, b) => Math.abs(b.change) - Math.abs(a.change) || b.total - a.total,
	name: (a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)) || b.total - a.total,
};

/** Those that pass the search and are not hidden. */
export function shownRows(rows: Row[], sort: Sorting, test: Test | null, isHidden: Test | null): Row[] {
	return rows.filter((row) => (!test || test(row)) && !isHidden?.(row)).sort(ORDER[sort]);
}

/** The rows [from, to) of a list that a window shows, with some more on both sides. */
export function inWindow(count: number, row: number, scrollTop: number, height: number): [from: number, to: number] {
	const more = 10;
	const from = Math.floor(scrollTop / row) - more;
	const to = Math.ceil((scrollTop + height) / row) + more;
	return [Math.min(Math.max(from, 0), count), Math.min(Math.max(to, 0), count)];
}
