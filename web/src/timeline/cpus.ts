// SPDX-License-Identifier: Apache-2.0
// The lanes of CPUs: which thread ran there. A thread has the colour of its process; while a slice is chosen, its thread
// fills the lane, those of its process three quarters, and all others half: so the picture needs no eye for colours.
import type { Theme } from '../flame/contract';
import type { CpusAnswer, ThreadName } from './answers';
import { type Look, pixelOf } from './classes';
import type { CpuRow } from './lanes';
import { laneKey } from './lanes';
import { unpackRuns } from './runs';
import type { LaneKey, TileAnswer } from './tiles';

/** Pale ones: no state of a thread looks so. The name of a process says which is its own. */
export const HUES: Record<Theme, readonly string[]> = {
	light: ['#f3d9c4', '#cfe3f5', '#cdeadd', '#f1e9bd', '#d9d6f2', '#f5d2d6', '#ead3ea', '#dde2e7'],
	dark: ['#5a4433', '#2f4a61', '#2c5142', '#57512c', '#443f66', '#5f3a41', '#553c57', '#434a53'],
};
/** Parts of a lane's height: others, the chosen one's process, the chosen one; all, where none is chosen. */
const HEIGHTS = [0.5, 0.75, 1];
const OF_ALL = 1;
/** From which on their lanes are folded, until someone wants to see them. */
const MANY = 16;
const HEADING = 'cpus';

/** What painting and words need of the lanes beside those of threads: of CPUs, and of devices. */
export interface BesideLook {
	look: Look;
	/** of each thread, or name, by its number in runs: the place of its colour and height in the look */
	place: Uint8Array;
	names: readonly string[];
	ink: string;
	/** by number: its bar is low or hatched, and its name stands above; null: none is */
	isAbove: readonly boolean[] | null;
}

/** All threads that answers named, each with a number of its own. */
export class CpuThreads {
	readonly all: (ThreadName & { process: string })[] = [];
	private readonly numbers = new Map<LaneKey, number>();
	private readonly hues = new Map<number, number>();

	numberOf(thread: ThreadName & { process: string }): number {
		const key = laneKey(thread), known = this.numbers.get(key);
		if (known !== undefined)
			return known;
		this.numbers.set(key, this.all.length);
		this.all.push(thread);
		if (!this.hues.has(thread.pid))
			this.hues.set(thread.pid, this.hues.size % HUES.light.length);
		return this.all.length - 1;
	}

	/** A server's answer, as tiles keep it. */
	unpack(answer: CpusAnswer): TileAnswer {
		const numbers = answer.threads.map((thread) => this.numberOf(thread));
		return { base: answer.base, cut: answer.cut, lanes: new Map(answer.cpus.map(({ cpu, runs }) =>
			[cpuKey(cpu), (offset: number) => unpackRuns(runs, offset, numbers)])) };
	}

	/** chosen: the thread of the chosen slice, or '' */
	lookOf(theme: Theme, chosen: LaneKey): BesideLook {
		const hues = HUES[theme], process = chosen.split('.')[0];
		const heightOf = (thread: ThreadName) => (!chosen ? OF_ALL : laneKey(thread) === chosen ? 2 : String(thread.pid) === process ? 1 : 0);
		return {
			look: {
				colour: Uint32Array.from(hues.flatMap((hue) => HEIGHTS.map(() => pixelOf(hue)))),
				height: Float64Array.from(hues.flatMap(() => HEIGHTS)),
				isHatched: new Uint8Array(hues.length * HEIGHTS.length),
			},
			place: Uint8Array.from(this.all, (thread) => this.hues.get(thread.pid)! * HEIGHTS.length + heightOf(thread)),
			names: this.all.map(({ comm }) => comm),
			ink: theme === 'light' ? '#000000' : '#ffffff',
			isAbove: null,
		};
	}
}

export function cpuKey(cpu: number): LaneKey {
	return `cpu${cpu}`;
}

/** The rows of CPUs: a heading, and unless they are folded a row for each. folded: what the reader folded, or unfolded. */
export function cpuRowsOf(cpus: readonly number[], folded: readonly string[]): CpuRow[] {
	if (!cpus.length)
		return [];
	const isFolded = folded.includes(HEADING) !== cpus.length > MANY;
	return [
		{ kind: 'cpus', key: HEADING, cpu: -1, count: cpus.length, isFolded },
		...(isFolded ? [] : cpus.map((cpu): CpuRow => ({ kind: 'cpu', key: cpuKey(cpu), cpu, count: 0, isFolded }))),
	];
}
