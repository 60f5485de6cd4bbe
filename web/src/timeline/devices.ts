// SPDX-License-Identifier: Apache-2.0
// The lanes of devices' streams: which kernels and copies ran there. A kernel has the colour of its name and fills the
// lane, a copy half the lane; what is not known, because records were lost, is hatched.
import type { Theme } from '../flame/contract';
import type { DevicesAnswer, StreamRow, ThreadName, WorkName } from './answers';
import { colourOf, type Look, pixelOf } from './classes';
import { type BesideLook, HUES } from './cpus';
import type { DeviceRow } from './lanes';
import { type Runs, unpackRuns } from './runs';
import type { LaneKey, TileAnswer } from './tiles';

/** From which on their lanes are folded, until someone wants to see them. */
const MANY = 16;
const HEADING = 'devices';
const HEIGHTS = { kernel: 1, copy: 0.5, unknown: 1 };
const FIELDS = 4; // numbers of a run in works

/** What is known of a run beside its time. */
export interface Work {
	name: WorkName;
	/** ns: the length of the one kernel or copy; of several how long any of them ran */
	busy: number;
	bytes: number;
	/** Null: not known, or there are several. */
	launcher: (ThreadName & { process: string }) | null;
	/** ns from the launch to the begin of the run; 0: not known */
	since: number;
}

export function streamKey({ pid, device, stream }: { pid: number; device: number; stream: number }): LaneKey {
	return `gpu${pid}.${device}.${stream}`;
}

/** The same each time for the same name, as long as it is free. */
function wishedHue(name: string): number {
	let value = 0x811c9dc5;
	for (let i = 0; i < name.length; i++)
		value = Math.imul(value ^ name.charCodeAt(i), 0x01000193);
	return (value >>> 0) % HUES.light.length;
}

/** All names that answers had, each with a number of its own. */
export class DeviceWorks {
	readonly names: WorkName[] = [];
	private readonly numbers = new Map<string, number>();
	private readonly hues: number[] = [];
	private readonly used = new Set<number>();
	/** by the arrays of runs, which tiles keep */
	private readonly works = new WeakMap<Runs, { of: readonly number[]; threads: DevicesAnswer['threads'] }>();

	#numberOf(name: WorkName): number {
		const key = `${name.kind} ${name.name}`, known = this.numbers.get(key);
		if (known !== undefined)
			return known;
		this.numbers.set(key, this.names.length);
		this.names.push(name);
		this.hues.push(this.#hueOf(name));
		return this.names.length - 1;
	}

	/** No two names have one while there are others. */
	#hueOf({ name, kind }: WorkName): number {
		const wished = wishedHue(name);
		if (kind === 'unknown')
			return 0;
		const hue = HUES.light.map((_, i) => (wished + i) % HUES.light.length).find((free) => !this.used.has(free)) ?? wished;
		this.used.add(hue);
		return hue;
	}

	/** A server's answer, as tiles keep it. */
	unpack({ base, cut, names, threads, streams }: DevicesAnswer): TileAnswer {
		const numbers = names.map((name) => this.#numberOf(name));
		return { base, cut, lanes: new Map(streams.map((row) => [streamKey(row), (offset: number) => {
			const runs = unpackRuns(row.runs, offset, numbers);
			this.works.set(runs, { of: row.works, threads });
			return runs;
		}])) };
	}

	/** Of one of the runs that unpack() made; null: there is none. */
	workOf(runs: Runs | null, run: number): Work | null {
		const name = this.names[runs?.thread?.[run] ?? -1], works = runs && this.works.get(runs);
		if (!name || !works || run < 0)
			return null;
		const [busy = 0, bytes = 0, thread = 0, since = 0] = works.of.slice(run * FIELDS, (run + 1) * FIELDS);
		return { name, busy, bytes, launcher: works.threads[thread - 1] ?? null, since };
	}

	lookOf(theme: Theme): BesideLook {
		const hues = HUES[theme], kinds = Object.entries(HEIGHTS);
		const look: Look = {
			colour: Uint32Array.from(kinds.flatMap(([kind]) => hues.map((hue) => pixelOf(kind === 'unknown' ? colourOf(theme, 'hole') : hue)))),
			height: Float64Array.from(kinds.flatMap(([, height]) => hues.map(() => height))),
			isHatched: Uint8Array.from(kinds.flatMap(([kind]) => hues.map(() => (kind === 'unknown' ? 1 : 0)))),
		};
		const kindOf = (name: WorkName) => Math.max(kinds.findIndex(([kind]) => kind === name.kind), 0);
		return {
			look,
			place: Uint8Array.from(this.names, (name, i) => kindOf(name) * hues.length + this.hues[i]!),
			names: this.names.map(({ name }) => name),
			ink: theme === 'light' ? '#000000' : '#ffffff',
			isAbove: this.names.map(({ kind }) => kind !== 'kernel'),
		};
	}
}

/** The rows of streams: a heading, and unless they are folded a row for each. folded: what the reader folded, or unfolded. */
export function deviceRowsOf(streams: readonly StreamRow[], folded: readonly string[]): DeviceRow[] {
	if (!streams.length)
		return [];
	const isFolded = folded.includes(HEADING) !== streams.length > MANY;
	return [
		{ kind: 'devices', key: HEADING, stream: null, count: streams.length, isFolded },
		...(isFolded ? [] : streams.map((stream): DeviceRow => ({ kind: 'stream', key: streamKey(stream), stream, count: 0, isFolded }))),
	];
}
