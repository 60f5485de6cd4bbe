// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline: threads below their processes, in the order that was chosen.
import type { Filters } from '../state/link';
import type { LaneRow, StreamRow } from './answers';
import { familyOf } from './classes';
import { isShort, laneRow, packed } from './packs';
import { findsLane, queryOf } from './query';
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
	/** a process, one of its threads, or several that live one after the other */
	kind: 'process' | 'lane' | 'pack';
	key: string;
	/** the lane, or the first one of the process, or of the pack */
	lane: Lane;
	/** of a pack: its lanes in the order of their time */
	lanes: readonly Lane[];
	/** of a process: how many of its threads are shown below, or would be */
	threads: number;
	/** of short processes of one name, which are shown as one: how many there are; else 0 */
	processes: number;
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

export interface DeviceRow {
	/** all streams of devices, or one of them */
	kind: 'devices' | 'stream';
	key: string;
	/** null: of all */
	stream: StreamRow | null;
	/** of all: how many there are */
	count: number;
	isFolded: boolean;
}

export type Row = ThreadRow | CpuRow | DeviceRow;

export function isOfCpus(row: Row): row is CpuRow {
	return row.kind === 'cpus' || row.kind === 'cpu';
}

export function isOfDevices(row: Row): row is DeviceRow {
	return row.kind === 'devices' || row.kind === 'stream';
}

/** Of a row beside those of threads: which tiles and look it has. */
export function besideOf(row: Row): 'cpu' | 'stream' | null {
	return row.kind === 'cpu' || row.kind === 'stream' ? row.kind : null;
}

/** Of a row that has slices: what its lane, or its pack, is known by. */
export function laneOf(row: Row): LaneKey | null {
	return row.kind === 'lane' ? row.lane.key : besideOf(row) || row.kind === 'pack' ? row.key : null;
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
	/** each thread has a row of its own, however short it lives */
	isApart: boolean;
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

interface Process {
	key: string;
	lanes: Lane[];
	weight: number;
	/** of several that are shown as one */
	processes: number;
}

const MANY = 12; // short processes of one name, from which on they are shown as one

/** Of short processes of one name one; others as they are. */
function joined(processes: Map<string, Process>, length: number): Map<string, Process> {
	const names = new Map<string, Process[]>();
	for (const process of processes.values()) {
		if (process.lanes.every(({ row }) => !row.goroutine && isShort(row, length))) {
			const name = `name ${nameOf(process)}`;
			names.set(name, [...names.get(name) ?? [], process]);
		}
	}
	const result = new Map(processes);
	for (const [key, all] of names) {
		if (all.length < MANY)
			continue;
		for (const process of all)
			result.delete(process.key);
		result.set(key, { key, lanes: all.flatMap(({ lanes }) => lanes), weight: all.reduce((sum, { weight }) => sum + weight, 0),
			processes: all.length });
	}
	return result;
}

/** All rows: first what is pinned, then the processes with their threads. length: of the time, ns. */
export function rowsOf(rows: readonly LaneRow[], classes: readonly string[], chosen: Chosen, length: number): ThreadRow[] {
	const lanes = rows.map((row) => ({ key: laneKey(row), row })), query = queryOf(chosen.find);
	const weights = new Map(lanes.map(({ key, row }) => [key, weightOf(row, classes, chosen.order)]));
	const compare = (a: Lane, b: Lane) => weights.get(b.key)! - weights.get(a.key)! ||
		(chosen.order === 'name' ? a.row.comm.localeCompare(b.row.comm) : 0) || a.row.tid - b.row.tid;
	const shown = lanes.filter((lane) => !chosen.hidden.includes(lane.key) &&
		!chosen.hidden.includes(processKey(lane.row)) && findsLane(query, lane.row, classes));
	const each = new Map<string, Process>();
	for (const lane of shown) {
		const key = processKey(lane.row);
		const process = each.get(key) ?? { key, lanes: [], weight: 0, processes: 0 };
		process.lanes.push(lane);
		process.weight += weights.get(lane.key)!;
		each.set(key, process);
	}
	const processes = chosen.isApart ? each : joined(each, length);
	for (const key of chosen.hidden)
		processes.delete(key);
	const pinned = chosen.pinned.map((key) => lanes.find((lane) => lane.key === key)).filter((lane) => !!lane);
	const ofThreads = [...processes.values()].filter(({ lanes: own }) =>
		!own[0]!.row.goroutine || !processes.has(processKey({ pid: own[0]!.row.pid })));
	// processes of one service stand together
	const services = new Map<string, { weight: number; pid: number }>();
	for (const process of ofThreads) {
		const { weight, pid } = services.get(serviceOf(process)) ?? { weight: 0, pid: Infinity };
		services.set(serviceOf(process), { weight: weight + process.weight, pid: Math.min(pid, process.lanes[0]!.row.pid) });
	}
	const byService = (a: string, b: string) => services.get(b)!.weight - services.get(a)!.weight ||
		(chosen.order === 'name' ? a.localeCompare(b) : 0) || services.get(a)!.pid - services.get(b)!.pid;
	const inOrder = ofThreads.sort((a, b) => byService(serviceOf(a), serviceOf(b)) || b.weight - a.weight ||
		(chosen.order === 'name' ? nameOf(a).localeCompare(nameOf(b)) : 0) || a.lanes[0]!.row.pid - b.lanes[0]!.row.pid);
	return [
		...pinned.map((lane): ThreadRow => ({ ...laneRow(lane, true), key: `pinned ${lane.key}` })),
		...inOrder.flatMap((process): ThreadRow[] => {
			const goroutines = processes.get(processKey({ ...process.lanes[0]!.row, goroutine: true }));
			return [...rowsOfGroup(process), ...(goroutines && goroutines !== process ? rowsOfGroup(goroutines) : [])];
		}),
	];

	function rowsOfGroup({ key, lanes: own, processes: joint }: Process): ThreadRow[] {
		return [
			{ kind: 'process', key, lane: own[0]!, lanes: [], threads: own.length, processes: joint, isPinned: false },
			...(chosen.folded.includes(key) ? [] : rowsOfLanes(key, own.sort(compare))),
		];
	}

	function rowsOfLanes(key: string, own: Lane[]): ThreadRow[] {
		const packs = chosen.isApart ? null : packed(own.filter(({ row }) => isShort(row, length)));
		const alone = packs ? own.filter(({ row }) => !isShort(row, length)) : own;
		return [
			...alone.map((lane) => laneRow(lane, chosen.pinned.includes(lane.key))),
			...(packs ?? []).map((lanes, i): ThreadRow =>
				({ kind: 'pack', key: `${key} pack ${i}`, lane: lanes[0]!, lanes, threads: 0, processes: 0, isPinned: false })),
		];
	}
}

function nameOf({ lanes }: Process): string {
	return lanes[0]!.row.process;
}

/** The name that stands for a process that has no service. */
function serviceOf(process: Process): string {
	return process.lanes[0]!.row.service || nameOf(process);
}
