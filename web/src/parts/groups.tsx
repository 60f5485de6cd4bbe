// SPDX-License-Identifier: Apache-2.0
// How much each one used: all services, hosts or versions of the range, to be searched and sorted.
import { useMemo, useState } from 'preact/hooks';
import type { EventType, SeriesAnswer, SeriesRow, TimelineAnswer, TimelineRow } from '../api/answers';
import { count, percent, safe } from '../format';
import { coloursOf, type NameColours } from '../state/colours';
import { GROUPINGS, type Grouping, type Order } from '../state/link';
import { usePage } from '../state/page';
import { text } from '../text/text';
import { labelsOf } from './ask_bar';
import { moveRow } from './rows';
import { Sparkline } from './sparkline';
import { amountOf, averageOf, peakOf, rateOf, ratesOf } from './units';

const SHOWN = 100; // rows, until all are asked for

interface Group {
	name: string;
	total: number;
	/** Null: it is too small to have one. */
	row: TimelineRow | null;
	/** The highest of its steps; 0 without a row. */
	peak: number;
}

const keyOf = (label: string) => label.slice(0, label.indexOf('='));

/** All keys of labels, in their order. */
function keysOf(series: SeriesRow[]): string[] {
	return [...new Set(series.flatMap((row) => labelsOf(row).map(keyOf)))].sort();
}

/** What a series is called in the list; '' if it has no such label. */
function nameOf(row: SeriesRow, group: Grouping, byLabel: string): string {
	return byLabel ? labelsOf(row).find((label) => keyOf(label) === byLabel)?.slice(byLabel.length + 1) ?? '' : row[group];
}

/** All names with their sums, and those rows of the timeline that have one. */
function groupsOf(series: SeriesAnswer | null, timeline: TimelineAnswer, group: Grouping, byLabel: string, type: EventType): Group[] {
	const totals = new Map(timeline.rows.map((row) => [row.name, row.total]));
	const rows = new Map(timeline.rows.map((row) => [row.name, row]));
	const small = new Map<string, number>();
	for (const row of series?.series ?? []) {
		const name = nameOf(row, group, byLabel);
		if (!totals.has(name))
			small.set(name, (small.get(name) ?? 0) + row.total);
	}
	return [...totals, ...small].filter(([name, total]) => name !== '' && total > 0).map(([name, total]) => {
		const row = rows.get(name) ?? null;
		return { name, total, row, peak: row ? peakOf(timeline, type, ratesOf(timeline, row, type)) : 0 };
	});
}

const IN_ORDER: Record<Order, (a: Group, b: Group) => number> = {
	total: (a, b) => b.total - a.total || a.name.localeCompare(b.name),
	name: (a, b) => a.name.localeCompare(b.name),
	peak: (a, b) => b.peak - a.peak || b.total - a.total,
};

function Head({ order, label, class: name }: { order: Order; label: string; class?: string }) {
	const { link, go } = usePage();
	const isChosen = link.order === order;
	return <th class={name} aria-sort={isChosen ? (order === 'name' ? 'ascending' : 'descending') : 'none'}>
		<button type="button" class="quiet" name={`order-${order}`} onClick={() => go({ order }, false)}>
			{label}{isChosen ? (order === 'name' ? ' ↑' : ' ↓') : ''}</button></th>;
}

