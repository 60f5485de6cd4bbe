// SPDX-License-Identifier: Apache-2.0
// What is known of each lane, in tiles: of level L, a pixel is 2^L ns, and a tile TILE pixels. While a tile is on its
// way, a coarser one stands in for it.
import type { Runs } from './runs';
import type { Origin, Stretch } from './time';

export const TILE = 2048; // pixels
const LEVEL_MOST = 52; // 2^53 ns is all that a number counts
const STAND_IN = 24; // levels that are looked through for a coarser tile
const RUNS_MOST = 1_500_000; // in memory
const LANES_MOST = 64; // asked for at once,
const SHORT_MOST = 256; // and of such as have little, which is all that the server takes
const OPEN_MOST = 2;

/** "pid.tid", or "cpu3". */
export type LaneKey = string;

export interface TileId {
	level: number;
	index: number;
}

/** The level whose pixels are the largest ones that are not larger than that. */
export function levelOf(perPixel: number): number {
	return Math.min(Math.max(Math.floor(Math.log2(Math.max(perPixel, 1))), 0), LEVEL_MOST - Math.log2(TILE));
}

export function lengthOf(level: number): number {
	return TILE * 2 ** level;
}

export function stretchOf({ level, index }: TileId): Stretch {
	const length = lengthOf(level);
	return { from: index * length, to: (index + 1) * length };
}

/** The tiles that a stretch lies in. */
export function tilesOf(level: number, { from, to }: Stretch): TileId[] {
	const length = lengthOf(level);
	const first = Math.floor(from / length), end = Math.max(Math.ceil(to / length), first + 1);
	return Array.from({ length: end - first }, (_, i) => ({ level, index: first + i }));
}

/** What the view wants to draw. */
export interface Wish {
	tiles: TileId[];
	lanes: LaneKey[];
	/** Those that have little to draw: they come last. */
	short: LaneKey[];
}

/** What a server's answer is for tiles: of each lane what unpacks its runs, after an offset. */
export interface TileAnswer {
	base: string;
	/** There was no room for all. */
	cut: boolean;
	lanes: Map<LaneKey, (offset: number) => Runs>;
}

export type Fetch = (range: Stretch, pixel: number, lanes: LaneKey[], signal: AbortSignal) => Promise<TileAnswer>;

const NO_RUNS: Runs = {
	count: 0, start: new Float64Array(0), end: new Float64Array(0), class: new Uint8Array(0), slices: new Uint32Array(0),
	part: new Float32Array(0), thread: null,
};

interface Open {
	tile: TileId;
	lanes: Set<LaneKey>;
	control: AbortController;
}

/** A part of a lane as it is known. */
export interface Part {
	runs: Runs;
	clip: Stretch;
	isFine: boolean;
}

export class Tiles {
	private readonly kept = new Map<string, Map<LaneKey, Runs>>();
	private runs = 0;
	private open: Open[] = [];
	private wish: Wish = { tiles: [], lanes: [], short: [] };
	private failed = new Set<string>();
	private isEnded = false;
	/** The server had no room for all of some tile. */
	isCut = false;

	constructor(private readonly origin: Origin, private readonly fetch: Fetch, private readonly end: number,
		private readonly onNew: (failure?: unknown) => void) {}

	close(): void {
		this.isEnded = true;
		for (const { control } of this.open)
			control.abort();
	}

	/** Whether something of the last wish is on its way. */
	get isLoading(): boolean {
		return this.open.length > 0;
	}

	/** Asks for the parts that are not here, and gives up what is no longer wanted. */
	want(wish: Wish): void {
		this.wish = wish;
		this.failed.clear();
		const wanted = new Set(wish.tiles.map(nameOf));
		this.open = this.open.filter((one) => {
			if (wanted.has(nameOf(one.tile)))
				return true;
			one.control.abort();
			return false;
		});
		this.#ask();
	}

	/** Takes what came with another answer: runs of lanes, over a stretch, in pixels of a level. */
	take(level: number, whole: Stretch, lanes: Map<LaneKey, Runs>): void {
		for (const tile of tilesOf(level, whole)) {
			const there = this.kept.get(nameOf(tile)) ?? new Map<LaneKey, Runs>();
			for (const [lane, runs] of lanes) {
				there.set(lane, runs);
				this.runs += runs.count + 1;
			}
			this.kept.set(nameOf(tile), there);
		}
	}

