// SPDX-License-Identifier: Apache-2.0
import type { Labels } from './labels';
import type { Model } from './model';
import { testOf, type Test } from './pattern';
import type { Tree } from './tree';

/** 1 for each label that passes; the root's never does. */
export function labelsThat(labels: Labels, test: Test): Uint8Array {
	const passed = new Uint8Array(labels.size);

	for (let label = 0; label < labels.root; label++)
		passed[label] = Number(test({
			name: labels.name[label]!,
			image: labels.image[label]!,
			place: labels.place(label),
		}));
	return passed;
}

/** What a search field means: its test, null without any text, or why it is none. */
type Query = { test: Test | null; error: string };

export function queryOf(search: string, isRegex: boolean): Query {
	try {
		return { test: search ? testOf(search, isRegex) : null, error: '' };
	} catch (error) {
		return { test: null, error: (error as Error).message };
	}
}

/** What any of the patterns means; null for none. A pattern that is wrong means nothing. */
export function anyOf(patterns: string[]): Test | null {
	const tests = patterns.map((pattern) => queryOf(pattern, false).test).filter((test) => test !== null);

	return tests.length ? (frame) => tests.some((test) => test(frame)) : null;
}

/** The nodes that a search found. A match inside of another one is not counted twice. */
export class Matches {
	readonly hit: Uint8Array;
	readonly count: number;
	private readonly hitsBefore: Uint32Array;
	private readonly outermost: number[] = [];

	constructor(private readonly tree: Tree, labelHit: Uint8Array) {
		const { size, parent, label } = tree;
		const inside = new Uint8Array(size);

		this.hit = new Uint8Array(size);
		this.hitsBefore = new Uint32Array(size + 1);
		for (let node = 0; node < size; node++) {
			const isHit = labelHit[label[node]!]!;
			const above = parent[node]!;
			inside[node] = Number(node > 0 && (inside[above] || this.hit[above]));
			this.hit[node] = isHit;
			this.hitsBefore[node + 1] = this.hitsBefore[node]! + isHit;
			if (isHit && !inside[node])
				this.outermost.push(node);
		}
		this.count = this.hitsBefore[size]!;
	}

	/** Whether any of the nodes [from, to) is one. */
	any(from: number, to: number): boolean {
		return this.hitsBefore[to]! > this.hitsBefore[from]!;
	}

	/** The sum of a column (tree.total, tree.beforeTotal) over the matches inside a node. */
	total(values: Float64Array, root: number): number {
		const { tree } = this;
		let sum = 0;

		for (const node of this.outermost) {
			if (tree.isInside(node, root))
				sum += values[node]!;
			else if (tree.isInside(root, node))
				return values[root]!;
		}
		return sum;
	}

	/** The outermost matches, the widest first. */
	byWidth(): number[] {
		const { width } = this.tree;
		return [...this.outermost].sort((a, b) => width[b]! - width[a]! || a - b);
	}
}

export function matchesOf({ tree, labels }: Model, test: Test | null): Matches | null {
	return test && new Matches(tree, labelsThat(labels, test));
}
