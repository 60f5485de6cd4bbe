// SPDX-License-Identifier: Apache-2.0
// Where a slice begins and ends, over the tiles that it lies in.
import { runAt } from './runs';
import type { Part } from './tiles';
import type { Stretch } from './time';

export interface Extent extends Stretch {
	/** It reaches to the edge of what is known, so that it may be longer. */
	isMore: boolean;
}

/** Whether the slice that a part begins with is the last one of the part before: a server cuts them where tiles end. */
export function goesOn({ runs, clip }: Part, i: number, before: Part | undefined): boolean {
	if (!before || runs.start[i]! > clip.from || runs.slices[i] !== 1)
		return false;
	const last = runAt(before.runs, clip.from - 1);
	return last >= 0 && before.runs.slices[last] === 1 && before.runs.class[last] === runs.class[i] &&
		before.runs.end[last]! >= clip.from && before.runs.thread?.[last] === runs.thread?.[i];
}

/** From where to where the slice, or run of slices, at a moment reaches in the parts that are known; null: none is there. */
export function extentOf(parts: readonly Part[], at: number): Extent | null {
	const k = parts.findIndex(({ clip }) => clip.from <= at && clip.to > at), i = k < 0 ? -1 : runAt(parts[k]!.runs, at);
	if (i < 0)
		return null;
	let from = parts[k]!.runs.start[i]!, to = parts[k]!.runs.end[i]!;
	for (let j = k; j > 0 && goesOn(parts[j]!, runAt(parts[j]!.runs, from), parts[j - 1]); j--)
		from = parts[j - 1]!.runs.start[runAt(parts[j - 1]!.runs, from - 1)]!;
	for (let j = k + 1; j < parts.length; j++) {
		const next = runAt(parts[j]!.runs, parts[j]!.clip.from);
		if (next < 0 || to < parts[j]!.clip.from || !goesOn(parts[j]!, next, parts[j - 1]))
			break;
		to = parts[j]!.runs.end[next]!;
	}
	const first = parts[0]!.clip.from, end = parts.at(-1)!.clip.to;
	return { from, to, isMore: from === first && first > 0 || to === end };
}

/** The begin of the run that is next to an extent, before (-1) or behind (1) it, in the parts that are known; null: there is none. */
export function runBeside(parts: readonly Part[], { from, to }: Stretch, direction: 1 | -1): number | null {
	const begins = parts.flatMap(({ runs, clip }) => [...runs.start.subarray(0, runs.count)].flatMap((start, i) => {
		const begin = Math.max(start, clip.from), end = Math.min(runs.end[i]!, clip.to);
		return end > begin && (direction < 0 ? end <= from : begin >= to) ? [begin] : [];
	}));
	if (!begins.length)
		return null;
	// the first one that it is the same as, where tiles have cut it
	return direction > 0 ? begins.reduce((least, begin) => Math.min(least, begin)) :
		extentOf(parts, begins.reduce((most, begin) => Math.max(most, begin)))!.from;
}
