// SPDX-License-Identifier: Apache-2.0
// What is looked at: everything stands in the address, so that it can be shared and gone back to.
import { FLAME_DEFAULTS, type Colouring, type FlameState, type Sorting } from '../flame/contract';
import { CALL_SORTS, type CallSort } from '../calls/columns';
import { describeRequests, NO_REQUESTS, type RequestsLink } from '../requests/link';
import { describeValues, NO_VALUES, type ValuesLink } from '../values/link';
import { describeTimeline, NO_TIMELINE, type TimelineLink } from '../timeline/link';
import type { Range } from './range';

/** Of each list of words the first is the usual one, which an address leaves out. */
export const VIEWS = ['overview', 'timeline', 'requests', 'calls', 'profile', 'compare'] as const;
export const GROUPINGS = ['service', 'host', 'version'] as const;
export const BYS = ['', 'process', 'name', 'thread', 'image', 'label', 'wait', 'waker', 'lock', 'holder'] as const;
/** Those that fit intervals alone. */
export const BYS_OF_WAITS: readonly string[] = ['wait', 'waker'];
/** And those that only waits for locks have. */
export const BYS_OF_LOCKS: readonly string[] = ['lock', 'holder'];

export const ORDERS = ['total', 'name', 'peak'] as const;

export type Order = typeof ORDERS[number];
export type ViewName = typeof VIEWS[number];
export type Grouping = typeof GROUPINGS[number];
export type By = typeof BYS[number];

/** Which samples count. '' is all. */
export interface Filters {
	host: string;
	service: string;
	version: string;
	/** "KEY=VALUE" each */
	labels: string[];
	pid: string;
	tid: string;
	comm: string;
	focus: string;
	ignore: string;
	/** Of a level: only what was allocated so long before, and what there is more than so long before: "60s". */
	leaks: string;
	grown: string;
}

/** How stacks are merged. */
export interface Shape {
	by: By;
	lines: boolean;
	inlines: boolean;
	native: boolean;
}

/** The other side of a comparison. */
export interface Side {
	range: Range;
	host: string;
	service: string;
	version: string;
	labels: string[];
}

/** A side of some range, with what another one chooses. */
export function sideOf(range: Range, { host, service, version, labels }: Omit<Side, 'range'>): Side {
	return { range, host, service, version, labels };
}

export interface Link {
	view: ViewName;
	range: Range;
	isLive: boolean;
	/** '': the first one that was filmed */
	event: string;
	filters: Filters;
	shape: Shape;
	group: Grouping;
	/** The overview is by the values of this label, not by group; '': it is not. */
	byLabel: string;
	/** What is compared with; null: the range before, of the same. */
	before: Side | null;
	/** Of a comparison: two graphs beside each other, not one. */
	isBeside: boolean;
	/** Charts have steps of minutes, where they may have finer ones. */
	isCoarse: boolean;
	/** Of the overview: what is searched for in its list, and its order. */
	find: string;
	order: Order;
	/** Of a profile: a heat map, not a chart; and of which part the flame graph is, '': all. */
	isHeat: boolean;
	part: Range;
	/** Of a profile: the id of the one request that it is of, '': of all that was filmed. */
	ofRequest: string;
	/** Of a profile: another event beside it, '': none. */
	other: string;
	flame: FlameState;
	/** The colouring and the order of a comparison. */
	changeColour: Colouring;
	changeSort: Sorting;
	/** Of the view of calls. chosen: null for the first one of the table */
	calls: { sort: CallSort; chosen: { name: string; image: string } | null };
	timeline: TimelineLink;
	requests: RequestsLink;
	values: ValuesLink;
}

export const LIST_MAX = 20;

/** One description for both ways, so that reading and writing cannot differ. */
interface Address {
	text(name: string, value: string): string;
	word<T extends string>(name: string, value: T, words: readonly T[]): T;
	flag(name: string, value: boolean): boolean;
	list(name: string, value: string[]): string[];
	/** Whether any name with that beginning is there. */
	any(beginning: string, isThere: boolean): boolean;
}

class Reader implements Address {
	constructor(private readonly from: URLSearchParams) {}

	text(name: string): string {
		return this.from.get(name) ?? '';
	}
	word<T extends string>(name: string, _value: T, words: readonly T[]): T {
		return words.find((word) => word === this.from.get(name)) ?? words[0]!;
	}
	flag(name: string): boolean {
		return this.from.get(name) === '1';
	}
	list(name: string): string[] {
		return this.from.getAll(name).slice(0, LIST_MAX);
	}
	any(beginning: string): boolean {
		return [...this.from.keys()].some((name) => name.startsWith(beginning));
	}
}

class Writer implements Address {
	readonly to = new URLSearchParams();

	text(name: string, value: string): string {
		if (value)
			this.to.set(name, value);
		return value;
	}
	word<T extends string>(name: string, value: T, words: readonly T[]): T {
		if (value !== words[0])
			this.to.set(name, value);
		return value;
	}
	flag(name: string, value: boolean): boolean {
		if (value)
			this.to.set(name, '1');
		return value;
	}
	list(name: string, value: string[]): string[] {
		for (const entry of value)
			this.to.append(name, entry);
		return value;
	}
	any(_beginning: string, isThere: boolean): boolean {
		return isThere;
	}
}

