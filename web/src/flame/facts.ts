// SPDX-License-Identifier: Apache-2.0
// What is known of one frame, in words.
import { formatOf, percent, points } from '../format';
import { flameText as words } from '../text/flame';
import { changeOf } from './colours';
import type { FrameDetails } from './contract';
import type { Labels } from './labels';
import type { Tree } from './tree';

/** A row of the tooltip: share of all, and of the zoomed node. */
export interface Share {
	what: string;
	value: string;
	ofAll: string;
	ofZoomed: string;
}

export class Facts {
	readonly format: (value: number) => string;

	constructor(readonly tree: Tree, readonly labels: Labels, unit: string) {
		this.format = formatOf(unit);
	}

	name(node: number): string {
		return this.labels.name[this.tree.label[node]!] || words.unnamed;
	}

	/** "kernel · vmlinux · file:line" without what is not known */
	origin(node: number): string {
		const label = this.tree.label[node]!;
		const kind = this.labels.kind[label]!;
		const kinds: Record<string, string> = words.kinds;
		return [node > 0 && kind !== 'group' ? kinds[kind] ?? kind : '', this.labels.image[label]!,
			this.labels.place(label)].filter(Boolean).join(' \u00b7 ');
	}

	marks(node: number): string[] {
		const { tree, labels } = this;
		const marks = [];

		if (tree.inlined[node])
			marks.push(words.inlined);
		if (tree.guess[node])
			marks.push(words.guess);
		if (labels.isSmaller(tree.label[node]!))
			marks.push(words.smaller);
		return marks;
	}

	shares(node: number, zoomed: number): Share[] {
		const { tree } = this;
		const row = (what: string, values: Float64Array, whole: Float64Array): Share => ({
			what,
			value: this.format(values[node]!),
			ofAll: percent(values[node]!, whole[0]!),
			ofZoomed: percent(values[node]!, whole[zoomed]!),
		});
		const rows = [row(words.total, tree.total, tree.total), row(words.self, tree.self, tree.total)];

		if (tree.beforeTotal && tree.beforeSelf)
			rows.push(row(words.totalBefore, tree.beforeTotal, tree.beforeTotal),
				row(words.selfBefore, tree.beforeSelf, tree.beforeTotal));
		return rows;
	}

	/** "grew: +1.20 points, new"; nothing where there is one side. */
	change(node: number): string {
		const { total, beforeTotal } = this.tree;
		if (!beforeTotal)
			return '';
		const change = changeOf(this.tree, node);
		const word = change > 0 ? words.grew : change < 0 ? words.shrank : words.same;
		const note = !beforeTotal[node] ? words.isNew : !total[node] ? words.isGone : '';
		return [`${word}: ${points(change)}`, note].filter(Boolean).join(', ');
	}

	/** Everything in one line, as a screen reader says it. */
	line(node: number, zoomed: number): string {
		const [total, self] = this.shares(node, zoomed).map(({ what, value, ofAll }) =>
			`${what} ${value} (${ofAll})`);
		return [total, self, this.change(node), ...this.marks(node), this.origin(node)]
			.filter(Boolean).join(', ');
	}

	details(node: number, pane: number): FrameDetails {
		const { tree, labels } = this;
		const label = tree.label[node]!;
		return {
			name: labels.rawName[label] ?? this.name(node),
			image: labels.rawImage[label] ?? '',
			kind: labels.kind[label]!,
			file: labels.fileOf(label),
			line: labels.lineOf(label),
			self: tree.self[node]!,
			total: tree.total[node]!,
			whole: tree.total[0]!,
			path: tree.path(node).map((step) => this.name(step)),
			pane,
		};
	}
}
