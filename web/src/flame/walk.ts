// SPDX-License-Identifier: Apache-2.0
// From frame to frame by keys.
import type { Tree } from './tree';

type Step = 'up' | 'down' | 'left' | 'right';

export const STEPS: Record<string, Step> = {
	ArrowUp: 'up',
	ArrowDown: 'down',
	ArrowLeft: 'left',
	ArrowRight: 'right',
};

/**
 * The neighbour in a direction, or the node itself where there is none: above and below are the
 * parent and the widest child, beside it the next that has any width on this level inside the zoomed
 * node.
 */
export function neighbour(tree: Tree, node: number, step: Step, isIcicle: boolean, zoomed: number): number {
	if (step === 'up' || step === 'down') {
		if ((step === 'up') === isIcicle)
			return tree.parent[node]!;
		return tree.children[node] ? widestChild(tree, node) : node;
	}
	const by = step === 'left' ? -1 : 1;
	const level = tree.level[node]!;
	const first = tree.levelStart[level]!, last = tree.levelStart[level + 1]! - 1;

	for (let to = node + by; to >= first && to <= last; to += by) {
		if (tree.width[to]! > 0)
			return tree.level[zoomed]! > level || tree.isInside(to, zoomed) ? to : node;
	}
	return node;
}

/** The first by total, unless widths are another column's. */
function widestChild(tree: Tree, node: number): number {
	const first = tree.child[node]!;
	let widest = first;

	for (let child = first; child < first + tree.children[node]!; child++) {
		if (tree.width[child]! > tree.width[widest]!)
			widest = child;
	}
	return widest;
}
