// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in English.

export const services = {
	name: 'Services',
	map: 'Map of services',
	mapOf: (n: string) => `${n} places; the table says the same`,
	mapHint: 'Lines are as thick as their requests took time, and dashed where some failed. Dashed boxes are not in these films.',
	hidden: (n: string) => `${n} more in the table.`,
	cut: 'Not all services had room.',
	figures: (rate: string, p99: string) => `${rate} a second, p99 ${p99}`,
	asksOnly: 'serves none here',
	from: 'Service', to: 'Asked', protocol: 'Protocol', eachSecond: 'Each s',
	share: 'Share',
	shareHint: 'Of the time of the requests that it served: while these were open',
};

export type ServicesText = typeof services;
