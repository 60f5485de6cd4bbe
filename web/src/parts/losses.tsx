// SPDX-License-Identifier: Apache-2.0
// Which part of the samples was lost or cut; behind it, all that was lost, by kind and reason, as the films know it.
import type { LossesAnswer, LossKind, Sum } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, isMuch, partOf, safe } from '../format';
import { NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import { rangeOf } from '../state/range';
import { text } from '../text/text';
import { Dropdown } from './menu';
import { Answers } from './notice';

const LISTED = 50;
const KINDS: LossKind[] = ['sample', 'stack', 'name', 'other'];

/** The reasons of one kind, below their sum. */
function Kind({ kind, losses }: { kind: LossKind; losses: LossesAnswer['losses'] }) {
	const of = losses.filter((loss) => loss.kind === kind);
	return of.length > 0 && <tbody>
		<tr><th class="text">{text.profile.lossKinds[kind]}</th>
			<td><b>{count(of.reduce((sum, loss) => sum + loss.count, 0))}</b></td></tr>
		{of.map((loss) => <tr key={loss.reason}><td class="text">{safe(loss.reason)}</td><td>{count(loss.count)}</td></tr>)}
	</tbody>;
}

function Panel({ sum, event, isOfSamples }: { sum: Sum; event: string; isOfSamples: boolean }) {
	const { link } = usePage();
	// whose they are is not known: of filters, the host alone matters
	const asked = useAnswer<LossesAnswer>('losses', askOf(event, rangeOf(sum),
		{ ...NO_LINK.filters, host: link.filters.host }, { limit: LISTED }));
	const { answer } = asked;
	const words = text.profile;
	const others = answer ? answer.losses.reduce((rest, loss) => rest - loss.count, answer.lost) : 0;

	return <div class="loss-panel">
		{isOfSamples && <p>{words.lostSamples(partOf(sum.lost_samples, sum.samples + sum.lost_samples))}{' '}
			<span title={words.cutHint}>{words.cut(partOf(sum.truncated, sum.samples))}</span></p>}
		<p class="hint">{words.lostHint}</p>
		<Answers asked={[asked]}>
			{answer && answer.films_unread > 0 &&
				<p class="warn">{words.unread(count(answer.films_unread))}</p>}
			{answer && !answer.lost && <p class="hint">{words.nothingLost}</p>}
			{answer && answer.lost > 0 && <table class="numbers">
				{KINDS.map((kind) => <Kind key={kind} kind={kind} losses={answer.losses} />)}
				{others > 0 && <tbody><tr class="hint"><td class="text">{words.otherReasons}</td><td>{count(others)}</td></tr></tbody>}
			</table>}
		</Answers>
	</div>;
}

/** Which part of the samples lacks something. */
export function wordsOfPart(sum: Sum): string {
	const words = text.profile, part = sum.lost_samples + sum.truncated;
	return !part ? words.noSampleLost : sum.lost_samples ? words.lostOrCut(partOf(part, sum.samples + sum.lost_samples)) :
		words.truncated(partOf(part, sum.samples));
}

/**
 * Lost samples and cut stacks alike lack something of what was spent; all else is another thing, and not added to it.
 * Of slices and requests, which are no samples, losses are counted. event: where it is another one than the page's.
 */
export function Losses({ sum, event: other }: { sum: Sum; event?: string }) {
	const { link, status } = usePage();
	const words = text.profile, event = other ?? link.event;
	const type = status?.event_types.find(({ name }) => name === event), isOfSamples = !sum.by_paths && !type?.slices && !type?.requests;
	const part = sum.lost_samples + sum.truncated;
	if (!sum.lost && !part)
		return <span>{words.nothingLost}</span>;
	if (!isOfSamples)
		return <Dropdown name="losses" class="losses few" label={words.losses(count(sum.lost))}>
			{() => <Panel sum={sum} event={event} isOfSamples={false} />}
		</Dropdown>;
	return <Dropdown name="losses" class={isMuch(part, sum.samples + sum.lost_samples) ? 'losses' : 'losses few'}
		label={wordsOfPart(sum)}>
		{() => <Panel sum={sum} event={event} isOfSamples />}
	</Dropdown>;
}
