// SPDX-License-Identifier: Apache-2.0
// What the flight recorder has kept, and why: each opens the timeline at its moment.
import type { Mark } from '../api/answers';
import { safe } from '../format';
import { type Link, NO_LINK, writeLink } from '../state/link';
import { usePage } from '../state/page';
import { clockOf, type Span } from '../state/range';
import { text } from '../text/text';
import { isHere } from './click';
import { useMarks } from './marks';

const KEPT = 'kept: '; // how the text of such a mark begins (src/store/keep.h)
const BEFORE = 120; // s of the film that are in the range, …
const AFTER = 30;
const SHOWN_BEFORE = 2; // … and in the picture
const SHOWN_AFTER = 1;

/** The timeline around a mark, of its machine. */
export function linkToKept({ time, host }: Mark): Link {
	const range = { from: String(Math.floor(time - BEFORE)), to: String(Math.ceil(time + AFTER)) };
	return {
		...NO_LINK, view: 'timeline', event: 'threads', range, filters: { ...NO_LINK.filters, host },
		timeline: { ...NO_LINK.timeline, from: String(time - SHOWN_BEFORE), to: String(time + SHOWN_AFTER) },
	};
}

export function Kept({ span }: { span: Span }) {
	const { go } = usePage(), { marks } = useMarks(span);
	const kept = marks.filter((mark) => mark.text.startsWith(KEPT));
	return kept.length === 0 ? null : <section class="kept" aria-label={text.chart.kept}>
		<h3>{text.chart.kept}</h3>
		<ul>{kept.map((mark) => <li key={`${mark.time} ${mark.text}`}>
			<a href={writeLink(linkToKept(mark))} onClick={(click) => {
				if (!isHere(click))
					return;
				click.preventDefault();
				go(linkToKept(mark));
			}}>{clockOf(mark.time)} {safe(mark.text.slice(KEPT.length))}</a>
		</li>)}</ul>
	</section>;
}
