// SPDX-License-Identifier: Apache-2.0
// The words around explanations, in English. Their sentences come from the server.

export const explain = {
	title: 'Why it took so long',
	close: 'Close (Esc)',
	took: (time: string, thread: string) => `took ${time} in ${thread}:`,
	hadTaken: (time: string, thread: string) => `had taken ${time} and was not over, in ${thread}:`,
	bar: 'The deepest causes of the time; the list below says the same in words',
	unexplained: 'unexplained',
	likely: '(likely: an interrupt may have ended it)',
	spent: 'which spent:',
	evidence: 'Evidence',
	cause: (what: string, thread: string, time: string) => `Its longest cause is ${what} in ${thread}: ${time}.`,
	moreThreads: {
		yes: 'More threads would help:', no: 'More threads would not help:',
		unknown: 'Whether more threads would help is not known:',
	},
	notLinked: (tasks: string) => `Not linked: its process runs ${tasks}, which share threads: some of this may be of others.`,
	spansOfTrace: 'Spans of its trace',
	spansOfProcess: 'Spans of its process in that time',
	spanFailed: 'failed',
	moreSpans: (shown: string) => `The first ${shown}; there are more.`,
	inThread: (thread: string) => `in ${thread}`,
	threads: 'Its threads',
	timeline: (n: string) => (n === '1' ? 'Timeline of its thread' : `Timeline of its ${n} threads`),
	timelineHint: 'All threads of its path, above the others',
	why: 'Why?',
	whyHint: 'What the time of this request was spent on',
};

export type ExplainText = typeof explain;
