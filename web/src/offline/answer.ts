// SPDX-License-Identifier: Apache-2.0
// What src/show/html.c writes into the page, as the answer of a server.
import type { FlameAnswer, FlameNodes, Sum } from '../api/answers';
import { KINDS } from '../flame/palette';

/** Level by level from the root; the children of a node stand side by side in the next one. */
interface Level {
	frame: number[];
	self: number[];
	children: number[];
	/** Which nodes of the level are one. */
	guess: number[];
	/** The self of the earlier film, in a comparison. */
	before?: number[];
}

export interface Written {
	event: string;
	unit: string;
	images: string[];
	files: string[];
	/** Columns: one entry per different frame. */
	frames: { name: string[]; image: number[]; file: number[]; kind: number[]; line: number[]; inlined: number[] };
	levels: Level[];
}

function sumOf(total: number, unit: string): Sum {
	return { from: 0, to: 0, samples: 0, total, truncated: 0, guessed: 0, lost: 0, lost_samples: 0, unit, complete_from: 0,
		complete_until: 0, filmed: 0, by_films: true, by_paths: false, films_damaged: 0, films_unread: 0, films_unfetched: 0 };
}

/** The parent of each node, in the order of the levels. */
function parentsOf(levels: Level[]): number[] {
	const parents = [0];
	let node = 0;
	for (const { children } of levels) {
		for (const count of children) {
			for (let i = 0; i < count; i++)
				parents.push(node);
			node++;
		}
	}
	return parents;
}

/** A node's total is its self and the totals of its children. */
function totalsOf(self: number[], parents: number[]): number[] {
	const totals = self.slice();
	for (let node = totals.length - 1; node > 0; node--)
		totals[parents[node]!]! += totals[node]!;
	return totals;
}

function nodesOf({ frames, levels }: Written, isDiff: boolean): FlameNodes {
	const parent = parentsOf(levels);
	const label = levels.flatMap(({ frame }) => frame);
	const self = levels.flatMap((level) => level.self);
	const before = levels.flatMap((level) => level.before ?? []);
	const guess: number[] = [];
	for (const level of levels) {
		const from = guess.length;
		guess.push(...Array<number>(level.frame.length).fill(0));
		for (const node of level.guess)
			guess[from + node] = 1;
	}
	return { parent, label, self, total: totalsOf(self, parent), guess,
		inlined: label.map((frame) => frames.inlined[frame]!),
		...(isDiff && { before_self: before, before_total: totalsOf(before, parent) }) };
}

export function answerOf(written: Written): FlameAnswer {
	const { frames, images, files, unit } = written;
	const isDiff = written.levels[0]!.before !== undefined;
	const nodes = nodesOf(written, isDiff);
	return {
		sum: sumOf(nodes.total[0]!, unit),
		unit,
		...(isDiff && { before: sumOf(nodes.before_total![0]!, unit) }),
		labels: {
			name: frames.name,
			image: frames.image.map((image) => images[image]!),
			kind: frames.kind.map((kind) => KINDS[kind]!),
			file: frames.file.map((file) => files[file]!),
			line: frames.line,
		},
		nodes,
		hidden: 0,
	};
}
