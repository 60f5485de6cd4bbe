// SPDX-License-Identifier: Apache-2.0
// The functions of a tree, counted here: for a page that has no server to ask.
import type { FunctionRow } from '../api/answers';
import type { Labels } from './labels';
import type { Model } from './model';

/** A function is a label without its line: which one each label is, and how many there are. */
function functionsOfLabels(labels: Labels): { ofLabel: Uint32Array; count: number } {
	const known = new Map<string, number>();
	const ofLabel = Uint32Array.from(labels.kind, (kind, label) => {
		const key = JSON.stringify([kind, labels.rawImage[label], labels.rawName[label]]);
		if (!known.has(key))
			known.set(key, known.size);
		return known.get(key)!;
	});
	return { ofLabel, count: known.size };
}

/** Calls enter for each node below and including root, and leave when all below it were. */
function walk({ tree }: Model, root: number, enter: (node: number) => void, leave: (node: number) => void): void {
	const path = [root];
	const next = new Uint32Array(tree.depth + 1);

	enter(root);
	next[0] = tree.child[root]!;
	while (path.length) {
		const node = path[path.length - 1]!;
		const below = next[path.length - 1]!++;
		if (below < tree.child[node]! + tree.children[node]!) {
			next[path.length] = tree.child[below]!;
			path.push(below);
			enter(below);
		} else {
			leave(node);
			path.pop();
		}
	}
}

/** Self and total inside root. A recursive function's total counts once, where it was entered first. */
export function functionsOf(model: Model, root: number): FunctionRow[] {
	const { tree, labels } = model;
	const { ofLabel, count } = functionsOfLabels(labels);
	const isDiff = tree.beforeTotal !== null;
	const rows: (FunctionRow | null)[] = Array.from({ length: count }, () => null);
	const active = new Uint32Array(count);

	function rowOf(label: number): FunctionRow {
		return rows[ofLabel[label]!] ??= { ...labels.functionName(label), kind: labels.kind[label]!,
			file: labels.fileOf(label), line: labels.lineOf(label), self: 0, total: 0,
			...(isDiff && { before_self: 0, before_total: 0 }) };
	}
	function enter(node: number): void {
		const label = tree.label[node]!;
		if (labels.kind[label] === 'group')
			return;
		const row = rowOf(label);
		const isFirst = active[ofLabel[label]!]!++ === 0;
		row.self += tree.self[node]!;
		row.total += isFirst ? tree.total[node]! : 0;
		if (isDiff) {
			row.before_self! += tree.beforeSelf![node]!;
			row.before_total! += isFirst ? tree.beforeTotal![node]! : 0;
		}
	}
	function leave(node: number): void {
		const label = tree.label[node]!;
		if (labels.kind[label] !== 'group')
			active[ofLabel[label]!]!--;
	}
	walk(model, root, enter, leave);
	return rows.filter((row) => row !== null && (row.total > 0 || row.before_total! > 0)) as FunctionRow[];
}
