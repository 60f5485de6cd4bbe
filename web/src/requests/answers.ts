// SPDX-License-Identifier: Apache-2.0
// What the server answers about requests (doc/openapi.json). Times are ns since base, durations are ns.
import type { Sum } from '../api/answers';

/** Of requests that are alike. */
export interface Figures {
	count: number;
	failed: number;
	/** Not answered to the end: they are in count, but in no quantile. */
	open: number;
	total: number;
	p50: number;
	p90: number;
	p99: number;
	longest: number;
}

export interface EndpointRow extends Figures {
	endpoint: string;
	protocol: string;
	role: 'served' | 'made';
}

export interface RequestRow {
	/** The id that it carried, or its number. */
	name: string;
	number: string;
	/** Of the request that it was made for; '': not known. */
	parent: string;
	endpoint: string;
	path: string;
	protocol: string;
	role: 'served' | 'made';
	/** 0: the protocol has none. */
	status: number;
	failed: boolean;
	open: boolean;
	end: number;
	duration: number;
	/** Until the first byte of the answer; 0: there was none. */
	first_byte: number;
	received: number;
	sent: number;
	peer: string;
	host: string;
	pid: number;
	tid: number;
	process: string;
	comm: string;
}

export interface RequestsAnswer {
	sum: Sum;
	/** ns since 1970, as digits. */
	base: string;
	length: number;
	count: number;
	failed: number;
	open: number;
	/** There was no room for all endpoints. */
	cut: boolean;
	endpoints: EndpointRow[];
	endpoints_hidden: number;
	/** ns of a column of the map. */
	step: number;
	/** The least ns of each row of the map. */
	rows: number[];
	/** How many requests ended in a step and took as long as a row says: all rows of a step, then those of the next. */
	map: number[];
	slowest: RequestRow[];
}
