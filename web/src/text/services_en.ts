// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in English.
import { many } from './flame_en';

export const services = {
	name: 'Services',
	map: 'Map of services',
	mapOf: (n: string) => `${many(n, 'place')}: which service asked which other one. The table says the same in words.`,
	mapHint: 'Requests go from the left to the right; a line is as thick as its requests took time, and dashed where some failed. ' +
		'Dashed boxes are addresses whose server is not in these films.',
	hidden: (n: string) => `${n} more are in the table alone.`,
	cut: 'There are more services than are kept apart: filters show them.',
	way: (from: string, to: string, rate: string, p99: string, failed: string) => `${from} to ${to}: ${rate} a second, p99 ${p99}, ${failed} failed`,
	figures: (rate: string, p99: string) => `${rate} a second, p99 ${p99}`,
	asksOnly: 'no request served here',
	unknown: (protocol: string) => `${protocol}, not filmed`,
	failedOf: (n: string) => `${n} failed`,
	calls: 'Which service asked which other one',
	from: 'Service', to: 'Asked', protocol: 'Protocol', eachSecond: 'Each s',
	several: 'several services',
	share: 'Share',
	shareHint: 'Of the time of all requests that the service served: the part in which it waited for these. Those open at once count each.',
};

export type ServicesText = typeof services;
