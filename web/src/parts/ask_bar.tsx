// SPDX-License-Identifier: Apache-2.0
// Which samples are looked at: event, host, service, version, labels, and the rarer filters.
import type { SeriesRow } from '../api/answers';
import { percent, safe } from '../format';
import { bysOf } from '../state/events';
import { type Filters, isFiltered, NO_LINK, type Shape } from '../state/link';
import { eventsOf, usePage } from '../state/page';
import { text } from '../text/text';
import { useKeys } from './keys';
import { Dropdown } from './menu';
import { type Item, Picker } from './picker';
import { ProcessChoice } from './process_choice';

/** "env=prod,zone=a" to its parts */
export function labelsOf(row: SeriesRow): string[] {
	return row.labels ? row.labels.split(',') : [];
}

/** All values of a column, the largest first, each with its share of all; and the chosen one even if it is none. */
export function itemsOf(series: SeriesRow[], pick: (row: SeriesRow) => string[], chosen = ''): Item[] {
	const totals = new Map<string, number>();
	let whole = 0;
	for (const row of series) {
		whole += row.total;
		for (const value of pick(row))
			totals.set(value, (totals.get(value) ?? 0) + row.total);
	}
	if (chosen && !totals.has(chosen))
		totals.set(chosen, 0);
	totals.delete('');
	return [...totals].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
		.map(([value, total]) => ({ value, note: percent(total, whole) }));
}

export const COLUMNS = ['host', 'service', 'version'] as const;
export type Column = typeof COLUMNS[number];
type Chosen = Record<Column, string>;

/** Host, service and version: of each, what there is of the other two. */
export function SeriesChoice({ prefix = '', chosen, onChange }: {
	prefix?: string; chosen: Chosen; onChange(part: Partial<Chosen>): void;
}) {
	const { series, isCut } = usePage();
	const fits = (row: SeriesRow, but: Column) =>
		COLUMNS.every((name) => name === but || !chosen[name] || row[name] === chosen[name]);
	return <>{COLUMNS.map((name) => {
		const items = itemsOf(series.filter((row) => fits(row, name)), (row) => [row[name]], chosen[name]);
		// one that is the same everywhere needs no choosing
		const isSame = series.every((row) => row[name] === series[0]![name]);
		return (!isSame || chosen[name]) && <Picker key={name} name={prefix + name} label={text.ask[name]}
			value={chosen[name]} items={items} isCut={isCut} all={text.ask.all}
			onChange={(value) => onChange({ [name]: value })} />;
	})}</>;
}

export function Chip({ label, onRemove }: { label: string; onRemove(): void }) {
	return <span class="chip">{safe(label)}
		<button type="button" aria-label={text.ask.removeLabel(safe(label))} onClick={onRemove}>×</button>
	</span>;
}

export function LabelChoice({ prefix = '', labels, onChange }: {
	prefix?: string; labels: string[]; onChange(labels: string[]): void;
}) {
	const { series, isCut } = usePage();
	const rest = itemsOf(series, labelsOf).filter(({ value }) => !labels.includes(value));
	return <>
		{rest.length > 0 && <Picker name={`${prefix}label`} label={text.ask.label} value="" items={rest}
			isCut={isCut} all={null} onChange={(label) => onChange([...labels, label])} />}
		{labels.map((label) => <Chip key={label} label={label}
			onRemove={() => onChange(labels.filter((other) => other !== label))} />)}
	</>;
}

type RareFilter = 'pid' | 'tid' | 'comm' | 'focus' | 'ignore' | 'leaks' | 'grown';
const RARE: RareFilter[] = ['focus', 'ignore', 'comm', 'pid', 'tid'];
/** Of a level, such as memory in use: what is held for long, and what has grown. */
const OF_LEVEL: RareFilter[] = ['leaks', 'grown'];
const NOT_OF_FLOW: Partial<Filters> = { leaks: '', grown: '' };

