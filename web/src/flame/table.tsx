// SPDX-License-Identifier: Apache-2.0
// The functions, with what was spent in them and below them. Only the rows in sight are on the page.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FunctionRow } from '../api/answers';
import { baseName, columnFormatOf, count, percent, points, relative } from '../format';
import { copyText } from '../parts/copy';
import { flameText as words } from '../text/flame';
import type { FunctionName, Sorting } from './contract';
import type { Test } from './pattern';
import { inWindow, rowsOf, share, shownRows, type Row } from './rows';

const ROW = 28; // pixels; flame.css has the same

interface TableProps {
	functions: FunctionRow[] | null;
	/** How many the search found, with those that are not listed; null: the listed ones that fit. */
	found: number | null;
	unit: string;
	whole: number;
	before: number; // of the other side, in its own unit
	isDiff: boolean;
	sort: Sorting;
	test: Test | null;
	/** The name that is searched for; '': none. */
	marked: string;
	isHidden: Test | null;
	onSort(sort: Sorting): void;
	onChoose(name: FunctionName): void;
	onHide(name: FunctionName): void;
	/** Null: there is none of what is shown. */
	onFocus: ((name: FunctionName) => void) | null;
	onSandwich: ((name: FunctionName) => void) | null;
}

const COLUMNS: Sorting[] = ['self', 'total', 'name'];
const DIFF_COLUMNS: Sorting[] = ['self', 'total', 'change', 'name'];

export function Table(props: TableProps) {
	const { functions, isDiff, sort, test, isHidden, whole, before } = props;
	const all = useMemo(() => functions && rowsOf(functions, whole, before), [functions, whole, before]);
	const rows = useMemo(() => shownRows(all ?? [], sort, test, isHidden), [all, sort, test, isHidden]);
	const format = columnFormatOf(props.unit, whole);
	const scroller = useRef<HTMLDivElement>(null);
	const [seen, setSeen] = useState({ top: 0, height: 800 });
	const [at, setAt] = useState(-1);
	const [from, to] = inWindow(rows.length, ROW, seen.top, seen.height);

	useLayoutEffect(() => {
		const box = scroller.current!;
		const look = () => setSeen({ top: box.scrollTop, height: box.clientHeight });
		const resizing = new ResizeObserver(look);
		resizing.observe(box);
		box.addEventListener('scroll', look, { passive: true });
		return () => {
			resizing.disconnect();
			box.removeEventListener('scroll', look);
		};
	}, []);
	useLayoutEffect(() => {
		setAt(-1);
		if (seen.top > 0) // to set what is so already would cost a layout of the page
			scroller.current!.scrollTop = 0;
	}, [rows]);

	function go(row: number): void {
		const box = scroller.current!;
		const target = Math.min(Math.max(row, 0), rows.length - 1);

		setAt(target);
		if (target * ROW < box.scrollTop)
			box.scrollTop = target * ROW;
		else if ((target + 2) * ROW > box.scrollTop + box.clientHeight) // below the head
			box.scrollTop = (target + 2) * ROW - box.clientHeight;
	}

	function onKey(event: KeyboardEvent): void {
		const page = Math.max(Math.floor(seen.height / ROW) - 2, 1);
		const steps: Record<string, () => void> = {
			ArrowDown: () => go(at + 1),
			ArrowUp: () => go(at - 1),
			PageDown: () => go(at + page),
			PageUp: () => go(at - page),
			Home: () => go(0),
			End: () => go(rows.length - 1),
			...(rows[at] && {
				Enter: () => props.onChoose(rows[at]!.of),
				s: () => props.onSandwich?.(rows[at]!.of),
				f: () => props.onFocus?.(rows[at]!.of),
				h: () => props.onHide(rows[at]!.of),
				c: () => void copyText(rows[at]!.name),
			}),
		};
		if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(steps, event.key))
			return;
		if (event.target !== scroller.current && event.key === 'Enter')
			return; // a button's
		event.preventDefault();
		steps[event.key]!();
	}

	return <>
		<div class={`flame-table${isDiff ? ' flame-table-diff' : ''}`} ref={scroller} role="grid" tabIndex={0}
			aria-label={words.functions} aria-rowcount={rows.length + 1} onKeyDown={onKey}
			aria-activedescendant={at >= from && at < to ? `flame-row-${at}` : undefined}>
			<div class="flame-head" role="row" aria-rowindex={1}>
				{(isDiff ? DIFF_COLUMNS : COLUMNS).map((column) => (
					<div key={column} class={`flame-${column}`} role="columnheader"
						aria-sort={column !== sort ? 'none' : column === 'name' ? 'ascending' : 'descending'}>
						<button onClick={() => props.onSort(column)}>{words.columns[column]}</button>
					</div>
				))}
			</div>
			<div class="flame-rows" style={{ height: `${rows.length * ROW}px` }} role="presentation">
				<div style={{ transform: `translateY(${from * ROW}px)` }} role="presentation">
					{rows.slice(from, to).map((row, i) =>
						<TableRow key={from + i} {...props} format={format} row={row} index={from + i} isAt={from + i === at}
							onAt={() => setAt(from + i)} />)}
				</div>
			</div>
			{props.found !== null && rows.length > 0 && props.found > rows.length && <p class="flame-none" role="row">
				<span role="gridcell">{words.moreFunctions(count(props.found - rows.length))}</span></p>}
			{!rows.length && <p class="flame-none" role="row"><span role="gridcell">
				{functions ? words.noFunctions : words.loading}</span></p>}
		</div>
		<span class="flame-spoken" role="status">{test ? words.functionsFound(count(props.found ?? rows.length)) : ''}</span>
	</>;
}

