// SPDX-License-Identifier: Apache-2.0
// Processes that ran, by name, each with its threads, to choose one of them. Asked for when it is opened.
import { useState } from 'preact/hooks';
import type { ProcessesAnswer, ProcessRow } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, percent, safe } from '../format';
import type { Filters } from '../state/link';
import { usePage } from '../state/page';
import { text } from '../text/text';
import { Dropdown } from './menu';
import { Answers } from './notice';

const LISTED = 1000;
const SHOWN = 100; // rows

type Change = Pick<Filters, 'pid' | 'tid' | 'comm'> & Partial<Filters>;

/** Processes that have the same name. */
interface Group {
	comm: string;
	total: number;
	processes: ProcessRow[];
}

function groupsOf(processes: ProcessRow[], wanted: string): Group[] {
	const groups = new Map<string, Group>();
	const needle = wanted.toLowerCase();
	for (const process of processes) {
		const words = `${process.comm} ${process.pid} ${process.command} ${process.service} ${process.host}`;
		if (!words.toLowerCase().includes(needle))
			continue;
		const group = groups.get(process.comm) ?? { comm: process.comm, total: 0, processes: [] };
		groups.set(process.comm, group);
		group.total += process.total;
		group.processes.push(process);
	}
	return [...groups.values()].sort((a, b) => b.total - a.total);
}

/** A glob for exactly this name. */
function globOf(comm: string): string {
	return comm.replace(/[\\*?[\]]/g, '\\$&');
}

function Row({ name, note, title, share, depth, isOpen, onOpen, onPick }: {
	name: string; note: string; title?: string; share: string; depth: number;
	/** null: there is nothing below it */
	isOpen: boolean | null;
	onOpen(): void;
	onPick(): void;
}) {
	return <li style={{ '--depth': depth }}>
		{isOpen === null ? <span class="fold" /> :
			<button type="button" class="quiet fold" aria-expanded={isOpen} aria-label={text.processes.open(name)}
				onClick={onOpen}>{isOpen ? '\u25be' : '\u25b8'}</button>}
		<button type="button" class="quiet pick" title={title} onClick={onPick}>
			<b>{name}</b> <span class="hint">{note}</span></button>
		<span class="share">{share}</span>
	</li>;
}

function List({ answer, wanted, onPick }: {
	answer: ProcessesAnswer; wanted: string; onPick(change: Change): void;
}) {
	const { series } = usePage();
	const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
	const words = text.processes;
	const groups = groupsOf(answer.processes, wanted);
	const hasHosts = new Set(series.map(({ host }) => host)).size > 1;
	const share = (total: number) => percent(total, answer.sum.total);
	const toggle = (key: string) => {
		const next = new Set(open);
		if (!next.delete(key))
			next.add(key);
		setOpen(next);
	};
	const rows = [];

	const addProcess = (process: ProcessRow, depth: number) => {
		const { pid, host, threads } = process;
		const key = `${host} ${pid} ${process.command}`;
		const isOpen = threads.length > 1 ? open.has(key) : null;
		// numbers of processes are those of a host
		const where = hasHosts ? { host } : {};
		rows.push(<Row key={`p ${key}`} name={safe(process.comm) || text.flame.unnamed} depth={depth} isOpen={isOpen}
			note={[String(pid), hasHosts && safe(host), threads.length > 1 && words.threads(count(threads.length))]
				.filter(Boolean).join(' \u00b7 ')}
			title={safe(process.command).slice(0, 500)} share={share(process.total)} onOpen={() => toggle(key)}
			onPick={() => onPick({ pid: String(pid), tid: '', comm: '', ...where })} />);
		if (isOpen)
			threads.forEach(({ tid, comm, total }) => rows.push(<Row key={`t ${key} ${tid}`} depth={depth + 1}
				name={safe(comm) || text.flame.unnamed} note={words.thread(String(tid))} share={share(total)}
				isOpen={null} onOpen={() => {}}
				onPick={() => onPick({ pid: String(pid), tid: String(tid), comm: '', ...where })} />));
	};
	for (const group of groups.slice(0, SHOWN)) {
		const { comm, processes } = group;
		if (processes.length === 1) {
			addProcess(processes[0]!, 0);
			continue;
		}
		const isOpen = open.has(`c ${comm}`);
		rows.push(<Row key={`c ${comm}`} name={safe(comm) || text.flame.unnamed} depth={0} isOpen={isOpen}
			note={words.processes(count(processes.length))} share={share(group.total)}
			onOpen={() => toggle(`c ${comm}`)}
			onPick={() => onPick({ pid: '', tid: '', comm: globOf(comm) })} />);
		if (isOpen)
			processes.slice(0, SHOWN).forEach((process) => addProcess(process, 1));
	}
	return <>
		<ul class="processes">{rows}</ul>
		{!groups.length && <p class="hint">{words.none}</p>}
		{answer.others > 0 && <p class="hint">{words.others(share(answer.others))}</p>}
	</>;
}

function Panel({ onPick }: { onPick(change: Change): void }) {
	const { link, range } = usePage();
	const [wanted, setWanted] = useState('');
	const asked = useAnswer<ProcessesAnswer>('processes',
		askOf(link.event, range, { ...link.filters, pid: '', tid: '', comm: '' }, { limit: LISTED }));

	return <div class="process-panel">
		<input type="search" name="process-search" aria-label={text.processes.search} placeholder={text.processes.search}
			value={wanted} autocomplete="off" spellcheck={false}
			onInput={(event) => setWanted(event.currentTarget.value)} />
		<Answers asked={[asked]}>
			{asked.answer && asked.answer.sum.films_unread > 0 &&
				<p class="hint">{text.details.unread(count(asked.answer.sum.films_unread))}</p>}
			{asked.answer && <List answer={asked.answer} wanted={wanted} onPick={onPick} />}
		</Answers>
	</div>;
}

export function ProcessChoice() {
	const { link, go } = usePage();
	const { filters } = link;

	return <Dropdown name="processes" label={text.processes.title}
		class={filters.pid || filters.tid || filters.comm ? 'chosen' : ''}>
		{(close) => <Panel onPick={(change) => {
			close();
			go({ filters: { ...filters, ...change } });
		}} />}
	</Dropdown>;
}
