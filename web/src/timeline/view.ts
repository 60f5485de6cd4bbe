// SPDX-License-Identifier: Apache-2.0
// The canvas of the timeline: what is in sight, what is pointed at, and when it is drawn. It never draws more than once
// a frame, and only rows in sight.
import type { Theme } from '../flame/contract';
import { type Look, lookOf } from './classes';
import { type BesideLook } from './cpus';
import { drawOver, type Ink, inkOf } from './draw';
import { type Extent, extentOf, runBeside } from './extent';
import { besideOf, laneOf, type Row } from './lanes';
import { lanesIn, lanesOf, rowAt } from './packs';
import { Columns, paintStrip } from './paint';
import { isFaint, type Query } from './query';
import { runAt, type Runs } from './runs';
import { ROW, STRIP, STRIP_TOP } from './sizes';
import { levelOf, type Part, stretchOf, type Tiles, tilesOf } from './tiles';
import type { Stretch } from './time';
import { fitted, moved, Undo, zoomed } from './viewport';

const REST = 60; // ms without a change before tiles are asked for

/** A slice, or a run of slices, in sight. */
export interface Hit {
	row: Row;
	moment: number;
	runs: Runs | null;
	/** -1: none is there */
	run: number;
	/** null: none is there */
	extent: Extent | null;
}

/** What was chosen with the mouse: a time of some lanes. */
export interface Area {
	range: Stretch;
	/** keys of lanes; none: of all in the list */
	lanes: string[];
}

/** From the thread that woke to the one that it woke; from the thread that launched to what a device ran. */
export interface Arrow {
	from: string;
	to: string;
	at: number;
	/** when it is there, if that is later */
	until?: number;
}

/** The lanes beside those of threads: their tiles, and how what ran there looks. */
export interface Beside {
	tiles: Tiles;
	look: BesideLook;
}

export interface Shown {
	rows: Row[];
	classes: readonly string[];
	tiles: Tiles;
	beside: Record<'cpu' | 'stream', Beside>;
	theme: Theme;
	chosen: { lane: string; at: number } | null;
	area: Area | null;
	arrows: readonly Arrow[];
	/** What slices are searched for; null: any. */
	query: Query | null;
}

export class View {
	range: Stretch;
	scrollTop = 0;
	width = 0;
	height = 0;
	hovered: { x: number; y: number } | null = null;
	/** While an area is drawn. */
	drawn: { from: { x: number; y: number }; to: { x: number; y: number } } | null = null;
	onDraw: () => void = () => {};
	onRange: (range: Stretch) => void = () => {};
	readonly undo = new Undo();
	private shown: Shown | null = null;
	private look: Look | null = null;
	private ink: Ink | null = null;
	private image: ImageData | null = null;
	private pixels = new Uint32Array(0);
	private frame = 0;
	private resting: ReturnType<typeof setTimeout> | undefined;
	private wanted = '';

	constructor(readonly canvas: HTMLCanvasElement, readonly whole: Stretch, range: Stretch) {
		this.range = fitted(range, whole);
	}

	close(): void {
		cancelAnimationFrame(this.frame);
		clearTimeout(this.resting);
	}

	show(shown: Shown): void {
		if (shown.classes !== this.shown?.classes || shown.theme !== this.shown.theme) {
			this.look = lookOf(shown.theme, shown.classes);
			this.ink = inkOf(shown.theme, shown.classes);
		}
		this.shown = shown;
		this.wake();
	}

	resize(width: number, height: number): void {
		this.width = width;
		this.height = height;
		this.wake();
	}

	scroll(top: number): void {
		this.scrollTop = top;
		this.wake();
	}

	/** As moving and zooming do; what was in sight before they began can be come back to. */
	setRange(next: Stretch): void {
		this.#set(next, () => this.undo.note(this.range, performance.now()));
	}

	/** The same at once: a step of its own. */
	jump(next: Stretch): void {
		this.#set(next, () => this.undo.note(this.range, performance.now(), true));
	}