interface TableRowProps extends TableProps {
	format(value: number): string;
	row: Row;
	index: number;
	isAt: boolean;
	onAt(): void;
}

function TableRow(props: TableRowProps) {
	const { row, index, isAt, onAt, format, whole, before, isDiff, onChoose, onSandwich } = props;
	const isMarked = props.marked !== '' && props.marked === row.name;
	const name = row.name || words.unnamed;

	return (
		<div class={`flame-row${isAt ? ' flame-at' : ''}${isMarked ? ' flame-marked' : ''}`} id={`flame-row-${index}`} role="row"
			aria-rowindex={index + 2} aria-selected={isMarked} onClick={() => {
				onAt();
				onChoose(row.of);
			}}>
			<Amount kind="self" value={format(row.self)} part={row.self} whole={whole}
				before={isDiff ? percent(row.beforeSelf, before) : ''} />
			<Amount kind="total" value={format(row.total)} part={row.total} whole={whole}
				before={isDiff ? percent(row.beforeTotal, before) : ''} />
			{isDiff && <div class={`flame-change ${row.change > 0 ? 'flame-grew' : 'flame-shrank'}`}
				role="gridcell">{points(row.change)}{' '}
				<small>{relative(share(row.beforeTotal, before), share(row.total, whole), 0)}</small></div>}
			<div class="flame-name" role="gridcell" title={`${name.slice(0, 500)}\n${row.image}\n${row.place}`}>
				<bdi>{name.slice(0, 300)}</bdi>
				<small>{baseName(row.image)}</small>
				{onSandwich && <button class="flame-open" title={words.sandwichHint} aria-label={words.sandwich} tabIndex={-1}
					onClick={(event) => {
						event.stopPropagation();
						onSandwich(row.of);
					}}>{'\u21c5'}</button>}
			</div>
		</div>
	);
}

/** A value, its share as a number and as a bar; in a comparison the share before as well. */
function Amount({ kind, value, part, whole, before }: {
	kind: 'self' | 'total'; value: string; part: number; whole: number; before: string;
}) {
	const width = whole > 0 ? Math.min(part / whole, 1) * 100 : 0;
	return (
		<div class={`flame-${kind}`} role="gridcell">
			<i style={{ width: `${width}%` }} />
			<span class="flame-value">{value}</span>
			<span class="flame-part">{before && <s title={words.before}>{before}</s>}{percent(part, whole)}</span>
		</div>
	);
}
