// SPDX-License-Identifier: Apache-2.0
// What changed most between two sides, over all services (or versions of one): so that the one to look at comes first.
import { useState } from 'preact/hooks';
import type { SeriesAnswer, Sum } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, relative, safe, signed } from '../format';
import type { Filters, Grouping, Side } from '../state/link';
import { usePage } from '../state/page';
import type { Range } from '../state/range';
import { text } from '../text/text';
import { moveRow } from './rows';
import { averageOf, rateOf } from './units';

const SERIES = 10_000;
const FIRST = 5; // rows, until all are asked for

interface Change {
	name: string;
	/** per second of each side */
	before: number;
	now: number;
}

function changesOf(before: SeriesAnswer, now: SeriesAnswer, group: Grouping, rate: (sum: Sum, total: number) => number): Change[] {
	const changes = new Map<string, Change>();
	const add = (answer: SeriesAnswer, side: 'before' | 'now') => {
		for (const row of answer.series) {
			const name = row[group];
			const change = changes.get(name) ?? { name, before: 0, now: 0 };
			changes.set(name, change);
			change[side] += rate(answer.sum, row.total);
		}
	};
	add(before, 'before');
	add(now, 'now');
	return [...changes.values()].sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before));
}

const SAME = 0.005; // of a rate that is hardly another one

const isSame = ({ before, now }: Change) => Math.abs(now - before) <= SAME * Math.max(now, before);

export function Changed({ now, before, beforeFilters }: { now: Range; before: Side; beforeFilters: Filters }) {
	const { link, go, beat, event } = usePage();
	const [isAll, setAll] = useState(false);
	const words = text.compare;
	const { filters } = link;
	// one service is looked at: its versions
	const group: Grouping = filters.service ? 'version' : 'service';
	const isOfSame = filters.service === before.service && filters.version === before.version;
	const question = isOfSame ? 'series' : null;
	const nows = useAnswer<SeriesAnswer>(question, askOf(link.event, now, filters, { limit: SERIES }), beat);
	const befores = useAnswer<SeriesAnswer>(question,
		askOf(link.event, before.range, beforeFilters, { limit: SERIES }), beat);
	if (!nows.answer || !befores.answer)
		return null;
	const changes = changesOf(befores.answer, nows.answer, group, (sum, total) => averageOf({ sum }, total, event));
	if (changes.length < 2)
		return null;
	const { format } = rateOf(event);
	const pick = (name: string) => go({ filters: { ...filters, [group]: name }, before: { ...before, [group]: name } });

	return <section class="changed">
		<h3>{words.changedMost(text.overview.name[group])}</h3>
		<div class="wide"><table class="rows">
			<thead><tr>
				<th class="text">{text.overview.name[group]}</th>
				<th class="less">{words.before}</th><th class="less">{words.now}</th>
				<th aria-sort="descending">{words.absolute} ↓</th><th>{words.relative}</th><td class="trend" />
			</tr></thead>
			<tbody>{(isAll ? changes : changes.slice(0, FIRST)).map((change) => <tr key={change.name} tabIndex={0} class="pick"
				title={words.openChange(safe(change.name) || text.ask.none)} onClick={() => pick(change.name)}
				onKeyDown={(event) => (event.key === 'Enter' ? pick(change.name) : moveRow(event))}>
				<td class="text">{safe(change.name) || text.ask.none}</td>
				<td class="less">{format(change.before)}</td><td class="less">{format(change.now)}</td>
				<td class={isSame(change) ? '' : change.now > change.before ? 'flame-grew' : 'flame-shrank'}>
					{signed(change.now - change.before, format)}</td>
				<td>{relative(change.before, change.now)}</td><td class="trend" />
			</tr>)}</tbody>
		</table></div>
		{(nows.answer.others > 0 || befores.answer.others > 0) && <p class="hint">{text.ask.cut}</p>}
		{!isAll && changes.length > FIRST && <button type="button" class="quiet" id="all-changes"
			onClick={() => setAll(true)}>{text.overview.showAll(count(changes.length))}</button>}
	</section>;
}