	/** What is known of a lane in the stretch of a tile, the finest there is; null: nothing yet. */
	partOf(lane: LaneKey, tile: TileId): Part | null {
		return this.partsOf([lane], tile)[0] ?? null;
	}

	/** The same of several lanes; those of which nothing is known are left out. */
	partsOf(lanes: readonly LaneKey[], tile: TileId): Part[] {
		const clip = stretchOf(tile), parts: Part[] = [], used = new Set<string>();
		const known: { name: string; lanes: Map<LaneKey, Runs>; isFine: boolean }[] = [];
		let { level, index } = tile;
		for (let up = 0; up <= STAND_IN; up++, level++, index = Math.floor(index / 2)) {
			const name = nameOf({ level, index }), there = this.kept.get(name);
			if (there)
				known.push({ name, lanes: there, isFine: up === 0 });
		}
		for (const lane of lanes) {
			for (const { name, lanes: there, isFine } of known) {
				const runs = there.get(lane);
				if (!runs)
					continue;
				used.add(name);
				parts.push({ runs, clip, isFine });
				break;
			}
		}
		for (const name of used) { // and behind all others: what was used last goes last
			const there = this.kept.get(name)!;
			this.kept.delete(name);
			this.kept.set(name, there);
		}
		return parts;
	}

	#ask(): void {
		for (const tile of this.wish.tiles) {
			if (this.open.length >= OPEN_MOST)
				return;
			const name = nameOf(tile), there = this.kept.get(name);
			const coming = this.open.filter((one) => nameOf(one.tile) === name);
			const missing = (lanes: LaneKey[], most: number) => lanes.filter((lane) =>
				!there?.has(lane) && !coming.some((one) => one.lanes.has(lane))).slice(0, most);
			let lanes = missing(this.wish.lanes, LANES_MOST);
			if (!lanes.length)
				lanes = missing(this.wish.short, SHORT_MOST);
			if (lanes.length > 0 && !this.failed.has(name) && stretchOf(tile).from < this.end && tile.index >= 0)
				this.#get(tile, lanes);
		}
	}

	#get(tile: TileId, lanes: LaneKey[]): void {
		const open: Open = { tile, lanes: new Set(lanes), control: new AbortController() };
		const { signal } = open.control;
		const { from, to } = stretchOf(tile);
		const range = { from, to: Math.min(to, this.end) };
		this.open.push(open);
		this.fetch(range, 2 ** tile.level, lanes, signal).then((answer) => {
			if (!signal.aborted && !this.isEnded)
				this.#keep(tile, lanes, answer);
		}, (failure) => {
			if (signal.aborted || this.isEnded)
				return;
			this.failed.add(nameOf(tile));
			this.onNew(failure);
		}).finally(() => {
			this.open = this.open.filter((one) => one !== open);
			if (!this.isEnded && !signal.aborted)
				this.#ask();
			if (!this.isEnded)
				this.onNew();
		});
	}

	#keep(tile: TileId, asked: LaneKey[], answer: TileAnswer): void {
		const name = nameOf(tile), lanes = this.kept.get(name) ?? new Map<LaneKey, Runs>();
		const offset = this.origin.offsetOf(answer.base);
		this.isCut ||= answer.cut;
		for (const lane of asked) {
			const runs = answer.lanes.get(lane)?.(offset) ?? NO_RUNS;
			lanes.set(lane, runs);
			this.runs += runs.count + 1;
		}
		this.kept.delete(name);
		this.kept.set(name, lanes);
		this.#makeRoom(name);
		this.onNew();
	}

	#makeRoom(but: string): void {
		for (const [name, lanes] of this.kept) {
			if (this.runs <= RUNS_MOST)
				return;
			if (name === but)
				continue;
			this.kept.delete(name);
			for (const runs of lanes.values())
				this.runs -= runs.count + 1;
		}
	}
}

function nameOf({ level, index }: TileId): string {
	return `${level}/${index}`;
}