function describeFlame(at: Address, flame: FlameState): FlameState {
	const name = at.text('sandwich', flame.sandwich?.name ?? '');
	const image = at.text('sandwich_image', flame.sandwich?.image ?? '');

	return {
		show: at.word('show', flame.show, ['both', 'graph', 'table']),
		mode: at.word('mode', flame.mode, ['icicle', 'flame']),
		colour: at.word('colour', flame.colour, ['kind', 'image', 'language']),
		search: at.text('search', flame.search),
		isRegex: at.flag('regex', flame.isRegex),
		zoom: at.text('zoom', flame.zoom),
		hide: at.list('hide', flame.hide),
		sort: at.word('sort', flame.sort, ['self', 'total', 'change', 'name']),
		widths: at.word('widths', flame.widths, ['now', 'before']),
		sandwich: name ? { name, image } : null,
	};
}

function describeCalls(at: Address, { sort, chosen }: Link['calls']): Link['calls'] {
	const name = at.text('function', chosen?.name ?? '');
	const image = at.text('function_image', chosen?.image ?? '');

	return { sort: at.word('calls_sort', sort, CALL_SORTS), chosen: name ? { name, image } : null };
}

function describeSide(at: Address, prefix: string, side: Side): Side {
	return {
		range: {
			from: at.text(`${prefix}from`, side.range.from),
			to: at.text(`${prefix}to`, side.range.to),
		},
		host: at.text(`${prefix}host`, side.host),
		service: at.text(`${prefix}service`, side.service),
		version: at.text(`${prefix}version`, side.version),
		labels: at.list(`${prefix}label`, side.labels),
	};
}

function describe(at: Address, link: Link): Link {
	const now = describeSide(at, '', { range: link.range, ...link.filters });
	const { filters, shape } = link;
	const hasBefore = at.any('before_', link.before !== null);

	return {
		view: at.word('view', link.view, VIEWS),
		range: now.range,
		isLive: at.flag('live', link.isLive),
		event: at.text('event', link.event),
		filters: {
			host: now.host,
			service: now.service,
			version: now.version,
			labels: now.labels,
			pid: at.text('pid', filters.pid),
			tid: at.text('tid', filters.tid),
			comm: at.text('comm', filters.comm),
			focus: at.text('focus', filters.focus),
			ignore: at.text('ignore', filters.ignore),
			leaks: at.text('leaks', filters.leaks),
			grown: at.text('grown', filters.grown),
		},
		shape: {
			by: at.word('by', shape.by, BYS),
			lines: at.flag('lines', shape.lines),
			inlines: at.flag('inlines', shape.inlines),
			native: at.flag('native', shape.native),
		},
		group: at.word('group', link.group, GROUPINGS),
		byLabel: at.text('by_label', link.byLabel),
		before: hasBefore ? describeSide(at, 'before_', link.before ?? NO_SIDE) : null,
		isBeside: at.flag('beside', link.isBeside),
		isCoarse: at.flag('minutes', link.isCoarse),
		find: at.text('find', link.find),
		order: at.word('order', link.order, ORDERS),
		isHeat: at.flag('heat', link.isHeat),
		part: { from: at.text('part_from', link.part.from), to: at.text('part_to', link.part.to) },
		ofRequest: at.text('of_request', link.ofRequest),
		other: at.text('other', link.other),
		flame: describeFlame(at, link.flame),
		calls: describeCalls(at, link.calls),
		timeline: describeTimeline(at, link.timeline),
		requests: describeRequests(at, link.requests),
		values: describeValues(at, link.values),
		changeSort: at.word('change_sort', link.changeSort, ['change', 'self', 'total', 'name']),
		changeColour: at.word('change_colour', link.changeColour, ['change', 'kind', 'image', 'language']),
	};
}

export const NO_SIDE: Side = {
	range: { from: '', to: '' }, host: '', service: '', version: '', labels: [],
};

export const NO_LINK: Link = {
	view: 'overview',
	range: NO_SIDE.range,
	isLive: false,
	event: '',
	filters: {
		host: '', service: '', version: '', labels: [], pid: '', tid: '', comm: '', focus: '', ignore: '',
		leaks: '', grown: '',
	},
	shape: { by: '', lines: false, inlines: false, native: false },
	group: 'service',
	byLabel: '',
	before: null,
	isBeside: false,
	isCoarse: false,
	find: '',
	order: 'total',
	isHeat: false,
	part: NO_SIDE.range,
	ofRequest: '',
	other: '',
	flame: FLAME_DEFAULTS,
	changeColour: 'change',
	changeSort: 'change',
	calls: { sort: 'total', chosen: null },
	timeline: NO_TIMELINE,
	requests: NO_REQUESTS,
	values: NO_VALUES,
};

export function isFiltered(filters: Filters): boolean {
	return JSON.stringify(filters) !== JSON.stringify(NO_LINK.filters);
}

/** "?view=profile&from=…" to what it stands for; what it does not say is as usual. */
export function readLink(query: string): Link {
	return describe(new Reader(new URLSearchParams(query)), NO_LINK);
}

/** "?view=profile&from=…", or "" where all is as usual. */
export function writeLink(link: Link): string {
	const writer = new Writer();
	describe(writer, link);
	const query = writer.to.toString();
	return query ? `?${query}` : '';
}
