// SPDX-License-Identifier: Apache-2.0
// What was lost, by reason: the films know it, and are asked when it is opened.
import type { LossesAnswer, Sum } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, safe } from '../format';
import { NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import { rangeOf } from '../state/range';
import { text } from '../text/text';
import { Dropdown } from './menu';
import { Answers } from './notice';

const LISTED = 20;

function Panel({ sum }: { sum: Sum }) {
	const { link } = usePage();
	// whose they are is not known: of filters, the host alone matters
	const asked = useAnswer<LossesAnswer>('losses', askOf(link.event, rangeOf(sum),
		{ ...NO_LINK.filters, host: link.filters.host }, { limit: LISTED }));
	const { answer } = asked;
	const others = answer ? answer.losses.reduce((rest, loss) => rest - loss.count, answer.lost) : 0;

	return <div class="loss-panel">
		<p class="hint">{text.profile.lostHint}</p>
		<Answers asked={[asked]}>
			{answer && answer.films_unread > 0 &&
				<p class="warn">{text.profile.unread(count(answer.films_unread))}</p>}
			{answer && !answer.lost && <p class="hint">{text.profile.nothingLost}</p>}
			{answer && answer.lost > 0 && <table class="numbers"><tbody>
				{answer.losses.map((loss) => <tr key={loss.reason}>
					<td class="text">{safe(loss.reason)}</td><td>{count(loss.count)}</td></tr>)}
				{others > 0 && <tr class="hint"><td class="text">{text.profile.otherReasons}</td><td>{count(others)}</td></tr>}
			</tbody></table>}
		</Answers>
	</div>;
}

export function Losses({ sum }: { sum: Sum }) {
	if (!sum.lost)
		return <span>{text.profile.nothingLost}</span>;
	return <Dropdown name="losses" class="losses" label={text.profile.lost(count(sum.lost))}>
		{() => <Panel sum={sum} />}
	</Dropdown>;
}
