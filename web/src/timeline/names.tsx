// SPDX-License-Identifier: Apache-2.0
// The names beside the lanes: of those in sight alone, as there may be thousands.
import { count, percent, safe } from '../format';
import { timelineText as words } from '../text/timeline';
import { type CpuRow, type DeviceRow, isOfCpus, isOfDevices, type Row, type ThreadRow } from './lanes';
import { ROW } from './sizes';

export interface NameActions {
	fold(process: string): void;
	pin(lane: string): void;
	hide(key: string): void;
	choose(lane: string): void;
}

export function Names({ rows, first, offset, chosen, folded, actions }: {
	rows: Row[]; first: number; offset: number; chosen: string; folded: readonly string[]; actions: NameActions;
}) {
	return <ol class="tl-names" style={{ transform: `translateY(${-offset}px)` }} start={first + 1}>
		{rows.map((row) => <li key={row.key} style={{ height: `${ROW}px` }} data-lane={row.kind === 'lane' ? row.lane.key : undefined}
			class={classOf(row, chosen)}>
			{isOfCpus(row) ? <CpuName row={row} actions={actions} /> :
				isOfDevices(row) ? <StreamName row={row} isChosen={row.key === chosen} actions={actions} /> :
				row.kind === 'pack' ? <PackName row={row} /> :
				row.kind === 'process' ? <ProcessName row={row} isFolded={folded.includes(row.key)} actions={actions} /> :
				<LaneName row={row} isChosen={row.lane.key === chosen} actions={actions} />}
		</li>)}
	</ol>;
}

function classOf(row: Row, chosen: string): string {
	if (row.kind === 'lane')
		return row.lane.key === chosen ? 'lane picked' : 'lane';
	if (row.kind === 'stream' && row.key === chosen)
		return 'stream picked';
	return row.kind === 'cpu' || row.kind === 'stream' || row.kind === 'pack' ? row.kind : 'process';
}

function CpuName({ row, actions }: { row: CpuRow; actions: NameActions }) {
	if (row.kind === 'cpu')
		return <span class="name">{words.cpu(String(row.cpu))}</span>;
	return <>
		<button type="button" class="quiet fold" aria-expanded={!row.isFolded} aria-label={words.foldCpus}
			onClick={() => actions.fold(row.key)}>{row.isFolded ? '\u25b8' : '\u25be'}</button>
		<span class="name"><b>{words.cpus}</b> <span class="hint">{row.count}</span></span>
	</>;
}

/** How long the stream was busy says the whole time, not what is in sight. */
function StreamName({ row, isChosen, actions }: { row: DeviceRow; isChosen: boolean; actions: NameActions }) {
	if (!row.stream)
		return <>
			<button type="button" class="quiet fold" aria-expanded={!row.isFolded} aria-label={words.foldDevices}
				onClick={() => actions.fold(row.key)}>{row.isFolded ? '\u25b8' : '\u25be'}</button>
			<span class="name"><b>{words.devices}</b> <span class="hint">{row.count}</span></span>
		</>;
	const { pid, process, device, stream, ns } = row.stream;
	const all = ns.kernels + ns.copies + ns.idle + ns.unknown, part = (spent: number) => percent(spent, all);
	return <button type="button" tabIndex={isChosen ? 0 : -1} class="quiet name" onClick={() => actions.choose(row.key)}
		title={words.streamParts(`${safe(process)} ${pid}`, part(ns.kernels), part(ns.copies), part(ns.idle), part(ns.unknown))}>
		{words.stream(device, stream)} <span class="hint">{part(ns.kernels + ns.copies)}</span></button>;
}

function ProcessName({ row, isFolded, actions }: { row: ThreadRow; isFolded: boolean; actions: NameActions }) {
	const { pid, process, command, service, goroutine, kind, not_linked } = row.lane.row;
	const kinds: Record<string, [string, (process: string) => string]> = {
		goroutine: [words.goroutines, words.goroutinesOf],
		task: [words.tasks, words.tasksOf],
		'virtual thread': [words.virtualThreads, words.virtualThreadsOf],
	};
	const [title, titleOf] = kinds[kind] ?? [safe(service || process), String];
	const name = titleOf(safe(process));
	const own = service && service !== process ? `${safe(process)} ` : '';
	const about = row.processes ? own + words.processes(count(row.processes)) : goroutine ? row.threads : own + pid;
	return <>
		<button type="button" class="quiet fold" aria-expanded={!isFolded} aria-label={words.fold(name)}
			onClick={() => actions.fold(row.key)}>{isFolded ? '\u25b8' : '\u25be'}</button>
		<span class="name" title={goroutine ? name : safe(command || process)}><b>{title}</b>
			{' '}<span class="hint">{about}</span>
			{not_linked.length > 0 && <span class="hint not-linked" title={words.notLinkedWhy(safe(not_linked.join(', ')))}> {words.notLinked}</span>}</span>
		<button type="button" class="quiet act" title={words.hide(name)} aria-label={words.hide(name)}
			onClick={() => actions.hide(row.key)}>×</button>
	</>;
}

/** Several threads: of one name, if they have one. */
function PackName({ row }: { row: ThreadRow }) {
	const { comm, process } = row.lane.row;
	const name = row.lanes.every((lane) => lane.row.comm === comm) ? comm : process;
	return <span class="name" title={words.sharedHint}>{safe(name)} <span class="hint">{words.packOf(count(row.lanes.length))}</span></span>;
}

/** Of thousands, those that Tab stops at are of the chosen one: the arrow keys choose. */
function LaneName({ row, isChosen, actions }: { row: ThreadRow; isChosen: boolean; actions: NameActions }) {
	const { tid, comm, goroutine } = row.lane.row;
	const name = goroutine ? safe(comm) : `${safe(comm)} ${tid}`;
	return <>
		<button type="button" tabIndex={isChosen ? 0 : -1} class="quiet name" title={goroutine ? name : `${safe(comm)}, ${words.thread(String(tid))}`}
			onClick={() => actions.choose(row.lane.key)}>{safe(comm)} {!goroutine && <span class="hint">{tid}</span>}</button>
		<button type="button" tabIndex={isChosen ? 0 : -1} class="quiet act" aria-pressed={row.isPinned} title={row.isPinned ? words.unpin(name) : words.pin(name)}
			aria-label={row.isPinned ? words.unpin(name) : words.pin(name)} onClick={() => actions.pin(row.lane.key)}>
			{row.isPinned ? '\u25c6' : '\u25c7'}</button>
		<button type="button" tabIndex={isChosen ? 0 : -1} class="quiet act" title={words.hide(name)} aria-label={words.hide(name)}
			onClick={() => actions.hide(row.lane.key)}>×</button>
	</>;
}
