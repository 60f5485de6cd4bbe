// SPDX-License-Identifier: Apache-2.0
// What the server answers (doc/openapi.json). Times are unix seconds, values integers in the event's unit.

export interface Sum {
	from: number;
	to: number;
	samples: number;
	total: number;
	truncated: number;
	guessed: number;
	lost: number;
	/** Of lost: whole samples of the event. */
	lost_samples: number;
	unit: string;
	/** At most to; what is behind it may not be there yet. 0: not known */
	complete_from: number;
	complete_until: number;
	/** Seconds between from and complete_until of which there are films. */
	filmed: number;
	by_films: boolean;
	by_paths: boolean;
	films_damaged: number;
	/** The oldest, which end before complete_from: reading them would have taken too long. */
	films_unread: number;
	/** Of these, films that only the bucket has, and that could not be read from it. */
	films_unfetched: number;
}

export interface FlameLabels {
	name: string[];
	image: string[];
	/** "native", "kernel", "python" …, "mark" for what is not code, "group" for processes and threads */
	kind: string[];
	file?: string[];
	line?: number[];
}

/** Columns. Node 0 is the root, whose label is -1; parents come before children. */
export interface FlameNodes {
	parent: number[];
	label: number[];
	self: number[];
	total: number[];
	/** 0 or 1: found by a guess */
	guess?: number[];
	inlined?: number[];
	before_self?: number[];
	before_total?: number[];
}

export interface FlameAnswer {
	sum: Sum;
	unit: string;
	/** Where the profile is of one request. shared: others that were open on the same threads meanwhile; not_known: ns of waits */
	request?: { id: string; shared: number; not_known: number; not_linked: string[] };
	/** Of a comparison; in the unit of its own range, where before_total is scaled. */
	before?: Sum;
	labels: FlameLabels;
	nodes: FlameNodes;
	/** Nodes that were left out; each parent of some has one child "[smaller]" for them. */
	hidden: number;
	functions?: FunctionRow[];
}

export interface FunctionRow {
	name: string;
	image: string;
	kind: string;
	file?: string;
	line?: number;
	self: number;
	total: number;
	before_self?: number;
	before_total?: number;
}

/** A function of an event of calls. Times are ns; null: no call was seen from its beginning to its end. */
export interface CalledFunction {
	name: string;
	image: string;
	calls: number;
	/** Of calls: their return was not seen; had not ended; reach over the time that was asked for. */
	inferred: number;
	open: number;
	cut: number;
	self: number;
	total: number;
	on_cpu: number;
	avg: number | null;
	min: number | null;
	p50: number | null;
	p99: number | null;
	max: number | null;
	/** How many took from 2^power ns to less than twice that; those that none took are left out. */
	histogram: { power: number; calls: number }[];
}

export interface CallsAnswer extends Pick<FlameAnswer, 'sum' | 'unit' | 'labels' | 'nodes' | 'hidden'> {
	/** Some films have only sums of their calls. */
	summary: boolean;
	functions: CalledFunction[];
	functions_hidden: number;
	calls: number;
}

/** What a search matches in all of a profile, of which a FlameAnswer has the largest nodes alone. */
export interface SearchAnswer {
	sum: Sum;
	unit: string;
	/** Nodes that match, and what they have together: one inside of another counts once. */
	frames: number;
	total: number;
	before_total?: number;
	functions: FunctionRow[];
	functions_found: number;
}

export interface SandwichAnswer {
	sum: Sum;
	unit: string;
	self: number;
	total: number;
	callers: Pick<FlameAnswer, 'labels' | 'nodes' | 'hidden'>;
	callees: Pick<FlameAnswer, 'labels' | 'nodes' | 'hidden'>;
}

export interface PlacesAnswer {
	sum: Sum;
	self: number;
	total: number;
	/** Largest first. */
	builds: { image: string; build_id: string; self: number; total: number }[];
	lines: { file: string; line: number; self: number; total: number }[];
}

export interface ThreadRow {
	tid: number;
	comm: string;
	samples: number;
	total: number;
}

export interface ProcessRow {
	host: string;
	service: string;
	pid: number;
	comm: string;
	command: string;
	samples: number;
	total: number;
	threads: ThreadRow[];
}

export interface ProcessesAnswer {
	sum: Sum;
	processes: ProcessRow[];
	others: number;
}

export type LossKind = 'sample' | 'stack' | 'name' | 'other';

export interface LossesAnswer {
	lost: number;
	/** Reading them would have taken too long: what they lost is not counted. */
	films_unread: number;
	losses: { reason: string; count: number; kind: LossKind }[];
}

export interface SeriesRow {
	host: string;
	service: string;
	version: string;
	/** "env=prod,zone=a" */
	labels: string;
	samples: number;
	total: number;
}

export interface SeriesAnswer {
	sum: Sum;
	series: SeriesRow[];
	others: number;
}

export interface TimelineRow {
	/** '' for all others */
	name: string;
	total: number;
	values: number[];
}

export interface TimelineAnswer {
	sum: Sum;
	/** seconds */
	step: number;
	/** Of each step, the seconds of which there are films. */
	filmed: number[];
	rows: TimelineRow[];
}

/** A moment that was marked. '' is of all. */
export interface Mark {
	time: number;
	host: string;
	service: string;
	version: string;
	text: string;
	/** The first minute of a new version, which no client has marked. */
	derived: boolean;
}

export interface MarksAnswer {
	from: number;
	to: number;
	/** In the order of their time. */
	marks: Mark[];
	/** Earlier ones that are not listed. */
	others: number;
}

export interface HeatAnswer {
	sum: Sum;
	/** The second of the first column. */
	first: number;
	/** Columns, and parts of each. */
	seconds: number;
	rows: number;
	most: number;
	/** Column by column. */
	cells: number[];
}

/** A row of the server's table of events. */
export interface EventType {
	name: string;
	unit: string;
	/** "Off-CPU" */
	title: string;
	/** What its values per second are, "CPUs"; of a level, what its values are. */
	rate: string;
	/** How many a second are one of them. */
	rate_scale: number;
	/** "samples" */
	noun: string;
	about: string;
	/** It is answered by calls. */
	calls: boolean;
	/** What is there at a moment: never summed over time. */
	level: boolean;
	/** Its samples are intervals of threads: waits, which have a reason and a waker. */
	interval: boolean;
	/** They are for locks, each of which has a holder. */
	locks: boolean;
	/** It has what threads did, slice by slice: the timeline shows it. */
	slices: boolean;
	/** Its samples are requests: the view of requests lists them. */
	requests: boolean;
	usual: boolean;
}

export interface Status {
	version: string;
	host: string;
	now: number;
	started: number;
	filming: boolean;
	one_film: boolean;
	/** Of one film: it is still being recorded. */
	growing: boolean;
	/** Of one film: its recorder did not come to its end. */
	cut_off: boolean;
	/** Films have what streams of GPUs ran. */
	devices: boolean;
	read_only: boolean;
	/** Of the machine that is filmed; 0: not known. */
	cpus: number;
	/** The flight recorder; null: there is none. */
	camera: { filming: boolean } | null;
	events: string[];
	event_types: EventType[];
	recorder: { samples: number; lost: number; cpu: number; cpu_bpf: number | null; frequency: number } | null;
	process: { cpu_seconds: number; bpf_seconds: number; rss_bytes: number };
	store: {
		films: number;
		bytes: number;
		first: number;
		last: number;
		hosts: number;
		series: number;
		in_others: number;
		set_aside: number;
		taken: number;
		again: number;
		removed: number;
		full: boolean;
	};
}
