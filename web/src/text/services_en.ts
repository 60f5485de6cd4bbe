// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in English.

export const services = {
	name: 'Services',
	map: 'Map of services',
	mapOf: (n: string) => `${n} places; the table says the same`,
	mapHint: 'Thicker line: more time in requests. Dashed line: some failed. Dashed box: not filmed.',
	hidden: (n: string) => `${n} more in the table.`,
	cut: 'Not all services had room.',
	figures: (rate: string, p99: string) => `${rate} a second, p99 ${p99}`,
	asksOnly: 'client only',
	from: 'Service', to: 'Asked', protocol: 'Protocol', eachSecond: 'Requests/s',
	share: 'Share',
	shareHint: 'Of the time of the requests that it served: while these were open',
};

export type ServicesText = typeof services;
