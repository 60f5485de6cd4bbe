// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline: threads below their processes, in the order that was chosen.
import type { Filters } from '../state/link';
import type { LaneRow } from './answers';
import { familyOf } from './classes';
import type { LaneKey } from './tiles';

export const LANE_ORDERS = ['busy', 'name', 'tid', 'waiting', 'ready', 'slices'] as const;
export type LaneOrder = typeof LANE_ORDERS[number];

/** Filters of stacks have no meaning where whole threads are drawn. */
export function ofThreads(filters: Filters): Filters {
	return { ...filters, focus: '', ignore: '' };
}

export interface Lane {
	key: LaneKey;
	row: LaneRow;
}

export interface ThreadRow {
	/** a process, or one of its threads */
	kind: 'process' | 'lane';
	key: string;
	/** the lane, or the first one of the process */
	lane: Lane;
	/** of a process: how many of its threads are shown below, or would be */
	threads: number;
	isPinned: boolean;
}

export interface CpuRow {
	/** all CPUs, or one of them */
	kind: 'cpus' | 'cpu';
	key: string;
	cpu: number;
	/** of all: how many there are */
	count: number;
	isFolded: boolean;
}

export type Row = ThreadRow | CpuRow;

export function isOfCpus(row: Row): row is CpuRow {
	return row.kind === 'cpus' || row.kind === 'cpu';
}

/** Of a row that has slices: what its lane is known by. */
export function laneOf(row: Row): LaneKey | null {
	return row.kind === 'lane' ? row.lane.key : row.kind === 'cpu' ? row.key : null;
}

/** What a reader chose. */
export interface Chosen {
	order: LaneOrder;
	find: string;
	/** keys of lanes, in the order in which they were pinned */
	pinned: readonly string[];
	/** keys of lanes, and of processes: "pid" */
	hidden: readonly string[];
	/** processes whose threads are folded */
	folded: readonly string[];
}

/** A goroutine may have the number of a thread. */
export function laneKey({ pid, tid, goroutine }: { pid: number; tid: number; goroutine?: boolean }): LaneKey {
	return goroutine ? `${pid}.g${tid}` : `${pid}.${tid}`;
}

/** Of a process, or of its goroutines, which are a group of their own below its threads. */
export function processKey({ pid, goroutine }: { pid: number; goroutine?: boolean }): string {
	return goroutine ? `${pid}.g` : String(pid);
}

function spentIn(row: LaneRow, classes: readonly string[], families: readonly string[]): number {
	return row.ns.reduce((sum, ns, i) => (families.includes(familyOf(classes[i] ?? '')) ? sum + ns : sum), 0);
}

/** The larger, the earlier. */
function weightOf(row: LaneRow, classes: readonly string[], order: LaneOrder): number {
	switch (order) {
	case 'busy': return spentIn(row, classes, ['run']);
	case 'ready': return spentIn(row, classes, ['ready']);
	case 'waiting': return spentIn(row, classes, ['lock', 'storage', 'network', 'ipc', 'other']);
	case 'slices': return row.slices.reduce((sum, count) => sum + count, 0);
	default: return 0;
	}
}

function isFound({ row }: Lane, find: string): boolean {
	const text = find.trim().toLowerCase();
	return !text || [row.comm, row.process, row.command].some((name) => name.toLowerCase().includes(text)) ||
		String(row.tid) === text || String(row.pid) === text;
}

interface Process {
	key: string;
	lanes: Lane[];
	weight: number;
}

/** All rows: first what is pinned, then the processes with their threads. */
export function rowsOf(rows: readonly LaneRow[], classes: readonly string[], chosen: Chosen): ThreadRow[] {
	const lanes = rows.map((row) => ({ key: laneKey(row), row }));
	const weights = new Map(lanes.map(({ key, row }) => [key, weightOf(row, classes, chosen.order)]));
	const compare = (a: Lane, b: Lane) => weights.get(b.key)! - weights.get(a.key)! ||
		(chosen.order === 'name' ? a.row.comm.localeCompare(b.row.comm) : 0) || a.row.tid - b.row.tid;
	const shown = lanes.filter((lane) => !chosen.hidden.includes(lane.key) &&
		!chosen.hidden.includes(processKey(lane.row)) && isFound(lane, chosen.find));
	const processes = new Map<string, Process>();
	for (const lane of shown) {
		const key = processKey(lane.row);
		const process = processes.get(key) ?? { key, lanes: [], weight: 0 };
		process.lanes.push(lane);
		process.weight += weights.get(lane.key)!;
		processes.set(key, process);
	}
	const pinned = chosen.pinned.map((key) => lanes.find((lane) => lane.key === key)).filter((lane) => !!lane);
	const ofThreads = [...processes.values()].filter(({ lanes: own }) =>
		!own[0]!.row.goroutine || !processes.has(processKey({ pid: own[0]!.row.pid })));
	const inOrder = ofThreads.sort((a, b) => b.weight - a.weight ||
		(chosen.order === 'name' ? nameOf(a).localeCompare(nameOf(b)) : 0) || a.lanes[0]!.row.pid - b.lanes[0]!.row.pid);
	return [
		...pinned.map((lane): ThreadRow => ({ kind: 'lane', key: `pinned ${lane.key}`, lane, threads: 0, isPinned: true })),
		...inOrder.flatMap((process): ThreadRow[] => {
			const goroutines = processes.get(processKey({ ...process.lanes[0]!.row, goroutine: true }));
			return [...rowsOfGroup(process), ...(goroutines && goroutines !== process ? rowsOfGroup(goroutines) : [])];
		}),
	];

	function rowsOfGroup({ key, lanes: own }: Process): ThreadRow[] {
		return [
			{ kind: 'process', key, lane: own[0]!, threads: own.length, isPinned: false },
			...(chosen.folded.includes(key) ? [] : own.sort(compare).map((lane): ThreadRow =>
				({ kind: 'lane', key: lane.key, lane, threads: 0, isPinned: chosen.pinned.includes(lane.key) }))),
		];
	}
}

function nameOf({ lanes }: Process): string {
	return lanes[0]!.row.process;
}
