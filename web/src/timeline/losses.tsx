// SPDX-License-Identifier: Apache-2.0
// What is missing in the picture: losses, and films that there was no time for.
import { count } from '../format';
import { Losses } from '../parts/losses';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import { clockOf } from '../state/range';
import { sinceOf } from '../parts/units';
import { text } from '../text/text';
import type { LanesAnswer } from './answers';

export function SumOfLosses({ answer: { sum } }: { answer: LanesAnswer }) {
	const { status } = usePage();
	const words = text.profile;
	return <div class="sum tl-sum">
		<Losses sum={sum} event={slicesEvent(status)} />
		{sum.films_damaged > 0 && <span class="warn">{words.damaged(count(sum.films_damaged))}</span>}
		{sum.films_unread > 0 && <span class="warn" title={words.unreadHint}>
			{words.since(clockOf(sinceOf(sum)))}: {words.unread(count(sum.films_unread))}</span>}
	</div>;
}