	#set(next: Stretch, note: () => void): void {
		const range = fitted(next, this.whole);
		if (range.from === this.range.from && range.to === this.range.to)
			return;
		note();
		this.range = range;
		this.onRange(range);
		this.wake();
	}

	/** x: the pixel that stays where it is; undefined: the pointer's, or the middle. */
	zoom(factor: number, x = this.hovered?.x ?? this.width / 2): void {
		this.setRange(zoomed(this.range, x / Math.max(this.width, 1), factor, this.whole));
	}

	pan(pixels: number): void {
		this.setRange(moved(this.range, pixels * this.perPixel, this.whole));
	}

	back(): void {
		const before = this.undo.back();
		if (before)
			this.#set(before, () => {});
	}

	get perPixel(): number {
		return (this.range.to - this.range.from) / Math.max(this.width, 1);
	}

	momentOf(x: number): number {
		return this.range.from + x * this.perPixel;
	}

	xOf(moment: number): number {
		return (moment - this.range.from) / this.perPixel;
	}

	/** The rows in sight: [first, end). */
	rowsInSight(): [number, number] {
		const count = this.shown?.rows.length ?? 0;
		const first = Math.min(Math.max(Math.floor(this.scrollTop / ROW), 0), count);
		return [first, Math.min(Math.ceil((this.scrollTop + this.height) / ROW), count)];
	}

	hitAt(x: number, y: number): Hit | null {
		const there = this.shown?.rows[Math.floor((y + this.scrollTop) / ROW)];
		const moment = this.momentOf(x);
		if (!there || !this.shown || x < 0 || x > this.width)
			return null;
		return this.#hit(rowAt(there, moment), moment);
	}

	/** The same of a lane beside those of threads; null: it has no row. */
	hitOf(key: string, moment: number): Hit | null {
		const row = this.shown?.rows.find((there) => besideOf(there) && there.key === key);
		return row ? this.#hit(row, moment) : null;
	}

	/** What ran before (-1) or behind (1) a moment of such a lane, as far as it is in sight: where it begins; null: nothing did. */
	beside(key: string, moment: number, direction: 1 | -1): number | null {
		const row = this.shown?.rows.find((there) => besideOf(there) && there.key === key);
		const parts = row ? this.#parts(row) : [], at = extentOf(parts, moment);
		return runBeside(parts, at ?? { from: moment, to: moment }, direction);
	}

	#hit(row: Row, moment: number): Hit {
		if (!laneOf(row) || row.kind === 'pack')
			return { row, moment, runs: null, run: -1, extent: null };
		const parts = this.#parts(row), part = parts.find(({ clip }) => clip.from <= moment && clip.to > moment);
		const run = part ? runAt(part.runs, moment) : -1;
		return { row, moment, runs: part?.runs ?? null, run, extent: run < 0 ? null : extentOf(parts, moment) };
	}

	/** The lanes between two heights. */
	lanesBetween(y: number, other: number): string[] {
		const rows = this.shown?.rows ?? [];
		const at = (height: number) => Math.floor((height + this.scrollTop) / ROW);
		return rows.slice(Math.max(at(Math.min(y, other)), 0), at(Math.max(y, other)) + 1)
			.flatMap((row) => lanesOf(row).map(({ key }) => key));
	}

	wake(): void {
		if (!this.frame)
			this.frame = requestAnimationFrame(() => {
				this.frame = 0;
				this.draw();
			});
		clearTimeout(this.resting);
		this.resting = setTimeout(() => this.#ask(), REST);
	}

	/** In the order of time: of a pack one lane's behind the other's. */
	#parts(row: Row): Part[] {
		const level = levelOf(this.perPixel / (devicePixelRatio || 1));
		const { tiles, beside } = this.shown!, which = besideOf(row), parts: Part[] = [];
		for (const tile of tilesOf(level, this.range)) {
			const lanes = which ? [row.key] : lanesIn(row, stretchOf(tile)).map(({ key }) => key);
			parts.push(...(which ? beside[which].tiles : tiles).partsOf(lanes, tile));
		}
		return parts;
	}

	#ask(): void {
		const [first, end] = this.rowsInSight();
		const rows = this.shown?.rows.slice(first, end) ?? [];
		const keysIn = (wanted: readonly Row[]) => [...new Set(wanted.flatMap((row) => lanesIn(row, this.range).map(({ key }) => key)))];
		const lanes = keysIn(rows.filter(({ kind }) => kind === 'lane')), short = keysIn(rows.filter(({ kind }) => kind === 'pack'));
		const keysOf = (kind: string) => rows.flatMap((row) => (row.kind === kind ? [row.key] : []));
		const cpus = keysOf('cpu'), streams = keysOf('stream');
		const level = levelOf(this.perPixel / (devicePixelRatio || 1)), tiles = tilesOf(level, this.range);
		const wish = JSON.stringify([level, tiles, lanes, short, cpus, streams]);
		if (![lanes, short, cpus, streams].some(({ length }) => length) || !this.width || wish === this.wanted)
			return;
		this.wanted = wish;
		this.shown!.tiles.want({ tiles, lanes, short });
		this.shown!.beside.cpu.tiles.want({ tiles, lanes: cpus, short: [] });
		this.shown!.beside.stream.tiles.want({ tiles, lanes: streams, short: [] });
	}

	/** Asks again for what failed. */
	again(): void {
		this.wanted = '';
		this.wake();
	}

	draw(): void {
		const ratio = devicePixelRatio || 1;
		const width = Math.round(this.width * ratio), height = Math.round(this.height * ratio);
		const ctx = this.canvas.getContext('2d');
		if (!this.shown || !this.look || !ctx || !width || !height)
			return;
		if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
			this.canvas.width = width;
			this.canvas.height = height;
			this.image = new ImageData(width, height);
			this.pixels = new Uint32Array(this.image.data.buffer);
		}
		this.pixels.fill(0);
		const [first, end] = this.rowsInSight(), parts = new Map<Row, Part[]>();
		for (let i = first; i < end; i++) {
			const row = this.shown.rows[i]!;
			if (laneOf(row))
				parts.set(row, this.#parts(row));
			this.#paintRow(row, parts.get(row) ?? [], i, ratio, width);
		}
		ctx.setTransform(1, 0, 0, 1, 0, 0);
		ctx.putImageData(this.image, 0, 0);
		ctx.scale(ratio, ratio);
		drawOver(ctx, this, this.shown, this.ink!, (row) => parts.get(row) ?? this.#parts(row));
		this.onDraw();
	}

	#paintRow(row: Row, parts: Part[], i: number, ratio: number, width: number): void {
		const { beside, query, classes } = this.shown!;
		const which = besideOf(row), own = which && beside[which].look;
		if (!laneOf(row))
			return;
		const columns = new Columns(width);
		const scale = { from: this.range.from, perColumn: this.perPixel / ratio };
		for (const { runs, clip } of parts)
			columns.add(runs, scale, clip, own ? own.place : null, own || !query ? null : (at) => isFaint(query, classes, runs, at));
		columns.settle();
		paintStrip({ pixels: this.pixels, width,
			top: Math.round((i * ROW - this.scrollTop + STRIP_TOP) * ratio), height: Math.round(STRIP * ratio),
		}, columns, own ? own.look : this.look!);
	}
}
