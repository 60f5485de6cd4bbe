// SPDX-License-Identifier: Apache-2.0
// What the page says of the arguments and results of calls.
export const values = {
	title: 'Arguments and results',
	count: (calls: string) => `${calls} calls`,
	search: 'Arguments with this text',
	distinct: (n: string) => `${n} values`,
	always: 'always',
	value: 'Value',
	calls: 'Calls',
	total: 'Time',
	average: 'Average',
	longest: 'Longest',
	others: 'others',
	heat: (of: string) => `How long calls took, by ${of}`,
	heatHint: 'a column for each power of two of the duration',
	heatOf: (calls: string, from: string) => `${calls} calls of ${from} or more`,
	choose: 'how long calls took, by this value',
	sorts: { slowest: 'Slowest', latest: 'Latest' },
	began: 'Began',
	took: 'Took',
	thread: 'Thread',
	goroutine: (number: string) => `goroutine ${number}`,
	call: 'Call',
	unseen: 'its end was not seen',
	listed: (calls: string) => `${calls} calls are listed.`,
	none: 'No call has such values.',
};

export type ValuesText = typeof values;
