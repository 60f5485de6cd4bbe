// SPDX-License-Identifier: Apache-2.0
import type { Columns } from './columns';

/** The first number in [from, to) that passes the test, as all after it do; to if none does. */
export function first(from: number, to: number, test: (at: number) => boolean): number {
	while (from < to) {
		const middle = (from + to) >>> 1;
		if (test(middle))
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/*
 * All nodes in one row of typed arrays: level by level, each level from left to right. So the
 * children of a node are neighbours, a parent comes before its children, and a level is sorted by
 * place, which lets the view and the pointer find nodes by binary search. Node 0 is the root.
 *
 * It is made in few loops that each do much: when a page shows its first graph, each loop runs
 * slowly until the browser has compiled it.
 */
export class Tree {
	readonly size: number;
	readonly depth: number; // levels
	readonly levelStart: Uint32Array;
	readonly level: Uint32Array;
	readonly label: Uint32Array;
	/** 1 for each label that a node has */
	readonly labelUsed: Uint8Array;
	readonly parent: Uint32Array;
	readonly child: Uint32Array; // number of the first child
	readonly children: Uint32Array; // how many there are
	readonly self: Float64Array;
	readonly total: Float64Array;
	readonly beforeSelf: Float64Array | null;
	readonly beforeTotal: Float64Array | null;
	readonly guess: Uint8Array;
	readonly inlined: Uint8Array;
	/** The place of each node, in the unit of width. */
	readonly start: Float64Array;
	width: Float64Array;
	private heights: Uint32Array | null = null;

	constructor(columns: Columns) {
		const { size } = columns;

		this.size = size;
		this.level = new Uint32Array(size);
		this.label = new Uint32Array(size);
		this.labelUsed = new Uint8Array(columns.label[0]! + 1);
		this.parent = new Uint32Array(size);
		this.child = new Uint32Array(size);
		this.children = new Uint32Array(size);
		this.self = new Float64Array(size);
		this.total = new Float64Array(size);
		this.guess = new Uint8Array(size);
		this.inlined = new Uint8Array(size);
		this.start = new Float64Array(size);
		this.width = this.total;
		this.levelStart = columns.levelStart;
		this.depth = this.levelStart.length - 1;
		const isInOrder = this.#take(columns);
		const from = isInOrder ? columns : inOrder(columns);
		if (!isInOrder) {
			this.children.fill(0);
			this.#take(from);
		}
		this.beforeSelf = from.beforeSelf && this.#moved(from, from.beforeSelf);
		this.beforeTotal = from.beforeTotal && this.#moved(from, from.beforeTotal);
	}

	/**
	 * Puts all nodes where they belong. The server sends siblings by total, each before its children and those before
	 * the next one, so that each level has its nodes in the order of the answer. False if an answer is another one.
	 */
	#take(from: Columns): boolean {
		const { size, levelStart, level, label, labelUsed, parent, child, children, self, total, guess, inlined,
			start } = this;
		const next = levelStart.slice();
		const places = new Uint32Array(size);

		for (let was = 0; was < size; was++) {
			const own = from.level[was]!;
			const node = next[own]!++;
			const width = from.total[was]!;
			const above = places[from.parent[was]!]!;
			places[was] = node;
			level[node] = own;
			self[node] = from.self[was]!;
			total[node] = width;
			labelUsed[label[node] = from.label[was]!] = 1;
			if (from.guess)
				guess[node] = from.guess[was]!;
			if (from.inlined)
				inlined[node] = from.inlined[was]!;
			if (was === 0)
				continue;
			parent[node] = above;
			if (children[above]!++ === 0) {
				child[above] = node;
				start[node] = start[above]!;
			} else {
				start[node] = start[node - 1]! + total[node - 1]!;
			}
			if (node > levelStart[own]! &&
				(parent[node - 1]! > above || parent[node - 1] === above && total[node - 1]! < width))
				return false;
		}
		return true;
	}

	#moved({ level }: Columns, column: Float64Array): Float64Array {
		const next = this.levelStart.slice();
		const moved = new Float64Array(column.length);
		for (let was = 0; was < column.length; was++)
			moved[next[level[was]!]!++] = column[was]!;
		return moved;
	}

	/** How many levels stand above each node. */
	get height(): Uint32Array {
		if (!this.heights) {
			const height = this.heights = new Uint32Array(this.size);
			for (let node = this.size - 1; node > 0; node--) {
				const above = this.parent[node]!;
				height[above] = Math.max(height[above]!, height[node]! + 1);
			}
		}
		return this.heights;
	}

	/** Gives each node its place. */
	layOutBy(width: Float64Array): void {
		const { start, child, children, size } = this;

		this.width = width;
		start[0] = 0;
		for (let node = 0; node < size; node++) {
			let at = start[node]!;
			const end = child[node]! + children[node]!;
			for (let below = child[node]!; below < end; below++) {
				start[below] = at;
				at += width[below]!;
			}
		}
	}

	end(node: number): number {
		return this.start[node]! + this.width[node]!;
	}

	/** The first node in [from, to), all of one level, that ends after place; to if none does. */
	firstEndingAfter(place: number, from: number, to: number): number {
		const { start, width } = this;
		return first(from, to, (node) => start[node]! + width[node]! > place);
	}

	/** The first node in [from, to), all of one level, that starts at place or after it. */
	firstStartingAt(place: number, from: number, to: number): number {
		const { start } = this;
		return first(from, to, (node) => start[node]! >= place);
	}

	/** The node of a level that covers place, or -1. */
	nodeAt(level: number, place: number): number {
		if (level < 0 || level >= this.depth)
			return -1;
		const to = this.levelStart[level + 1]!;
		const node = this.firstEndingAfter(place, this.levelStart[level]!, to);
		return node < to && this.start[node]! <= place ? node : -1;
	}

	/** The nodes from the root down to this one. */
	path(node: number): number[] {
		const path = [node];
		while (node > 0)
			path.push(node = this.parent[node]!);
		return path.reverse();
	}

	isInside(node: number, ancestor: number): boolean {
		while (this.level[node]! > this.level[ancestor]!)
			node = this.parent[node]!;
		return node === ancestor;
	}
}

