// SPDX-License-Identifier: Apache-2.0
// What an answer stands for, and what is missing in it: stands beside its numbers.
import type { EventType, Sum } from '../api/answers';
import { count, partOf } from '../format';
import { filmed, usePage } from '../state/page';
import { spanText, within } from '../state/range';
import { text } from '../text/text';
import { Losses } from './losses';
import { Missing } from './missing';
import { amountOf, averageOf, rateOf } from './units';

/** event: that of the page, if it is not given; name: which of several it is. */
export function SumLine({ sum, name = '', ...of }: { sum: Sum; event?: EventType; name?: string }) {
	const { event: usual, status } = usePage();
	const event = of.event ?? usual;
	const words = text.profile;
	return <div class="sum">
		{name && <span>{name}</span>}
		<b>{amountOf(event, sum.total)(sum.total)}</b>
		{!event.level && <span>{words.average(rateOf(event).format(averageOf({ sum }, sum.total, event)))}</span>}
		<span>{spanText(within(sum, filmed(status)))}</span>
		{sum.by_paths ? <span title={words.byPathsHint}>{words.byPaths}</span>
			: <span>{words.counted(count(sum.samples), event.noun)}</span>}
		{sum.guessed > 0 && <span title={words.guessedHint}>{words.guessed(partOf(sum.guessed, sum.samples))}</span>}
		<Losses sum={sum} />
		<Missing sum={sum} />
	</div>;
}
