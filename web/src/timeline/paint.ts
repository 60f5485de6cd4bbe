// SPDX-License-Identifier: Apache-2.0
// Runs to pixels. Each column of a lane shows the class that it has most of; none that has a run is left empty.
import { FAINT, type Look } from './classes';
import { firstAfter, type Runs } from './runs';

/** No run is in that column. */
export const NOTHING = 255;
const CLASSES = 256;
const FAINT_WEIGHT = 1e-3; // what is searched for is seen first
const HATCH = 6; // pixels from one line of a hatching to the next

/** ns at the left edge, and of each column. */
export interface Scale {
	from: number;
	perColumn: number;
}

/** Adds up what each column has of each class: runs come in the order of time, so one column is open at a time. */
export class Columns {
	readonly class: Uint8Array;
	private readonly weight = new Float64Array(CLASSES);
	private touched: number[] = [];
	private open = -1;

	constructor(width: number) {
		this.class = new Uint8Array(width).fill(NOTHING);
	}

	/**
	 * Runs in [from, to) of one lane; those of tiles beside each other come one after the other. place: of the runs'
	 * threads, what stands for their class. isFaint: whether a run does not fit what is searched for.
	 */
	add(runs: Runs, { from, perColumn }: Scale, clip: { from: number; to: number }, place: Uint8Array | null = null,
		isFaint: ((i: number) => boolean) | null = null): void {
		const width = this.class.length;
		for (let i = firstAfter(runs, clip.from); i < runs.count && runs.start[i]! < clip.to; i++) {
			const start = Math.max(runs.start[i]!, clip.from), end = Math.min(runs.end[i]!, clip.to);
			const left = (start - from) / perColumn, right = (end - from) / perColumn;
			if (left >= width)
				break;
			if (right <= 0)
				continue;
			const which = place && runs.thread ? place[runs.thread[i]!] ?? 0 : runs.class[i]!, faint = isFaint?.(i) ?? false;
			this.#put(Math.max(left, 0), Math.min(right, width), faint ? which + FAINT : which, runs.part[i]! * (faint ? FAINT_WEIGHT : 1));
		}
	}

	#put(left: number, right: number, which: number, part: number): void {
		const first = Math.floor(left), last = Math.min(Math.floor(right), this.class.length - 1);
		if (first === last) {
			this.#weigh(first, (right - left) * part, which);
			return;
		}
		this.#weigh(first, (first + 1 - left) * part, which);
		if (last > first + 1) {
			this.settle();
			this.class.fill(which, first + 1, last);
		}
		if (right > last)
			this.#weigh(last, (right - last) * part, which);
	}

	#weigh(column: number, weight: number, which: number): void {
		if (column !== this.open)
			this.settle();
		this.open = column;
		if (!this.weight[which])
			this.touched.push(which);
		// a slice of no length is one, too
		this.weight[which]! += Math.max(weight, 1e-12);
	}

	/** Decides the open column. To be called at the end. */
	settle(): void {
		let best = -1;
		for (const which of this.touched) {
			if (best < 0 || this.weight[which]! > this.weight[best]!)
				best = which;
		}
		if (best >= 0)
			this.class[this.open] = best;
		for (const which of this.touched)
			this.weight[which] = 0;
		this.touched = [];
		this.open = -1;
	}
}

/** Where the pixels of a lane go. */
export interface Strip {
	pixels: Uint32Array;
	/** of a row of pixels */
	width: number;
	top: number;
	height: number;
}

/** Draws the columns of a lane as bars that stand on its lower edge. */
export function paintStrip({ pixels, width, top, height }: Strip, { class: classes }: Columns, look: Look): void {
	let before = -1;
	const rows = Float64Array.from(look.height, (part) => Math.max(1, Math.round(part * height)));
	const isHatched = look.isHatched.some((hatched) => hatched === 1) && classes.some((which) => look.isHatched[which]);
	const heights = [...new Set(rows)].sort((a, b) => a - b);

	for (let y = 0; y < height; y++) {
		const level = height - y; // pixels from here to the lower edge, this one included
		const step = heights.findIndex((each) => each >= level);
		const at = (top + y) * width;
		if (at < 0 || at + width > pixels.length)
			continue;
		if (step >= 0 && step === before && !isHatched) {
			pixels.copyWithin(at, at - width, at);
			continue;
		}
		before = at >= width ? step : -1;
		for (let x = 0; x < width; x++) {
			const which = classes[x]!;
			if (which === NOTHING || rows[which]! < level)
				continue;
			if (!look.isHatched[which] || (x + y) % HATCH < 2)
				pixels[at + x] = look.colour[which]!;
		}
	}
}
