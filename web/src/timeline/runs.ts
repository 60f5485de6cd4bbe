// SPDX-License-Identifier: Apache-2.0
// The runs of a lane: slices, and stretches of slices that are each shorter than a pixel of their tile.

export interface Runs {
	count: number;
	/** ns since the origin */
	start: Float64Array;
	end: Float64Array;
	class: Uint8Array;
	/** slices that it stands for */
	slices: Uint32Array;
	/** of its length, the part that was of its class, the most frequent one */
	part: Float32Array;
	/** of a CPU: numbers of threads, instead of the class */
	thread: Uint32Array | null;
}

const FIELDS = 5;

/**
 * Of numbers as the server packs them, after offset; what is not as it should be ends them. threads: what they have
 * instead of classes are places in this list.
 */
export function unpackRuns(packed: readonly number[], offset: number, threads: readonly number[] | null = null): Runs {
	const count = Math.floor(packed.length / FIELDS);
	const runs: Runs = {
		count: 0, start: new Float64Array(count), end: new Float64Array(count), class: new Uint8Array(count),
		slices: new Uint32Array(count), part: new Float32Array(count),
		thread: threads && new Uint32Array(count),
	};
	let at = offset;
	for (let i = 0; i < count; i++) {
		const gap = packed[i * FIELDS]!, length = packed[i * FIELDS + 1]!;
		if (!(gap >= 0 && length >= 0))
			break;
		runs.start[i] = at + gap;
		runs.end[i] = at += gap + length;
		if (threads)
			runs.thread![i] = threads[packed[i * FIELDS + 2]!] ?? 0;
		else
			runs.class[i] = packed[i * FIELDS + 2]!;
		runs.slices[i] = packed[i * FIELDS + 3]!;
		runs.part[i] = length > 0 ? packed[i * FIELDS + 4]! / length : 1;
		runs.count++;
	}
	return runs;
}

/** The first run that ends after a moment; count: none does. */
export function firstAfter({ end, count }: Runs, moment: number): number {
	let low = 0, high = count;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (end[middle]! > moment)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** The run at a moment; -1: there is none. */
export function runAt(runs: Runs, moment: number): number {
	const i = firstAfter(runs, moment);
	return i < runs.count && runs.start[i]! <= moment ? i : -1;
}