/** Typed ones are taken together, when the form is sent. */
function RareFilters({ filters, isLevel, onChange }: {
	filters: Filters; isLevel: boolean; onChange(change: Partial<Filters>): void;
}) {
	const names = isLevel ? [...OF_LEVEL, ...RARE] : RARE;
	const submit = (event: SubmitEvent) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget as HTMLFormElement);
		onChange(Object.fromEntries(names.map((name) => [name, String(form.get(name) ?? '').trim()])));
	};
	return <form class="form" onSubmit={submit}>
		{names.map((name) => <label key={name}>{text.ask[name]}
			<input name={name} defaultValue={filters[name]} autocomplete="off" spellcheck={false}
				inputMode={name === 'pid' || name === 'tid' ? 'numeric' : undefined} />
		</label>)}
		<button type="submit" class="primary">{text.ask.apply}</button>
	</form>;
}

const DETAILS = ['lines', 'inlines', 'native'] as const;

/** How stacks are merged or split. */
function ShapeChoice({ shape, onChange }: { shape: Shape; onChange(change: Partial<Shape>): void }) {
	const { event } = usePage();
	const chosen = DETAILS.filter((name) => shape[name]).map((name) => text.ask[name]);
	const label = text.ask.shape([text.ask.by[shape.by], ...chosen].join(', '));
	return <Dropdown name="shape" label={label} class={shape.by || chosen.length ? 'chosen' : ''}>{() =>
		<fieldset class="form">
			{bysOf(event).map((by) => <label key={by} class="tick">
				<input type="radio" name="by" value={by} checked={shape.by === by} onChange={() => onChange({ by })} />
				{text.ask.by[by]}
			</label>)}
			<hr />
			{DETAILS.map((name) => <label key={name} class="tick" title={text.ask[`${name}Hint`]}>
				<input type="checkbox" name={name} checked={shape[name]}
					onChange={() => onChange({ [name]: !shape[name] })} />
				{text.ask[name]} <span class="hint">{text.ask[`${name}Hint`]}</span>
			</label>)}
		</fieldset>
	}</Dropdown>;
}

/** hasEvent: what is shown depends on the event. */
export function AskBar({ title, hasShape, hasEvent = true }: { title?: string; hasShape?: boolean; hasEvent?: boolean }) {
	const { link, go, status, event } = usePage();
	const { filters, shape } = link;
	const isLevel = event.level;
	const change = (part: Partial<Filters>) => go({ filters: { ...filters, ...part } });
	const events = eventsOf(status, link);
	const chips: Record<RareFilter, (value: string) => string> = {
		focus: text.ask.focusChip, ignore: text.ask.ignoreChip, comm: text.ask.commChip,
		pid: text.ask.pidChip, tid: text.ask.tidChip, leaks: text.ask.leaksChip, grown: text.ask.grownChip,
	};

	useKeys({
		F: () => document.querySelector<HTMLElement>('.ask :is(select, .picker > button)')?.focus(),
		X: () => go({ filters: NO_LINK.filters }),
	});
	return <div class="ask">
		{title && <strong>{title}</strong>}
		{hasEvent && events.length > 1 && <label class="choice">
			<span>{text.ask.event}</span>
			<select name="event" value={link.event}
				onChange={({ currentTarget }) => go({
					event: currentTarget.value, filters: { ...filters, ...NOT_OF_FLOW },
				})}>
				{events.map(({ name, title, about }) =>
					<option key={name} value={name} title={safe(about)}>{safe(title)}</option>)}
			</select>
		</label>}
		<SeriesChoice chosen={filters} onChange={change} />
		<LabelChoice labels={filters.labels} onChange={(labels) => change({ labels })} />
		{[...OF_LEVEL, ...RARE].map((name) => filters[name] && <Chip key={name} label={chips[name](filters[name])}
			onRemove={() => change({ [name]: '' })} />)}
		<ProcessChoice />
		{hasShape && <ShapeChoice shape={shape} onChange={(part) => go({ shape: { ...shape, ...part } })} />}
		<Dropdown name="more-filters" label={text.ask.moreFilters}>
			{(close) => <RareFilters filters={filters} isLevel={isLevel} onChange={(part) => {
				close();
				change(part);
			}} />}
		</Dropdown>
		{isFiltered(filters) && <button type="button" id="clear" class="quiet"
			onClick={() => go({ filters: NO_LINK.filters })}>{text.ask.clear}</button>}
	</div>;
}
