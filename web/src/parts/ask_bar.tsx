// SPDX-License-Identifier: Apache-2.0
// Which samples are looked at: event, host, service, version, labels, and the rarer filters.
import type { SeriesRow } from '../api/answers';
import { safe } from '../format';
import { BYS, type Filters, NO_LINK, type Shape } from '../state/link';
import { eventsOf, usePage } from '../state/page';
import { text } from '../text/text';
import { useKeys } from './keys';
import { Dropdown } from './menu';
import { ProcessChoice } from './process_choice';

/** All values of a column, and the chosen one even if it is none of them. */
export function choicesOf(series: SeriesRow[], pick: (row: SeriesRow) => string[], chosen = ''): string[] {
	const values = new Set(series.flatMap(pick));
	if (chosen)
		values.add(chosen);
	values.delete('');
	return [...values].sort((a, b) => a.localeCompare(b));
}

/** "env=prod,zone=a" to its parts */
export function labelsOf(row: SeriesRow): string[] {
	return row.labels ? row.labels.split(',') : [];
}

export function Choice({ name, label, value, choices, onChange }: {
	name: string; label: string; value: string; choices: string[]; onChange(value: string): void;
}) {
	// one that is the same everywhere needs no choosing
	if (choices.length < 2 && !value)
		return null;
	return <label class={value ? 'choice chosen' : 'choice'}>
		<span>{label}</span>
		<select name={name} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
			<option value="">{text.ask.all}</option>
			{choices.map((choice) => <option key={choice} value={choice}>{safe(choice)}</option>)}
		</select>
	</label>;
}

function Chip({ label, onRemove }: { label: string; onRemove(): void }) {
	return <span class="chip">{safe(label)}
		<button type="button" aria-label={text.ask.removeLabel(safe(label))} onClick={onRemove}>×</button>
	</span>;
}

export function LabelChoice({ series, labels, onChange }: {
	series: SeriesRow[]; labels: string[]; onChange(labels: string[]): void;
}) {
	const rest = choicesOf(series, labelsOf).filter((label) => !labels.includes(label));
	return <>
		{rest.length > 0 && <label class="choice">
			<span>{text.ask.label}</span>
			<select name="label" value="" onChange={(event) => {
				onChange([...labels, event.currentTarget.value]);
				event.currentTarget.value = '';
			}}>
				<option value="">{labels.length ? text.ask.addLabel : text.ask.all}</option>
				{rest.map((label) => <option key={label} value={label}>{safe(label)}</option>)}
			</select>
		</label>}
		{labels.map((label) => <Chip key={label} label={label}
			onRemove={() => onChange(labels.filter((other) => other !== label))} />)}
	</>;
}

type RareFilter = 'pid' | 'tid' | 'comm' | 'focus' | 'ignore';
const RARE: RareFilter[] = ['focus', 'ignore', 'comm', 'pid', 'tid'];

/** Typed ones are taken together, when the form is sent. */
function RareFilters({ filters, onChange }: { filters: Filters; onChange(change: Partial<Filters>): void }) {
	const submit = (event: SubmitEvent) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget as HTMLFormElement);
		onChange(Object.fromEntries(RARE.map((name) => [name, String(form.get(name) ?? '').trim()])));
	};
	return <form class="form" onSubmit={submit}>
		{RARE.map((name) => <label key={name}>{text.ask[name]}
			<input name={name} defaultValue={filters[name]} autocomplete="off" spellcheck={false}
				inputMode={name === 'pid' || name === 'tid' ? 'numeric' : undefined} />
		</label>)}
		<button type="submit" class="primary">{text.ask.apply}</button>
	</form>;
}

const DETAILS = ['lines', 'inlines', 'native'] as const;

/** How stacks are merged or split. */
function ShapeChoice({ shape, onChange }: { shape: Shape; onChange(change: Partial<Shape>): void }) {
	const chosen = DETAILS.filter((name) => shape[name]).map((name) => text.ask[name]);
	const label = text.ask.shape([text.ask.by[shape.by], ...chosen].join(', '));
	return <Dropdown name="shape" label={label} class={shape.by || chosen.length ? 'chosen' : ''}>{() =>
		<fieldset class="form">
			{BYS.map((by) => <label key={by} class="tick">
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

export function AskBar({ title, hasShape }: { title?: string; hasShape?: boolean }) {
	const { link, go, series, status } = usePage();
	const { filters, shape } = link;
	const change = (part: Partial<Filters>) => go({ filters: { ...filters, ...part } });
	const events = eventsOf(status, link);
	const isFiltered = JSON.stringify(filters) !== JSON.stringify(NO_LINK.filters);
	const chips: Record<RareFilter, (value: string) => string> = {
		focus: text.ask.focusChip, ignore: text.ask.ignoreChip, comm: text.ask.commChip,
		pid: text.ask.pidChip, tid: text.ask.tidChip,
	};

	useKeys({
		F: () => document.querySelector<HTMLElement>('.ask select')?.focus(),
		X: () => go({ filters: NO_LINK.filters }),
	});
	return <div class="ask">
		{title && <strong>{title}</strong>}
		{events.length > 1 && <label class="choice">
			<span>{text.ask.event}</span>
			<select name="event" value={link.event}
				onChange={(event) => go({ event: event.currentTarget.value })}>
				{events.map(({ name, title, about }) =>
					<option key={name} value={name} title={safe(about)}>{safe(title)}</option>)}
			</select>
		</label>}
		{(['host', 'service', 'version'] as const).map((name) => <Choice key={name} name={name}
			label={text.ask[name]} value={filters[name]}
			choices={choicesOf(series, (row) => [row[name]], filters[name])}
			onChange={(value) => change({ [name]: value })} />)}
		<LabelChoice series={series} labels={filters.labels} onChange={(labels) => change({ labels })} />
		{RARE.map((name) => filters[name] && <Chip key={name} label={chips[name](filters[name])}
			onRemove={() => change({ [name]: '' })} />)}
		<ProcessChoice />
		{hasShape && <ShapeChoice shape={shape} onChange={(part) => go({ shape: { ...shape, ...part } })} />}
		<Dropdown name="more-filters" label={text.ask.more}>
			{(close) => <RareFilters filters={filters} onChange={(part) => {
				close();
				change(part);
			}} />}
		</Dropdown>
		{isFiltered && <button type="button" id="clear" class="quiet"
			onClick={() => go({ filters: NO_LINK.filters })}>{text.ask.clear}</button>}
	</div>;
}
