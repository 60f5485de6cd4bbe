// SPDX-License-Identifier: Apache-2.0

/** What "quoted" means: exactly this name. */
export function quoted(name) {
	return `"${name}"`;
}

/**
 * The test that a query stands for, on the number of a frame. Plain text is found anywhere in the
 * name in any case; "in quotes" is the whole name; image: and file: look there instead.
 * Throws SyntaxError for a wrong regular expression.
 */
export function testOf(query, isRegex, frames) {
	const prefix = /^(image|file):/.exec(query)?.[1];
	const wanted = prefix ? query.slice(prefix.length + 1) : query;
	const textOf = {
		image: (frame) => frames.imagePath(frame),
		file: (frame) => frames.place(frame),
	}[prefix] ?? ((frame) => frames.name[frame]);

	if (isRegex) {
		const pattern = new RegExp(wanted, 'i');
		return (frame) => pattern.test(textOf(frame));
	}
	if (/^".+"$/.test(wanted))
		return (frame) => textOf(frame) === wanted.slice(1, -1);
	const lower = wanted.toLowerCase();
	return (frame) => textOf(frame).toLowerCase().includes(lower);
}

/** The nodes that a search found. A match inside of another one is not counted twice. */
export class Matches {
	constructor(tree, frames, test) {
		const inside = new Uint8Array(tree.size);

		this.tree = tree;
		this.frameHit = Uint8Array.from(frames.name, (name, frame) => test(frame));
		this.hit = new Uint8Array(tree.size);
		this.hitsBefore = new Uint32Array(tree.size + 1);
		this.outermost = [];
		for (let node = 0; node < tree.size; node++) {
			const parent = tree.parent[node];
			const isHit = this.frameHit[tree.frame[node]];
			inside[node] = node && (inside[parent] || this.hit[parent]);
			this.hit[node] = isHit;
			this.hitsBefore[node + 1] = this.hitsBefore[node] + isHit;
			if (isHit && !inside[node])
				this.outermost.push(node);
		}
		this.count = this.hitsBefore[tree.size];
	}

	/** Whether any of the nodes [from, to) is one. */
	any(from, to) {
		return this.hitsBefore[to] > this.hitsBefore[from];
	}

	/** The sum of a column (of tree.after or tree.before) over the matches inside a node. */
	total(values, root) {
		const { tree } = this;
		let sum = 0;
		for (const node of this.outermost) {
			if (tree.isInside(node, root))
				sum += values[node];
			else if (tree.isInside(root, node))
				return values[root];
		}
		return sum;
	}

	/** The outermost matches, the widest first. */
	byWidth() {
		const { width } = this.tree;
		return [...this.outermost].sort((a, b) => width[b] - width[a] || a - b);
	}
}