/** The nodes level by level, siblings by total, largest first. */
function inOrder(columns: Columns): Columns {
	const { size, parent, total } = columns;
	const next = new Uint32Array(size + 1); // where the children of each node begin in `below`
	const below = new Uint32Array(Math.max(size - 1, 0));
	const order = new Uint32Array(size);
	let filled = 1;

	for (let node = 1; node < size; node++)
		next[parent[node]! + 1]!++;
	for (let node = 0; node < size; node++)
		next[node + 1]! += next[node]!;
	const begin = next.slice();
	for (let node = 1; node < size; node++)
		below[next[parent[node]!]!++] = node;
	for (let i = 0; i < filled; i++) {
		const node = order[i]!;
		const from = begin[node]!, to = begin[node + 1]!;
		if (!isSorted(below, total, from, to))
			below.subarray(from, to).sort((a, b) => total[b]! - total[a]! || a - b);
		for (let child = from; child < to; child++)
			order[filled++] = below[child]!;
	}
	return moved(columns, order);
}

function moved(from: Columns, order: Uint32Array): Columns {
	const places = new Uint32Array(from.size);
	order.forEach((node, place) => {
		places[node] = place;
	});
	return {
		size: from.size,
		parent: order.map((node) => places[from.parent[node]!]!),
		label: order.map((node) => from.label[node]!),
		level: order.map((node) => from.level[node]!),
		levelStart: from.levelStart,
		self: Float64Array.from(order, (node) => from.self[node]!),
		total: Float64Array.from(order, (node) => from.total[node]!),
		guess: from.guess && Uint8Array.from(order, (node) => from.guess![node]!),
		inlined: from.inlined && Uint8Array.from(order, (node) => from.inlined![node]!),
		beforeSelf: from.beforeSelf && Float64Array.from(order, (node) => from.beforeSelf![node]!),
		beforeTotal: from.beforeTotal && Float64Array.from(order, (node) => from.beforeTotal![node]!),
	};
}

function isSorted(nodes: Uint32Array, total: Float64Array, from: number, to: number): boolean {
	for (let i = from + 1; i < to; i++) {
		if (total[nodes[i - 1]!]! < total[nodes[i]!]!)
			return false;
	}
	return true;
}
