// SPDX-License-Identifier: Apache-2.0
// What all parts of the page share: the link, the server's status, the theme, the beat of live mode.
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { EventType, SeriesRow, Status } from '../api/answers';
import type { Theme } from '../flame/contract';
import { isOfCalls, requestsEvent, slicesEvent, typeOf, typesOf, usualEvent } from './events';
import { type Link, readLink, type ViewName, VIEWS, writeLink } from './link';
import { type Range, rangeOf, secondsOf, type Span, spanOf, stepsOf, USUAL_RANGE, withBothEnds, wordOf } from './range';

export interface Page {
	link: Link;
	/** Changes the link; a step is one that "back" undoes. */
	go(change: Partial<Link>, isStep?: boolean): void;
	status: Status | null;
	/** What the event of the link is. */
	event: EventType;
	/** What the filters can choose. */
	series: SeriesRow[];
	/** There are more than those. */
	isCut: boolean;
	theme: Theme;
	/** Rises every few seconds in live mode, and when a server answers again. */
	beat: number;
	/** The server does not answer: that is said once, above the view. */
	isUnreachable: boolean;
	/** What the link asks for, with the usual range where it names none. */
	range: Range;
	/** The same in seconds; of one film, the whole film; null: not known yet. */
	span: Span | null;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
	return useContext(PageContext)!;
}

/** The link of the address, and what changes both. */
export function useLink(): [Link, Page['go']] {
	const [link, setLink] = useState(() => readLink(location.search));
	const current = useRef(link);

	useEffect(() => {
		const back = () => setLink(current.current = readLink(location.search));
		addEventListener('popstate', back);
		return () => removeEventListener('popstate', back);
	}, []);
	return [link, (change, isStep = true) => {
		const next = { ...current.current, ...change };
		const address = writeLink(next) || location.pathname;
		if (address !== (location.search || location.pathname)) {
			if (isStep)
				history.pushState(null, '', address);
			else
				history.replaceState(null, '', address);
		}
		setLink(current.current = next);
	}];
}

/** Rises every `interval` milliseconds while isOn and the page is in sight. */
export function useBeat(isOn: boolean, every: number): number {
	const [beat, setBeat] = useState(0);
	useEffect(() => {
		if (!isOn)
			return undefined;
		const timer = setInterval(() => document.hidden || setBeat((count) => count + 1), every);
		return () => clearInterval(timer);
	}, [isOn, every]);
	return beat;
}

/** The one that is asked for if the link names none: the usual one, or what there is. */
export function eventOfLink(link: Link, status: Status | null): string {
	if (link.event)
		return link.event;
	const calls = usualEvent(status, true), others = usualEvent(status);
	return link.view === 'calls' ? calls || others : others || calls;
}

/** The view that fits the event. */
export function viewOfLink(link: Link, event: string, status: Status | null): ViewName {
	const isCalls = isOfCalls(status, event);
	if (link.view === 'timeline')
		return slicesEvent(status) ? 'timeline' : 'profile';
	if (link.view === 'requests')
		return requestsEvent(status) ? 'requests' : 'profile';
	if (isCalls && (link.view === 'overview' || link.view === 'profile'))
		return 'calls';
	return link.view === 'calls' && !isCalls ? 'profile' : link.view;
}

/** The views that have something to show. */
export function viewsOf(status: Status | null): ViewName[] {
	const types = typesOf(status);
	const hasCalls = types.some(({ calls }) => calls);
	const hasOthers = !hasCalls || types.length > 1;
	return VIEWS.filter((view) => (view === 'calls' ? hasCalls :
		view === 'timeline' ? slicesEvent(status) !== '' :
		view === 'requests' ? requestsEvent(status) !== '' : hasOthers));
}

/** The part of a link that leads to a view, with an event that fits it. */
export function toView(view: ViewName, link: Link, status: Status | null): Partial<Link> {
	if (view === 'calls')
		return { view, event: usualEvent(status, true) };
	if (view === 'timeline' || view === 'requests')
		return { view };
	if (!isOfCalls(status, link.event))
		return { view };
	const other = usualEvent(status);
	return { view, event: typeOf(status, other).usual ? '' : other };
}

/** What can be chosen, with the one that is. */
export function eventsOf(status: Status | null, { event }: Link): EventType[] {
	const types = typesOf(status);
	return !event || types.some(({ name }) => name === event) ? types : [typeOf(status, event), ...types];
}

/** What the server has films of; null: none. */
export function filmed(status: Status | null): Span | null {
	const { first = 0, last = 0 } = status?.store ?? {};
	return last > first ? { from: first, to: last } : null;
}

/** The usual range; of a store that is younger, all that is there, and what will be. */
function usualRange(status: Status | null): Range {
	const whole = filmed(status);
	return whole && whole.from > secondsOf(USUAL_RANGE.from, Date.now() / 1000) ?
		{ from: wordOf(Math.floor(whole.from)), to: USUAL_RANGE.to } : USUAL_RANGE;
}

/** CPUs of the one machine that is looked at, where values are time on them; 0: not known, or other values. */
export function allCpusOf({ event, status, link: { filters: { host } } }: Page): number {
	const isOne = status?.one_film || status?.store.hosts === 1 || host !== '' && host === status?.host;
	return isOne && event.usual ? status?.cpus ?? 0 : 0;
}

/** In how many steps charts are drawn. */
export function stepsOfPage({ link, span }: Page): number {
	return stepsOf(span, link.isCoarse || link.isLive);
}

export function rangeOfLink(link: Link, status: Status | null): Range {
	const whole = status?.one_film ? filmed(status) : null;
	const range = withBothEnds(link.range, whole ? wordOf(whole.to) : 'now');
	return range.from || status?.one_film ? range : usualRange(status);
}

export function spanOfLink(link: Link, status: Status | null): Span | null {
	const range = rangeOfLink(link, status);
	return range.from ? spanOf(range, Date.now() / 1000) : filmed(status);
}

/** The link with its times as they are now, for another reader or for later. */
export function lastingLink(link: Link, span: Span | null): string {
	const lasting = span && !link.isLive && link.range.from ? { ...link, range: rangeOf(span) } : link;
	return new URL(writeLink(lasting) || location.pathname, location.href).href;
}
