// SPDX-License-Identifier: Apache-2.0
// What the server answers about the timeline (doc/openapi.json). Times are ns since base, whole numbers.
import type { Sum } from '../api/answers';

interface OfTime {
	/** ns since 1970, as digits: more than a number of this language holds. */
	base: string;
	/** ns that the answer is of. */
	length: number;
	/** Names of classes; elsewhere a class is an index of this list. */
	classes: string[];
}

export interface LaneRow {
	host: string;
	pid: number;
	/** Of a goroutine, its number. */
	tid: number;
	goroutine: boolean;
	/** "thread", "goroutine", "task", "virtual thread" */
	kind: string;
	comm: string;
	/** The process: its name, and its command line. */
	process: string;
	command: string;
	/** Of the process, as the rest of the page names it. */
	service: string;
	/** What tasks share its threads and have no lanes: "tasks of asyncio". */
	not_linked: string[];
	/** ns and slices of each class. */
	ns: number[];
	slices: number[];
	/** ns since base: of its first slice, and of the end of its last one. */
	first: number;
	last: number;
	/** Of the first lanes, if they were asked for: as in SlicesAnswer. */
	runs?: number[];
}

export interface LanesAnswer extends OfTime {
	sum: Sum;
	lanes: LaneRow[];
	/** All that there are, those beyond the limit included. */
	threads: number;
	/** There was no room for all threads. */
	cut: boolean;
	/** Of each step: ns of all threads on a CPU, and in the run queue. */
	running: number[];
	ready: number[];
}

export interface SlicesAnswer extends OfTime {
	/** ns: slices shorter than this may be merged. */
	pixel: number;
	/** runs: for each the ns since the end of the one before, its length, class, slices, and ns of its class. */
	lanes: { pid: number; tid: number; goroutine: boolean; runs: number[] }[];
	/** There was no room for all. */
	cut: boolean;
}

export interface StateRow {
	class: number;
	count: number;
	sum: number;
	p50: number;
	p99: number;
	longest: number;
}

export interface StatesAnswer extends OfTime {
	sum: Sum;
	lanes: number;
	states: StateRow[];
}

export interface ThreadName {
	pid: number;
	tid: number;
	comm: string;
}

export interface CpusAnswer extends OfTime {
	pixel: number;
	/** There was no room for all. */
	cut: boolean;
	threads: (ThreadName & { process: string })[];
	/** runs: as of lanes, but a place in threads instead of the class, and stays on the CPU instead of slices. */
	cpus: { cpu: number; runs: number[] }[];
}

/** What a stream of a device ran. */
export interface WorkName {
	/** Empty: not known. */
	name: string;
	/** unknown: records were lost. */
	kind: 'kernel' | 'copy' | 'unknown';
}

export interface StreamRow {
	host: string;
	pid: number;
	process: string;
	/** As the process numbers them. */
	device: number;
	stream: number;
	kernels: number;
	copies: number;
	bytes: number;
	/** They add up to the length of the answer. */
	ns: { kernels: number; copies: number; idle: number; unknown: number };
	/** As of lanes, but a place in names instead of the class, and kernels and copies instead of slices. */
	runs: number[];
	/** Of each run: ns busy, bytes, the launching thread's place in threads and 1, ns from the launch to the run's begin. */
	works: number[];
}

export interface DevicesAnswer {
	base: string;
	length: number;
	pixel: number;
	/** There was no room for all. */
	cut: boolean;
	/** Kernels and copies for which there was none. */
	left: number;
	names: WorkName[];
	threads: (ThreadName & { process: string })[];
	streams: StreamRow[];
}

export interface SliceAnswer {
	base: string;
	/** Null: the thread has no slice then. */
	slice: {
		/** Its class, by name. */
		name: string;
		/** What it was, in words: "lock", or the system call and the function of the kernel. */
		words: string;
		/** Since base; they may lie outside of what was asked for. */
		start: number;
		end: number;
		/** Its beginning, or its end, was not seen. */
		open_start: boolean;
		open_end: boolean;
		cpu: number | null;
		call: string;
		arguments: string[];
		state: string;
		descriptor: string;
		/** What it waited for, by name; empty: nothing that has one, or it is not known: the next says why. */
		object: string;
		object_unknown: string;
		/** Of a wait for a GPU: what that ran meanwhile, longest first; duration: ns of the wait. */
		works: { kind: 'kernel' | 'copy'; name: string; device: number; stream: number; duration: number }[];
		ready_object: string;
		context: string;
		iowait: boolean;
		waker: ThreadName | null;
		/** It is a goroutine, or a task, as the lane is. */
		waker_goroutine: boolean;
		/** Of a wait for a lock: the thread that held it, and how that is known: "owner", "last holder", "releaser". */
		holder: ThreadName | null;
		holder_sure: string;
		/** Of a goroutine: the thread that it ran on. */
		on: ThreadName | null;
		/** Outermost last. */
		stack: { name: string; image: string; kind: string; is_guess: boolean }[];
	} | null;
}

/** What the machine did beside the threads. */
export interface Gauge {
	group: string;
	name: string;
	title: string;
	unit: string;
	/** It is there at a moment; else values are a second's. */
	level: boolean;
	/** Of which device; empty: of all. */
	object: string;
	average: number;
	least: number;
	most: number;
	/** Of each step; null: not known. */
	values: (number | null)[];
}

export interface MachineAnswer {
	base: string;
	length: number;
	/** ns */
	step: number;
	cut: boolean;
	gauges: Gauge[];
	/** For which disks worked; tid 0: not known. */
	threads: { object: string; write: boolean; pid: number; tid: number; comm: string; bytes: number; count: number; time: number; longest: number }[];
	notes: string[];
}

export interface LogLine {
	/** ns since base */
	time: number;
	pid: number;
	tid: number;
	comm: string;
	/** How it is known whose line it is: writer, thread-name, request-id. */
	matched: string;
	writer: number;
	kind: string;
	stream: string;
	level: string;
	size: number;
	cut: boolean;
	text: string;
}

export interface LogsAnswer {
	base: string;
	length: number;
	lines: LogLine[];
	/** Lines that are not here. */
	left: number;
}
