// SPDX-License-Identifier: Apache-2.0
// What of the arguments of calls stands in the address.

export const VALUE_SORTS = ['slowest', 'latest'] as const;

export interface ValuesLink {
	/** The argument, result or member that the heat map is by; '': none. */
	value: string;
	/** Only calls with this text in their arguments or results; '': all. */
	search: string;
	order: typeof VALUE_SORTS[number];
}

export const NO_VALUES: ValuesLink = { value: '', search: '', order: 'slowest' };

/** What state/link.ts reads and writes addresses with. */
interface Address {
	text(name: string, value: string): string;
	word<T extends string>(name: string, value: T, words: readonly T[]): T;
}

export function describeValues(at: Address, link: ValuesLink): ValuesLink {
	return {
		value: at.text('value', link.value),
		search: at.text('value_search', link.search),
		order: at.word('value_order', link.order, VALUE_SORTS),
	};
}
