// SPDX-License-Identifier: Apache-2.0
// What is known of events: the server has a table of them, and tells its rows with its status.
import type { EventType, Status } from '../api/answers';
import { text } from '../text/text';
import { BYS, BYS_OF_LOCKS, BYS_OF_WAITS, type By, type Shape } from './link';

/** An event of which the server said nothing. */
const unknownType = (name: string): EventType => ({
	name, unit: '', title: name, rate: text.chart.perSecond(''), rate_scale: 1, noun: text.events.samples, about: '',
	calls: false, level: false, interval: false, locks: false, slices: false, requests: false, usual: false,
});

export function typeOf(status: Status | null, event: string): EventType {
	const type = status?.event_types.find(({ name }) => name === event) ?? unknownType(event);
	return { ...type, ...text.events.types[event] };
}

/** The events of the function tracer: they have a view of their own, and no other one fits them. */
export function isOfCalls(status: Status | null, event: string): boolean {
	return typeOf(status, event).calls;
}

/** How the stacks of an event can be split: what fits waits, or waits for locks, is left out for others. */
export function bysOf({ interval, locks }: EventType): By[] {
	return BYS.filter((by) => (interval || !BYS_OF_WAITS.includes(by)) && (locks || !BYS_OF_LOCKS.includes(by)));
}

export function shapeFor(status: Status | null, event: string, shape: Shape): Shape {
	return bysOf(typeOf(status, event)).includes(shape.by) ? shape : { ...shape, by: '' };
}

/** The event of threads' slices; '': none was filmed. */
export function slicesEvent(status: Status | null): string {
	const all = (status?.event_types ?? []).filter(({ slices }) => slices);
	// goroutines are shown beside threads, if there are both
	return (all.find(({ name }) => name === 'threads') ?? all[0])?.name ?? '';
}

/** The event of requests; '': none was filmed. */
export function requestsEvent(status: Status | null): string {
	return status?.event_types.find(({ requests }) => requests)?.name ?? '';
}

/** The event of waits; '': none was filmed. */
export function waitsEvent(status: Status | null): string {
	// the first: why a thread waited comes before that it waited for a CPU or for work
	return status?.event_types.find(({ interval, slices, requests, locks }) => interval && !slices && !requests && !locks)?.name ?? '';
}

/** All that there are, calls last. */
export function typesOf(status: Status | null): EventType[] {
	const types = (status?.event_types ?? []).map(({ name }) => typeOf(status, name));
	return [...types.filter(({ calls }) => !calls), ...types.filter(({ calls }) => calls)];
}

/** The one that is asked for if the link names none: the usual one, or the first that there is. */
export function usualEvent(status: Status | null, ofCalls = false): string {
	const types = typesOf(status).filter(({ calls }) => calls === ofCalls);
	return (types.find(({ usual }) => usual) ?? types[0])?.name ?? '';
}
