// SPDX-License-Identifier: Apache-2.0
// The whole time in a strip: how many threads ran, and above them how many could have. The frame is what is in sight.
import { useEffect, useRef } from 'preact/hooks';
import type { Theme } from '../flame/contract';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer } from './answers';
import { colourOf } from './classes';
import type { Stretch } from './time';
import type { View } from './view';

const HEIGHT = 34;
const EDGE = 4; // pixels of a drag that is not a click

/** shown: of the answer's time, what the strip is of. */
function drawLoad(canvas: HTMLCanvasElement, { running, ready, length }: LanesAnswer, shown: Stretch, theme: Theme, width: number): void {
	const ratio = devicePixelRatio || 1;
	const most = Math.max(...running.map((ns, i) => ns + (ready[i] ?? 0)), 1);
	const perPixel = (shown.to - shown.from) / width, step = length / Math.max(running.length, 1) / perPixel, before = shown.from / perPixel;
	const ctx = canvas.getContext('2d')!;
	canvas.width = Math.round(width * ratio);
	canvas.height = HEIGHT * ratio;
	ctx.scale(ratio, ratio);
	const bars = (values: readonly number[], below: readonly number[] | null, colour: string) => {
		ctx.fillStyle = colour;
		values.forEach((ns, i) => {
			const height = ns / most * (HEIGHT - 2), under = (below?.[i] ?? 0) / most * (HEIGHT - 2);
			ctx.fillRect(i * step - before, HEIGHT - under - height, step + 0.5, height);
		});
	};
	bars(running, null, colourOf(theme, 'run'));
	bars(ready, running, colourOf(theme, 'ready'));
}

export function Minimap({ answer, view, theme, width }: {
	answer: LanesAnswer; view: View | null; theme: Theme; width: number;
}) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const mark = useRef<HTMLDivElement>(null);
	const grip = useRef<{ at: number; x: number; isMove: boolean; range: Stretch } | null>(null);

	useEffect(() => {
		if (width > 0)
			drawLoad(canvas.current!, answer, view?.whole ?? { from: 0, to: answer.length }, theme, width);
	}, [answer, view, theme, width]);
	useEffect(() => {
		if (!view)
			return;
		view.onDraw = () => {
			const { from, to } = view.range, { whole } = view;
			const scale = width / Math.max(whole.to - whole.from, 1);
			const { style } = mark.current!;
			style.transform = `translateX(${(from - whole.from) * scale}px)`;
			style.width = `${Math.max((to - from) * scale, 3)}px`;
			mark.current!.hidden = from <= whole.from && to >= whole.to;
		};
		view.onDraw();
		return () => {
			view.onDraw = () => {};
		};
	}, [view, width]);

	const momentOf = (event: PointerEvent) => {
		const box = canvas.current!.getBoundingClientRect();
		const { whole } = view!;
		return whole.from + (event.clientX - box.left) / Math.max(box.width, 1) * (whole.to - whole.from);
	};
	/** In the frame: it is moved. Beside it: a new one is drawn; a click brings the frame there. */
	const down = (event: PointerEvent) => {
		if (!view || event.button !== 0)
			return;
		const at = momentOf(event), { range } = view;
		canvas.current!.setPointerCapture(event.pointerId);
		grip.current = { at, x: event.clientX, range,
			isMove: !mark.current!.hidden && at >= range.from && at <= range.to };
	};
	const move = (event: PointerEvent) => {
		const held = grip.current;
		if (!view || !held || Math.abs(event.clientX - held.x) < EDGE && !held.isMove)
			return;
		const at = momentOf(event), by = at - held.at;
		view.setRange(held.isMove ? { from: held.range.from + by, to: held.range.to + by } :
			{ from: Math.min(at, held.at), to: Math.max(at, held.at) });
	};
	const up = (event: PointerEvent) => {
		const held = grip.current;
		grip.current = null;
		if (!view || !held || Math.abs(event.clientX - held.x) >= EDGE || held.isMove)
			return;
		const half = (held.range.to - held.range.from) / 2;
		view.jump({ from: held.at - half, to: held.at + half });
	};

	return <div class="tl-map" title={words.map}>
		<canvas ref={canvas} aria-hidden="true" style={{ width: `${width}px`, height: `${HEIGHT}px` }}
			onPointerDown={down} onPointerMove={move} onPointerUp={up} />
		<div class="tl-mark" ref={mark} hidden />
	</div>;
}
