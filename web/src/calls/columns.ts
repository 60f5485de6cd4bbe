// SPDX-License-Identifier: Apache-2.0
// The columns of the table of calls.
import type { CalledFunction } from '../api/answers';

export const CALL_COLUMNS = ['calls', 'self', 'total', 'avg', 'p50', 'p99', 'max'] as const;
/** What the table can be sorted by; the first is the usual one. */
export const CALL_SORTS = ['total', 'self', 'calls', 'avg', 'p50', 'p99', 'max'] as const;
export type CallSort = typeof CALL_SORTS[number];

/** What is not known is the least of all. */
export function valueOf(row: CalledFunction, sort: CallSort): number {
	return row[sort] ?? 0;
}

/** Largest first. */
export function inOrder(rows: CalledFunction[], sort: CallSort): CalledFunction[] {
	return [...rows].sort((a, b) => valueOf(b, sort) - valueOf(a, sort));
}

interface Named {
	name: string;
	image: string;
}

export function sameFunction(a: Named, b: Named | null | undefined): boolean {
	return !!b && a.name === b.name && a.image === b.image;
}
