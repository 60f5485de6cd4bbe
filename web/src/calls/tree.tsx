// SPDX-License-Identifier: Apache-2.0
// The tree of calls: opened along the way where most of the time went.
import { useState } from 'preact/hooks';
import type { CallsAnswer } from '../api/answers';
import { formatOf, percent, safe } from '../format';
import { text } from '../text/text';
import { sameFunction } from './columns';

interface Named {
	name: string;
	image: string;
}

/** Children of each node, those with the most time first. */
export function childrenOf({ parent, total }: CallsAnswer['nodes']): number[][] {
	const children: number[][] = parent.map(() => []);
	for (let node = 1; node < parent.length; node++)
		children[parent[node]!]!.push(node);
	for (const list of children)
		list.sort((a, b) => total[b]! - total[a]!);
	return children;
}

const OPEN_FROM = 0.1; // of all: such nodes are open at first
const OPEN_DEPTH = 12;

/** The nodes that are open at first. */
export function openAtFirst(nodes: CallsAnswer['nodes'], children: number[][]): Set<number> {
	const open = new Set<number>();
	const visit = (node: number, depth: number) => {
		if (depth > OPEN_DEPTH || nodes.total[node]! < OPEN_FROM * nodes.total[0]!)
			return;
		open.add(node);
		for (const child of children[node]!)
			visit(child, depth + 1);
	};
	visit(0, 0);
	return open;
}

const CHILDREN = 50;

export function CallTree({ answer, chosen, onChoose }: {
	answer: CallsAnswer; chosen: Named | undefined; onChoose(row: Named): void;
}) {
	const { nodes, labels } = answer;
	const words = text.calls;
	const children = childrenOf(nodes);
	const [changed, setChanged] = useState<Record<number, boolean>>({});
	const open = openAtFirst(nodes, children);
	const isOpen = (node: number) => changed[node] ?? open.has(node);
	const whole = nodes.total[0]!;
	const time = formatOf('ns');
	const rows: { node: number; depth: number; more: number }[] = [];

	const list = (node: number, depth: number) => {
		for (const child of children[node]!.slice(0, CHILDREN)) {
			rows.push({ node: child, depth, more: 0 });
			if (isOpen(child))
				list(child, depth + 1);
		}
		if (children[node]!.length > CHILDREN)
			rows.push({ node, depth, more: children[node]!.length - CHILDREN });
	};
	list(0, 0);

	return <div class="wide"><table class="rows call-tree" id="tree" role="treegrid">
		<thead><tr>
			<th class="text">{words.columns.name}</th><th>{words.columns.total}</th><th class="share">{words.ofAll}</th>
			<th>{words.columns.self}</th>
		</tr></thead>
		<tbody>
			{rows.map(({ node, depth, more }) => {
				if (more)
					return <tr key={`more-${node}`}><td class="text hint" style={{ '--depth': depth }}>
						{words.moreCallees(String(more))}</td><td /><td /><td /></tr>;
				const id = nodes.label[node]!;
				const label = { name: labels.name[id]!, image: labels.image[id]! };
				return <tr key={node} role="row" aria-level={depth + 1} class="pick"
					aria-selected={sameFunction(label, chosen)}
					aria-expanded={children[node]!.length ? isOpen(node) : undefined}>
					<td class="text" style={{ '--depth': depth }}>
						<button type="button" class="quiet twist" disabled={!children[node]!.length}
							aria-label={isOpen(node) ? words.fold : words.unfold}
							onClick={() => setChanged({ ...changed, [node]: !isOpen(node) })}>
							{!children[node]!.length ? '·' : isOpen(node) ? '▾' : '▸'}</button>
						<button type="button" class="quiet name" title={safe(label.image)}
							onClick={() => onChoose(label)}>{safe(label.name)}</button>
					</td>
					<td>{time(nodes.total[node]!)}</td>
					<td class="share"><span class="bar" style={{ '--part': whole ? nodes.total[node]! / whole : 0 }} />
						{percent(nodes.total[node]!, whole)}</td>
					<td>{time(nodes.self[node]!)}</td>
				</tr>;
			})}
		</tbody>
	</table></div>;
}
