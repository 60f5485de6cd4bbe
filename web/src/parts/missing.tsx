// SPDX-License-Identifier: Apache-2.0
// Which part of a range an answer has not: stands beside the numbers of each view.
import type { Sum } from '../api/answers';
import { count } from '../format';
import { clockOf } from '../state/range';
import { text } from '../text/text';
import { isLate, sinceOf, untilOf } from './units';

export function Missing({ sum }: { sum: Sum }) {
	const words = text.profile;
	return <>
		{isLate(sum) && <span class="coming" title={words.untilHint}>{words.until(clockOf(untilOf(sum)))}</span>}
		{sum.films_damaged > 0 && <span class="warn damaged">{words.damaged(count(sum.films_damaged))}</span>}
		{sum.films_unread > 0 && <span class="warn unread" title={sum.films_unfetched > 0 ? words.unfetchedHint(count(sum.films_unfetched)) : words.unreadHint}>
			{words.since(clockOf(sinceOf(sum)), words.unread(count(sum.films_unread)))}</span>}
	</>;
}
