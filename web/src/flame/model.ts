// SPDX-License-Identifier: Apache-2.0
// From an answer to what is drawn.
import type { FlameLabels, FlameNodes } from '../api/answers';
import { columnsOf, withoutFrames } from './columns';
import { Labels } from './labels';
import type { Widths } from './contract';
import type { Test } from './pattern';
import { labelsThat } from './search';
import { Tree } from './tree';

export interface Model {
	labels: Labels;
	tree: Tree;
}

interface Parts {
	labels: FlameLabels;
	nodes: FlameNodes;
}

/** isHidden: frames that are left out. */
export function modelOf({ labels: from, nodes }: Parts, rootName: string, isHidden: Test | null,
	widths: Widths = 'now'): Model {
	const labels = new Labels(from, rootName);
	const columns = columnsOf(nodes, labels.root);

	const tree = new Tree(isHidden ? withoutFrames(columns, labelsThat(labels, isHidden)) : columns);

	if (widths === 'before' && tree.beforeTotal)
		tree.layOutBy(tree.beforeTotal);
	return { labels, tree };
}
