// SPDX-License-Identifier: Apache-2.0
// What of the requests stands in the address.

export const ROLES = ['', 'served', 'made'] as const;
export type Role = typeof ROLES[number];

export interface RequestsLink {
	/** '': both */
	role: Role;
	/** '': all */
	endpoint: string;
	/** A part of the map: moments as unix seconds, and ns that requests took; '': the whole map. */
	from: string;
	to: string;
	least: string;
	most: string;
	/** The number of the one that is explained, and the time that its film is asked for; '': none. */
	chosen: string;
	whyFrom: string;
	whyTo: string;
	/** Of one that was made, which thread made it: "pid.tid". */
	whyThread: string;
}

export const NO_REQUESTS: RequestsLink = { role: '', endpoint: '', from: '', to: '', least: '', most: '', chosen: '', whyFrom: '', whyTo: '',
	whyThread: '' };

/** What state/link.ts reads and writes addresses with. */
interface Address {
	text(name: string, value: string): string;
	word<T extends string>(name: string, value: T, words: readonly T[]): T;
}

export function describeRequests(at: Address, link: RequestsLink): RequestsLink {
	return {
		role: at.word('role', link.role, ROLES),
		endpoint: at.text('endpoint', link.endpoint),
		from: at.text('r_from', link.from),
		to: at.text('r_to', link.to),
		least: at.text('least', link.least),
		most: at.text('most', link.most),
		chosen: at.text('request', link.chosen),
		whyFrom: at.text('why_from', link.whyFrom),
		whyTo: at.text('why_to', link.whyTo),
		whyThread: at.text('why_thread', link.whyThread),
	};
}
