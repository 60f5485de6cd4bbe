// SPDX-License-Identifier: Apache-2.0
// The nodes of an answer as typed arrays, in the order of the answer: parents before children.
import type { FlameNodes } from '../api/answers';

export interface Columns {
	size: number;
	/** of the root: 0 */
	parent: Uint32Array;
	/** Of the root: that of all the largest. */
	label: Uint32Array;
	/** How far below the root each node is. */
	level: Uint32Array;
	/** Where each level begins if nodes stand level by level, and the end. */
	levelStart: Uint32Array;
	self: Float64Array;
	total: Float64Array;
	/** Null: of no node. */
	guess: Uint8Array | null;
	inlined: Uint8Array | null;
	/** Null where there is one side only. */
	beforeSelf: Float64Array | null;
	beforeTotal: Float64Array | null;
}

/** rootLabel: what stands for the label of the root. Throws if the columns do not make a tree. */
export function columnsOf(nodes: FlameNodes, rootLabel: number): Columns {
	const size = Math.max(nodes.parent.length, 1);
	const numbers = (column: number[] | undefined) => (column?.length ? sized(new Float64Array(column), size) : null);
	const marks = (column: number[] | undefined) => (column?.length ? sized(new Uint8Array(column), size) : null);
	const parent = new Uint32Array(nodes.parent.length ? nodes.parent : [0]);
	const label = sized(new Uint32Array(nodes.label.length ? nodes.label : [0]), size);

	parent[0] = 0;
	label[0] = rootLabel;
	return {
		size, parent, label,
		...levelsOf(parent, label, rootLabel),
		self: numbers(nodes.self) ?? new Float64Array(size),
		total: numbers(nodes.total) ?? new Float64Array(size),
		guess: marks(nodes.guess),
		inlined: marks(nodes.inlined),
		beforeSelf: numbers(nodes.before_self),
		beforeTotal: numbers(nodes.before_total),
	};
}

function sized<T extends { length: number }>(column: T, size: number): T {
	if (column.length !== size)
		throw new RangeError(`a column of the answer has ${column.length} of ${size} nodes`);
	return column;
}

function levelsOf(parent: Uint32Array, label: Uint32Array, rootLabel: number): Pick<Columns, 'level' | 'levelStart'> {
	const level = new Uint32Array(parent.length);
	const starts = [0, 1]; // at first: how many nodes the level before each has
	for (let node = 1; node < parent.length; node++) {
		const above = parent[node]!;
		if (above >= node || label[node]! >= rootLabel)
			throw new RangeError(`node ${node} of the answer has a wrong parent or label`);
		const after = (level[node] = level[above]! + 1) + 1;
		if (after === starts.length)
			starts.push(0);
		starts[after]!++;
	}
	for (let i = 1; i < starts.length; i++)
		starts[i]! += starts[i - 1]!;
	return { level, levelStart: new Uint32Array(starts) };
}

/**
 * Leaves out the nodes with a hidden label: what was spent in them is their caller's, and their
 * callees move up to it, merged with those that it has already. All totals stay what they were.
 */
export function withoutFrames(from: Columns, isHidden: Uint8Array): Columns {
	const place = new Uint32Array(from.size); // where each node went
	const parent = [0], label = [from.label[0]!];
	const made = new Map<number, number>();
	const labels = isHidden.length;

	for (let node = 1; node < from.size; node++) {
		const above = place[from.parent[node]!]!;
		const own = from.label[node]!;
		if (isHidden[own]) {
			place[node] = above;
			continue;
		}
		const key = above * labels + own;
		let to = made.get(key);
		if (to === undefined) {
			to = parent.push(above) - 1;
			label.push(own);
			made.set(key, to);
		}
		place[node] = to;
	}
	return movedTo(from, place, parent, label, isHidden);
}

function movedTo(from: Columns, place: Uint32Array, parent: number[], label: number[],
	isHidden: Uint8Array): Columns {
	const size = parent.length;
	const sides = () => (from.beforeSelf && from.beforeTotal ? new Float64Array(size) : null);
	const parents = new Uint32Array(parent), labels = new Uint32Array(label);
	const to: Columns = {
		size,
		parent: parents,
		label: labels,
		...levelsOf(parents, labels, from.label[0]!),
		self: new Float64Array(size),
		total: new Float64Array(size),
		guess: from.guess && new Uint8Array(size),
		inlined: from.inlined && new Uint8Array(size),
		beforeSelf: sides(),
		beforeTotal: sides(),
	};
	for (let node = 0; node < from.size; node++) {
		const at = place[node]!;
		to.self[at]! += from.self[node]!;
		if (to.beforeSelf)
			to.beforeSelf[at]! += from.beforeSelf![node]!;
		if (node > 0 && isHidden[from.label[node]!])
			continue; // its total is in its caller's already
		to.total[at]! += from.total[node]!;
		if (to.beforeTotal)
			to.beforeTotal[at]! += from.beforeTotal![node]!;
		if (to.guess)
			to.guess[at]! |= from.guess![node]!;
		if (to.inlined)
			to.inlined[at]! |= from.inlined![node]!;
	}
	return to;
}
