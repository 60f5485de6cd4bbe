// SPDX-License-Identifier: Apache-2.0
// Nothing was filmed: where there is something, and what to do.
import type { Sum } from '../api/answers';
import { lengthOfTime } from '../format';
import { isFiltered, NO_LINK } from '../state/link';
import { usePage, filmed } from '../state/page';
import { clockOf, rangeOf, spanText } from '../state/range';
import { text } from '../text/text';
import { MoreKinds } from './more_kinds';
import { Notice } from './notice';
import { isLate, untilOf } from './units';

const SHOWN = 86400; // at most this many of the latest seconds

/** sum: of the answer that has nothing. */
export function NothingFilmed({ sum }: { sum?: Sum }) {
	const { status, go, link } = usePage();
	const span = filmed(status);
	const words = text.notice;

	if (!span)
		return <>
			<Notice title={words.emptyStore}><span>{status?.filming ? words.emptyFilming : words.emptyNotFilming}</span></Notice>
			<MoreKinds />
		</>;
	if (status?.one_film && !link.range.from) // there is no other time to look at
		return isFiltered(link.filters) ? <Notice title={words.emptyFiltered}>
			<button type="button" id="clear-all" onClick={() => go({ filters: NO_LINK.filters })}>{text.ask.clear}</button>
		</Notice> : <Notice title={words.emptyFilm}><span>{words.emptyFilmHint(lengthOfTime((span.to - span.from) * 1e9))}</span></Notice>;
	return <Notice title={isFiltered(link.filters) ? words.emptyRangeFiltered : words.emptyRange}>
		{isFiltered(link.filters) && <button type="button" id="clear-all" onClick={() => go({ filters: NO_LINK.filters })}>{text.ask.clear}</button>}
		{sum && isLate(sum) && <span>{words.coming(clockOf(untilOf(sum)))}</span>}
		<span>{words.filmedFrom(spanText(span))}</span>
		<button type="button" id="show-filmed" onClick={() => go({
			range: rangeOf({ from: Math.max(span.from, span.to - SHOWN), to: span.to }), isLive: false,
		})}>{words.showThat}</button>
	</Notice>;
}
