// SPDX-License-Identifier: Apache-2.0
// Why something took as long as it did, as 'stackcam explain --format json' says it. Durations are ns.

export interface ExplainedThread {
	pid: number;
	tid: number;
	comm: string;
}

export interface ExplainedPart {
	kind: string;
	duration: number;
	thread: ExplainedThread;
	waker: ExplainedThread | null;
	holder: ExplainedThread | null;
	/** What it is, in words. */
	words: string;
	/** How that is known. */
	evidence: string;
	likely: boolean;
	/** Innermost first. */
	stack: string[];
	/** What the thread did that ended it: they add up to the duration, or there are none. */
	parts: ExplainedPart[];
}

export interface Explanation {
	id: string | null;
	endpoint: string | null;
	/** It was not over when the film ended; not there of a thread. */
	open?: boolean;
	pid: number;
	tid: number;
	comm: string;
	/** RFC 3339 */
	start: string;
	duration: number;
	/** Of duration: what the film does not know. */
	unexplained: number;
	/** The longest part, or of the parts of services that were asked for it; null: there is none. */
	cause: { kind: string; words: string; duration: number; thread: { pid: number; tid: number; comm: string } } | null;
	more_threads: 'yes' | 'no' | 'unknown';
	more_threads_why: string;
	/** Which tasks share the threads of its process: some of the time may be of others. */
	not_linked: string[];
	parts: ExplainedPart[];
}

/** What a program says of its own work (OpenTelemetry), in the order of its tree. */
export interface Span {
	trace: string;
	id: string;
	parent: string;
	depth: number;
	name: string;
	service: string;
	host: string;
	pid: number;
	tid: number;
	kind: string;
	status: 'unset' | 'ok' | 'error';
	/** ns since 1970, as digits. */
	start: string;
	duration: number;
}

export interface SpansAnswer {
	spans: Span[];
	/** There are more. */
	cut: boolean;
	/** Of all that the store has. */
	kept: number;
	dropped: number;
}

export interface ExplainAnswer {
	requests: Explanation[];
}
