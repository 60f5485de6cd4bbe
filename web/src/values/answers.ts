// SPDX-License-Identifier: Apache-2.0
// What the server answers about arguments and results of calls (doc/openapi.json). Durations are ns.
import type { Sum } from '../api/answers';

export interface Amount {
	calls: number;
	/** Of calls: those whose end was seen; total and max are theirs. */
	ended: number;
	total_ns: number;
	max_ns: number;
}

export interface ValueColumn {
	of: string;
	distinct: number;
	values: (Amount & { value: string })[];
	others: Amount;
}

export interface Heat {
	by: string;
	calls: number;
	rows: { value: string; calls: number; total_ns: number; buckets: { from_ns: number; calls: number }[] }[];
}

export interface ValuedCall {
	function: string;
	/** ns since base */
	start: number;
	/** null: its end was not seen */
	duration: number | null;
	host: string;
	pid: number;
	tid: number;
	comm: string;
	/** 0: none */
	goroutine: number;
	arguments: string;
	results: string;
}

export interface ValuesAnswer {
	sum: Sum;
	/** ns since 1970, as digits: more than a number holds. */
	base: string;
	count: number;
	functions: { function: string; columns: ValueColumn[] }[];
	heat: Heat | null;
	calls: ValuedCall[];
}