export function Groups({ timeline, series }: { timeline: TimelineAnswer; series: SeriesAnswer | null }) {
	const { link, go, theme, series: known, event } = usePage();
	const { group, byLabel, filters, find } = link;
	const keys = useMemo(() => keysOf(known), [known]);
	const [isAll, setAll] = useState(false);
	const words = text.overview;
	const groups = useMemo(() => groupsOf(series, timeline, group, byLabel, event), [series, timeline, group, byLabel, event]);
	const fitting = groups.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase()))
		.sort(IN_ORDER[link.order]);
	const shown = isAll ? fitting : fitting.slice(0, SHOWN);
	const rest = timeline.sum.total - groups.reduce((sum, { total }) => sum + total, 0);
	const colours = coloursOf(theme, byLabel || group, timeline.rows.map(({ name }) => name));
	const labelled = (name: string) => [...filters.labels.filter((label) => keyOf(label) !== byLabel), `${byLabel}=${name}`];
	const pick = (name: string) => go({ view: 'profile',
		filters: { ...filters, ...(byLabel ? { labels: labelled(name) } : { [group]: name }) } });

	return <section class="groups">
		<div class="row">
			<div class="segments" role="group" aria-label={words.group}>
				{GROUPINGS.map((name: Grouping) => <button type="button" key={name} name={`group-${name}`}
					aria-pressed={!byLabel && group === name} onClick={() => go({ group: name, byLabel: '' })}>{words.name[name]}</button>)}
			</div>
			{(keys.length > 0 || byLabel) && <label class="choice"><span>{words.label}</span>
				<select name="by-label" value={byLabel} onChange={(event) => go({ byLabel: event.currentTarget.value })}>
					<option value="">{text.ask.none}</option>
					{[...new Set([...keys, byLabel])].filter(Boolean).map((key) => <option key={key} value={key}>{safe(key)}</option>)}
				</select></label>}
			<input type="search" name="find" value={find} placeholder={words.find} aria-label={words.find} autocomplete="off"
				spellcheck={false} onInput={(event) => go({ find: event.currentTarget.value }, false)}
				onKeyDown={(event) => event.key === 'Enter' && fitting[0] && pick(fitting[0].name)} />
			<span class="hint" role="status">{words.rows(count(fitting.length), count(groups.length))}</span>
		</div>
		<div class="wide"><table class="rows">
			<thead><tr>
				<Head order="name" label={safe(byLabel) || words.name[group]} class="text" />
				<th>{words.average}</th>
				<Head order="peak" label={words.peak} class="less" />
				<th class="less">{words.total}</th>
				<Head order="total" label={words.share} class="share" />
				<th class="trend">{words.trend}</th>
			</tr></thead>
			<tbody>
				{shown.map((row) => <Row key={row.name} answer={timeline} of={row} colours={colours}
					onPick={() => pick(row.name)} />)}
				{!find && rest > 0 && <Row key="" answer={timeline} of={{ name: '', total: rest, row: null, peak: 0 }}
					colours={colours} />}
			</tbody>
		</table></div>
		{find !== '' && !fitting.length && <p class="hint">{words.noMatch}</p>}
		{shown.length < fitting.length && <button type="button" class="quiet" id="all-rows" onClick={() => setAll(true)}>
			{words.showAll(count(fitting.length))}</button>}
	</section>;
}

function Row({ answer, of, colours, onPick }: {
	answer: TimelineAnswer; of: Group; colours: NameColours; onPick?: () => void;
}) {
	const { event: type } = usePage();
	const { sum } = answer;
	const rates = of.row ? ratesOf(answer, of.row, type) : [];
	const peak = peakOf(answer, type, rates);
	const name = safe(of.name) || text.chart.others;
	const share = sum.total > 0 ? of.total / sum.total : 0;
	const { format } = rateOf(type);

	return <tr tabIndex={onPick ? 0 : undefined} class={onPick ? 'pick' : ''} title={onPick && text.overview.open(name)}
		onClick={onPick} onKeyDown={(event) => {
			if (event.key === 'Enter')
				onPick?.();
			else
				moveRow(event);
		}}>
		<td class="text"><i class="swatch" style={{ background: colours(of.name) }} />{name}</td>
		<td>{format(averageOf(answer, of.total, type))}</td>
		<td class="less">{rates.length > 0 && format(peak)}</td>
		<td class="less">{amountOf(type, sum.total)(of.total)}</td>
		<td class="share"><span class="bar" style={{ '--part': share }} />{percent(of.total, sum.total)}</td>
		<td class="trend">{rates.length > 0 && <Sparkline values={rates.map((rate) => Math.min(rate, peak))} most={peak} />}</td>
	</tr>;
}
