// SPDX-License-Identifier: Apache-2.0
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { flameText as words } from '../text/flame';
import type { Colours } from './colours';
import { drawMap, MapScale, markOf } from './map';
import type { Matches } from './search';
import type { Tree } from './tree';
import type { View } from './view';
import { moved } from './viewport';

const SMALL = '(max-width: 760px), (max-height: 700px)';

interface MinimapProps {
	/** Null: not here yet; its place is kept. */
	view: View | null;
	tree: Tree;
	colours: Colours;
	matches: Matches | null;
	isIcicle: boolean;
}

/** The whole graph in a strip; the mark around what can be seen follows the view, and leads it. */
export function Minimap({ view, tree, colours, matches, isIcicle }: MinimapProps) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const mark = useRef<HTMLDivElement>(null);
	const drawn = useRef<{ key: unknown[]; waiting: number }>({ key: [], waiting: 0 });
	const scale = useMemo(() => new MapScale(tree.depth, matchMedia(SMALL).matches), [tree]);
	const { height } = scale;
	const grip = useRef<{ place: number; level: number } | null>(null);

	function drawWhole(width: number, lines: number): void {
		const image = new ImageData(width, lines);

		drawMap(new Uint32Array(image.data.buffer),
			{ tree, colours, matches, isIcicle, scale, width, height: lines });
		canvas.current!.width = width;
		canvas.current!.height = lines;
		canvas.current!.getContext('2d')!.putImageData(image, 0, 0);
	}

	function draw(): void {
		if (!view)
			return;
		const ratio = devicePixelRatio || 1;
		const size = { width: view.width, height };
		const key = [tree, colours, matches, isIcicle, view.width, ratio, tree.width];

		if (key.some((part, i) => part !== drawn.current.key[i])) {
			drawn.current.key = key;
			canvas.current!.style.width = `${size.width}px`;
			cancelAnimationFrame(drawn.current.waiting);
			// the graph comes first: the strip is drawn when that can be seen, which is from the next frame on
			drawn.current.waiting = requestAnimationFrame(() => {
				drawn.current.waiting = requestAnimationFrame(() =>
					drawWhole(Math.round(size.width * ratio), Math.round(height * ratio)));
			});
		}
		const { from, to } = view.levelsInSight();
		const near = scale.partOf(from), far = scale.partOf(to);
		const box = markOf(size, view.range, tree.width[0]!,
			isIcicle ? { top: near, bottom: far } : { top: 1 - far, bottom: 1 - near });
		const { style } = mark.current!;
		style.transform = `translate(${box.x}px, ${box.y}px)`;
		style.width = `${box.width}px`;
		style.height = `${box.height}px`;
		const isAll = box.width >= size.width - 1 && box.height >= height - 1;
		mark.current!.hidden = isAll || !(tree.width[0]! > 0);
	}

	useLayoutEffect(() => {
		if (!view)
			return;
		view.onDraw = draw;
		draw();
		return () => {
			view.onDraw = () => {};
			cancelAnimationFrame(drawn.current.waiting);
			drawn.current.key = [];
		};
	}, [view, tree, colours, matches, isIcicle]);

	/** The place and the level that a point of the strip stands for. */
	function pointOf(event: PointerEvent): { place: number; level: number } {
		const box = canvas.current!.getBoundingClientRect();
		const y = (event.clientY - box.top) / height;
		return {
			place: (event.clientX - box.left) / box.width * tree.width[0]!,
			level: scale.levelAt(isIcicle ? y : 1 - y),
		};
	}

	function down(event: PointerEvent): void {
		if (!view)
			return;
		const point = pointOf(event);
		const { from, to } = view.range;

		canvas.current!.setPointerCapture(event.pointerId);
		if (point.place < from || point.place > to) // beside the mark: it comes here
			view.setRange(moved(view.range, tree.width[0]!, point.place - (from + to) / 2));
		view.scrollToLevel(point.level);
		grip.current = point;
	}

	function move(event: PointerEvent): void {
		if (!grip.current || !view)
			return;
		const point = pointOf(event);
		view.setRange(moved(view.range, tree.width[0]!, point.place - grip.current.place));
		view.scrollToLevel(point.level);
		grip.current = point;
	}

	useEffect(() => {
		const up = () => {
			grip.current = null;
		};
		addEventListener('pointerup', up);
		return () => removeEventListener('pointerup', up);
	}, []);

	return (
		<div class="flame-map" title={words.map} style={{ height: `${height}px` }}>
			<canvas ref={canvas} aria-hidden="true" onPointerDown={down} onPointerMove={move} />
			<div class="flame-mark" ref={mark} />
		</div>
	);
}
