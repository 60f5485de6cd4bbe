// SPDX-License-Identifier: Apache-2.0
// What the flight recorder has kept, and why: each opens the timeline at its moment. One line, until all are asked for.
import { useState } from 'preact/hooks';
import type { Mark } from '../api/answers';
import { count, safe } from '../format';
import { type Link, NO_LINK } from '../state/link';
import { clockOf, type Span } from '../state/range';
import { text } from '../text/text';
import { isKept, reasonOf, useMarks } from './marks';
import { ToLink } from './to_link';

const BEFORE = 120; // s of the film that are in the range, …
const AFTER = 30;
const SHOWN_BEFORE = 2; // … and in the picture
const SHOWN_AFTER = 1;
const NEAR = 10; // s, between what is shown as one row
const LISTED = 20; // of a row

/** The timeline around a mark, of its machine. */
export function linkToKept({ time, host }: Mark): Link {
	const range = { from: String(Math.floor(time - BEFORE)), to: String(Math.ceil(time + AFTER)) };
	return {
		...NO_LINK, view: 'timeline', event: 'threads', range, filters: { ...NO_LINK.filters, host },
		timeline: { ...NO_LINK.timeline, from: String(time - SHOWN_BEFORE), to: String(time + SHOWN_AFTER) },
	};
}

/** What happened close together on one machine, first what happened first: the latest such group comes first. */
export function keptGroups(marks: readonly Mark[]): Mark[][] {
	const groups: Mark[][] = [], last = new Map<string, Mark[]>();
	for (const mark of marks.filter(isKept).sort((a, b) => a.time - b.time)) {
		const group = last.get(mark.host);
		if (group && mark.time - group.at(-1)!.time <= NEAR) {
			group.push(mark);
			continue;
		}
		groups.push([mark]);
		last.set(mark.host, groups.at(-1)!);
	}
	return groups.reverse();
}

export function Kept({ span }: { span: Span }) {
	const { marks } = useMarks(span), [isOpen, setOpen] = useState(false);
	const groups = keptGroups(marks), hosts = new Set(groups.map(([mark]) => mark!.host));
	return groups.length === 0 ? null : <section class="kept" aria-label={text.chart.kept}>
		<h3>{text.chart.kept}</h3>
		<ul>{(isOpen ? groups : groups.slice(0, 1)).map((group) => <Group key={`${group[0]!.time} ${group[0]!.host} ${group[0]!.text}`}
			group={group} hasHost={hosts.size > 1} />)}</ul>
		{groups.length > 1 && <button type="button" class="quiet" id="all-kept" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
			{isOpen ? text.chart.keptFold : text.chart.keptAll(count(groups.length))}</button>}
	</section>;
}

function Group({ group, hasHost }: { group: Mark[]; hasHost: boolean }) {
	const mark = group[0]!, others = group.slice(1);
	return <li>
		<ToLink to={linkToKept(mark)}><time>{clockOf(mark.time)}</time>{hasHost && ` ${safe(mark.host)}:`} {reasonOf(mark)}</ToLink>
		{others.length > 0 && <span class="hint" title={others.slice(0, LISTED).map(wordsOfOne).join('\n')}>
			{text.chart.keptMore(count(others.length), clockOf(others.at(-1)!.time))}</span>}
	</li>;
}

function wordsOfOne(mark: Mark): string {
	return `${clockOf(mark.time)} ${reasonOf(mark)}`;
}
