// SPDX-License-Identifier: Apache-2.0
// The way from the root to the zoomed frame; the middle of a long one is left out.
import { flameText as words } from '../text/flame';
import type { Model } from './model';

const SHOWN = 6;
const LAST = 4; // of a longer one, with the root and one that stands for what is left out

export function Crumbs({ model: { tree, labels }, zoomed, onZoom }: {
	model: Model; zoomed: number; onZoom(node: number): void;
}) {
	const path = tree.path(zoomed);
	const left = path.length > SHOWN ? path[path.length - LAST - 1]! : -1;
	const shown = left < 0 ? path : [path[0]!, left, ...path.slice(-LAST)];
	const nameOf = (node: number) => labels.name[tree.label[node]!] || words.unnamed;

	return <nav class="flame-crumbs" aria-label={words.zoomedTo}>
		{shown.map((node, i) => <>
			{i > 0 && '\u203a'}
			<button key={node} type="button" title={nameOf(node).slice(0, 500)} onClick={() => onZoom(node)}
				aria-current={node === zoomed ? 'location' : undefined}>
				<bdi>{node === left ? '\u2026' : nameOf(node).slice(0, 200)}</bdi></button>
		</>)}
	</nav>;
}
