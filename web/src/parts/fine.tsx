// SPDX-License-Identifier: Apache-2.0
// The choice between steps of minutes, which the store has at hand, and finer ones, which it counts in the films.
import { usePage } from '../state/page';
import { canBeFine } from '../state/range';
import { text } from '../text/text';

export function FineChoice() {
	const { link, span, go } = usePage();
	if (!canBeFine(span) || link.isLive) // which has minutes, as all would be counted again and again
		return null;
	return <div class="segments small" role="group" aria-label={text.chart.steps}>
		<button type="button" id="minutes" aria-pressed={link.isCoarse} title={text.chart.minutesHint}
			onClick={() => go({ isCoarse: true })}>{text.chart.minutes}</button>
		<button type="button" id="seconds" aria-pressed={!link.isCoarse} title={text.chart.secondsHint}
			onClick={() => go({ isCoarse: false })}>{text.chart.seconds}</button>
	</div>;
}
