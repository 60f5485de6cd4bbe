// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from 'preact/hooks';
import { flameText as words } from '../text/flame';
import type { Facts } from './facts';

const LONGEST = 1000; // characters of a name

/** A node under the pointer, which is at a point of the window. */
export interface Pointed {
	node: number;
	x: number;
	y: number;
}

/** The numbers of the frame under the pointer, beside it and inside the window. */
export function Tooltip({ facts, zoomed, pointed }: { facts: Facts; zoomed: number; pointed: Pointed }) {
	const box = useRef<HTMLDivElement>(null);
	const { node } = pointed;
	const change = facts.change(node);
	const notes = [...(change ? [change] : []), ...facts.marks(node)];
	const origin = facts.origin(node);

	useLayoutEffect(() => {
		const { style, offsetWidth, offsetHeight } = box.current!;
		const left = Math.max(Math.min(pointed.x + 14, innerWidth - offsetWidth - 8), 8);
		const below = pointed.y + 18;
		const top = below + offsetHeight < innerHeight ? below : Math.max(pointed.y - offsetHeight - 12, 4);
		style.transform = `translate(${left}px, ${top}px)`;
	});
	return (
		<div class="flame-tooltip" role="tooltip" ref={box}>
			<strong><bdi>{facts.name(node).slice(0, LONGEST)}</bdi></strong>
			{origin && <p>{origin}</p>}
			{notes.map((note) => <p key={note} class="flame-note">{note}</p>)}
			<table>
				<thead>
					<tr><td /><td /><th>{words.ofAll}</th>{zoomed > 0 && <th>{words.ofZoomed}</th>}</tr>
				</thead>
				<tbody>
					{facts.shares(node, zoomed).map(({ what, value, ofAll, ofZoomed }) => (
						<tr key={what}>
							<th>{what}</th><td>{value}</td><td>{ofAll}</td>{zoomed > 0 && <td>{ofZoomed}</td>}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
