// SPDX-License-Identifier: Apache-2.0
// A choice among hundreds: typed to find one, the largest first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, safe } from '../format';
import { text } from '../text/text';
import { Dropdown } from './menu';

/** What can be chosen; '' is all. */
export interface Item {
	value: string;
	/** "12.3%" */
	note: string;
}

const SHOWN = 100; // rows
const COMBOBOX = { type: 'search', role: 'combobox' } as object; // which the types know only with a <datalist>

interface PickerProps {
	name: string;
	label: string;
	value: string;
	items: Item[];
	/** There may be more than those. */
	isCut: boolean;
	/** What the button says where nothing is chosen, and what the row of '' says; null: there is no such row. */
	all: string | null;
	onChange(value: string): void;
}

/** Those with all of the typed words in their names, in the order in which they came. */
export function found(items: Item[], typed: string): Item[] {
	const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
	return items.filter(({ value }) => words.every((word) => value.toLowerCase().includes(word)));
}

function List({ name, label, value, items, isCut, all, onPick }: Omit<PickerProps, 'onChange'> & {
	onPick(value: string): void;
}) {
	const [typed, setTyped] = useState('');
	const [at, setAt] = useState(-1);
	const list = useRef<HTMLUListElement>(null);
	const fitting = found(items, typed);
	const rows = [...(all !== null && !typed ? [{ value: '', note: '' }] : []), ...fitting.slice(0, SHOWN)];
	const chosen = rows.findIndex((row) => row.value === value);
	const active = Math.min(at >= 0 ? at : typed ? 0 : Math.max(chosen, 0), rows.length - 1);
	const left = fitting.length - SHOWN;

	useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }), [active, typed]);
	const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
	const onKey = (event: KeyboardEvent) => {
		if (event.isComposing)
			return;
		if (event.key === 'Enter' && rows[active])
			onPick(rows[active]!.value);
		else if (steps[event.key])
			setAt(Math.min(Math.max(active + steps[event.key]!, 0), rows.length - 1));
		else
			return;
		event.preventDefault();
	};
	return <div class="picker-list">
		<input {...COMBOBOX} name={`find-${name}`} value={typed} placeholder={text.ask.find(label)} autocomplete="off"
			spellcheck={false} aria-label={text.ask.find(label)} aria-expanded aria-autocomplete="list"
			aria-controls={`${name}-options`} aria-activedescendant={active >= 0 ? `${name}-option-${active}` : undefined}
			onKeyDown={onKey} onInput={(event) => {
				setTyped(event.currentTarget.value);
				setAt(-1);
			}} />
		<ul role="listbox" id={`${name}-options`} aria-label={label} ref={list}>
			{rows.map((row, i) => <li key={row.value} role="option" id={`${name}-option-${i}`} data-value={row.value}
				aria-selected={row.value === value} class={i === active ? 'active' : ''} onClick={() => onPick(row.value)}>
				<span>{row.value === '' ? all : safe(row.value)}</span> <small>{row.note}</small></li>)}
		</ul>
		{!rows.length && <p class="hint" role="status">{text.ask.noMatch}</p>}
		{left > 0 && <p class="hint">{text.ask.more(count(left))}</p>}
		{isCut && <p class="hint">{text.ask.cut}</p>}
	</div>;
}

export function Picker({ name, label, value, items, isCut, all, onChange }: PickerProps) {
	const shown = value ? safe(value) : all ?? text.ask.addLabel;
	return <Dropdown name={`pick-${name}`} class={value ? 'picker chosen' : 'picker'} title={`${label}: ${shown}`}
		label={<><span class="what">{label}</span><span class="value">{shown}</span></>}>
		{(close) => <List name={name} label={label} value={value} items={items} isCut={isCut} all={all} onPick={(next) => {
			close();
			onChange(next);
		}} />}
	</Dropdown>;
}
