// SPDX-License-Identifier: Apache-2.0
import { safe } from './format.mjs';

/** The first number in [from, to) that passes the test, as all after it do; to if none does. */
function first(from, to, test) {
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
 */
export class Tree {
	constructor(data) {
		const { levels } = data;
		const size = levels.reduce((sum, level) => sum + level.frame.length, 0);

		this.size = size;
		this.depth = levels.length;
		this.levelStart = new Uint32Array(levels.length + 1);
		this.level = new Uint32Array(size);
		this.frame = new Uint32Array(size);
		this.parent = new Uint32Array(size);
		this.child = new Uint32Array(size);    // number of the first child
		this.children = new Uint32Array(size); // how many there are
		this.guess = new Uint8Array(size);
		this.self = new Float64Array(size);
		this.beforeSelf = new Float64Array(size);
		levels.forEach((level, depth) => this.#takeLevel(level, depth));
		this.after = this.#totalsOf(this.self);
		this.before = this.#totalsOf(this.beforeSelf);
		this.height = this.#heights();
		this.start = new Float64Array(size);
		this.layOutBy(this.after);
	}

	#takeLevel(level, depth) {
		const from = this.levelStart[depth];
		const to = from + level.frame.length;

		this.levelStart[depth + 1] = to;
		this.level.fill(depth, from, to);
		this.frame.set(level.frame, from);
		this.self.set(level.self, from);
		this.children.set(level.children, from);
		if (level.before)
			this.beforeSelf.set(level.before, from);
		for (const i of level.guess)
			this.guess[from + i] = 1;
		let child = to;
		for (let node = from; node < to; node++) {
			const end = child + this.children[node];
			this.child[node] = child;
			this.parent.fill(node, child, end);
			child = end;
		}
	}

	#totalsOf(self) {
		const total = Float64Array.from(self);
		for (let node = this.size - 1; node > 0; node--)
			total[this.parent[node]] += total[node];
		return total;
	}

	/** How many levels stand above each node. */
	#heights() {
		const height = new Uint32Array(this.size);
		for (let node = this.size - 1; node > 0; node--) {
			const parent = this.parent[node];
			height[parent] = Math.max(height[parent], height[node] + 1);
		}
		return height;
	}

	/** Gives each node its place: start and width, in the event's unit. */
	layOutBy(width) {
		this.width = width;
		this.start[0] = 0;
		for (let node = 0; node < this.size; node++) {
			let at = this.start[node];
			const end = this.child[node] + this.children[node];
			for (let child = this.child[node]; child < end; child++) {
				this.start[child] = at;
				at += width[child];
			}
		}
	}

	end(node) {
		return this.start[node] + this.width[node];
	}

	/** The first node in [from, to), all of one level, that ends after place; to if none does. */
	firstEndingAfter(place, from, to) {
		return first(from, to, (node) => this.end(node) > place);
	}

	/** The first node in [from, to), all of one level, that starts at place or after it. */
	firstStartingAt(place, from, to) {
		return first(from, to, (node) => this.start[node] >= place);
	}

	/** The node of a level that covers place, or -1. */
	nodeAt(level, place) {
		const to = this.levelStart[level + 1];
		const node = this.firstEndingAfter(place, this.levelStart[level], to);
		return node < to && this.start[node] <= place ? node : -1;
	}

	/** The nodes from the root down to this one. */
	path(node) {
		const path = [node];
		while (node > 0)
			path.push(node = this.parent[node]);
		return path.reverse();
	}

	isInside(node, ancestor) {
		while (this.level[node] > this.level[ancestor])
			node = this.parent[node];
		return node === ancestor;
	}
}

/** The table of different frames, as columns; a function is a frame without file and line. */
export class Frames {
	constructor(data) {
		const { frames } = data;

		this.images = data.images.map(safe);
		this.files = data.files.map(safe);
		this.name = frames.name.map((name) => safe(name) || '[unnamed]');
		this.image = frames.image;
		this.file = frames.file;
		this.kind = frames.kind;
		this.line = frames.line;
		this.inlined = frames.inlined;
		this.#findFunctions();
		const root = data.levels[0].frame[0];
		if (!frames.name[root])
			this.name[root] = 'all';
	}

	#findFunctions() {
		const known = new Map();
		this.functionOf = Uint32Array.from(this.name, (name, frame) => {
			const key = `${this.image[frame]} ${this.kind[frame]} ${name}`;
			if (!known.has(key))
				known.set(key, known.size);
			return known.get(key);
		});
		this.functions = known.size;
	}

	imagePath(frame) {
		return this.images[this.image[frame]];
	}

	/** "src/parse.c:120", or nothing */
	place(frame) {
		const file = this.files[this.file[frame]];
		return file && this.line[frame] ? `${file}:${this.line[frame]}` : file;
	}
}

/**
 * Self and total of each function inside a node. A recursive function's total counts once, where it
 * was entered first.
 */
export function functionTotals(tree, frames, root) {
	const rows = Array.from({ length: frames.functions }, () => null);
	const active = new Uint32Array(frames.functions);
	const path = [root];

	const enter = (node) => {
		const id = frames.functionOf[tree.frame[node]];
		rows[id] ??= { frame: tree.frame[node], self: 0, total: 0, beforeSelf: 0, before: 0 };
		rows[id].self += tree.self[node];
		rows[id].beforeSelf += tree.beforeSelf[node];
		if (active[id]++ === 0) {
			rows[id].total += tree.after[node];
			rows[id].before += tree.before[node];
		}
	};
	const next = new Uint32Array(tree.depth + 1);
	enter(root);
	next[0] = tree.child[root];
	while (path.length) {
		const node = path[path.length - 1];
		const child = next[path.length - 1]++;
		if (child < tree.child[node] + tree.children[node]) {
			next[path.length] = tree.child[child];
			path.push(child);
			enter(child);
		} else {
			active[frames.functionOf[tree.frame[node]]]--;
			path.pop();
		}
	}
	return rows.filter((row) => row && frames.kind[row.frame] > 0);
}
