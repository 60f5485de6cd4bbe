// SPDX-License-Identifier: Apache-2.0
// What the server answers about services (doc/openapi.json). Durations are ns.
import type { Sum } from '../api/answers';
import type { Figures } from '../requests/answers';

/** What it served. */
export interface ServiceRow extends Figures {
	host: string;
	service: string;
	made: number;
	made_failed: number;
}

/** What one service asked of one address. */
export interface CallRow extends Figures {
	/** A place in services. */
	from: number;
	/** The same of the service that answers there; null: not known. */
	to: number | null;
	/** Several services answer there. */
	several: boolean;
	peer: string;
	protocol: string;
	/** ns of total, of requests that were made for one that the service served. */
	for_served: number;
}

export interface ServicesAnswer {
	sum: Sum;
	/** There was no room for all. */
	cut: boolean;
	services: ServiceRow[];
	calls: CallRow[];
}
