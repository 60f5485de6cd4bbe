// SPDX-License-Identifier: Apache-2.0
// Draws the map of requests. Dragging chooses a part.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Theme } from '../flame/contract';
import { count, formatOf } from '../format';
import { shadeAt, shadeOf } from '../parts/heat_map';
import { clockOf, type Span } from '../state/range';
import { requestsText as words } from '../text/requests';
import type { RequestsAnswer } from './answers';
import { axisOf, type Cells, countOf, partOf, roundTime, rowsShown } from './latency_map';

const ROW = 9; // pixels
const MOMENTS = 5; // on the axis of time, at most …
const APART = 110; // … and pixels from one to the next

function draw(canvas: HTMLCanvasElement, answer: RequestsAnswer, width: number, theme: Theme, chosen: Cells | null): void {
	const ratio = devicePixelRatio || 1, [first, end] = rowsShown(answer);
	const steps = answer.map.length / answer.rows.length, column = width / Math.max(steps, 1);
	const style = getComputedStyle(document.documentElement);
	// few must be seen beside many: shades are of the logarithm
	const most = Math.log2(Math.max(...answer.map, 1) + 1);
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round((end - first) * ROW * ratio);
	const ctx = canvas.getContext('2d')!;
	ctx.scale(ratio, ratio);
	ctx.fillStyle = style.getPropertyValue('--raised').trim();
	ctx.fillRect(0, 0, width, (end - first) * ROW);
	for (let step = 0; step < steps; step++) {
		for (let row = first; row < end; row++) {
			const n = answer.map[step * answer.rows.length + row]!;
			if (!n)
				continue;
			ctx.fillStyle = shadeAt(theme, shadeOf(Math.log2(n + 1) * 1000 / most, 1000));
			ctx.fillRect(step * column, (end - 1 - row) * ROW, Math.max(column - 0.5, 1), ROW - 1);
		}
	}
	if (!chosen)
		return;
	const [a, b] = [Math.min(...chosen.step), Math.max(...chosen.step)];
	const [low, high] = [Math.max(Math.min(...chosen.row), first), Math.min(Math.max(...chosen.row), end - 1)];
	ctx.strokeStyle = style.getPropertyValue('--accent').trim();
	ctx.lineWidth = 2;
	ctx.strokeRect(a * column, (end - 1 - high) * ROW, (b - a + 1) * column, (high - low + 1) * ROW);
}

/** A part of the way through a time, as exact as that is short. */
function momentOf({ from, to }: Span, part: number): string {
	const moment = from + (to - from) * part;
	return clockOf(moment) + (to - from < 60 ? `.${Math.floor(moment * 10 % 10)}` : '');
}

export function LatencyChart({ answer, theme, chosen, onPart }: {
	answer: RequestsAnswer; theme: Theme; chosen: Cells | null; onPart(part: ReturnType<typeof partOf>): void;
}) {
	const canvas = useRef<HTMLCanvasElement>(null), box = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	const [over, setOver] = useState<[number, number] | null>(null);
	const [start, setStart] = useState<[number, number] | null>(null);
	const pressed = useRef<[number, number] | null>(null); // as start, at once
	const [first, end] = rowsShown(answer);
	const steps = answer.map.length / answer.rows.length, ns = formatOf('ns');
	const drawn: Cells | null = start && over ? { step: [start[0], over[0]], row: [start[1], over[1]] } : chosen;
	const cellAt = (pointer: PointerEvent): [number, number] => {
		const { left, top, width: wide } = canvas.current!.getBoundingClientRect();
		const step = Math.floor((pointer.clientX - left) / Math.max(wide, 1) * steps);
		const row = end - 1 - Math.floor((pointer.clientY - top) / ROW);
		return [Math.min(Math.max(step, 0), steps - 1), Math.min(Math.max(row, first), end - 1)];
	};

	useEffect(() => {
		const place = box.current!;
		const observer = new ResizeObserver(() => setWidth(place.clientWidth));
		observer.observe(place);
		return () => observer.disconnect();
	}, []);
	useEffect(() => {
		if (width > 0)
			draw(canvas.current!, answer, width, theme, drawn);
	}, [answer, width, theme, JSON.stringify(drawn)]);

	const cells: Cells | null = over && { step: [over[0], over[0]], row: [over[1], over[1]] };
	const height = (end - first) * ROW, moments = Math.max(2, Math.min(MOMENTS, Math.floor(width / APART)));
	return <figure class="chart latency" aria-label={words.map}>
		<figcaption>{cells ? <><b>{clockOf(answer.sum.from + partOf(answer, cells).from / 1e9)}</b>{' '}
			<span>{words.atLeast(ns(answer.rows[over![1]] ?? 0))}: <b>{words.count(count(countOf(answer, cells)))}</b></span></> :
			<span class="hint">{words.mapHint}</span>}</figcaption>
		<div class="heat-box">
			<div class="latency-rows" style={{ height: `${height}px` }} aria-hidden="true">
				{axisOf(answer, [first, end]).map(({ time, at }) =>
					<span key={time} style={{ bottom: `${at * ROW}px` }}>{roundTime(time)}</span>)}
			</div>
			<div class="heat-plot" ref={box}>
				<canvas ref={canvas} id="latency" role="img" aria-label={words.mapOf(count(answer.count))}
					style={{ width: `${width}px`, height: `${height}px` }}
					onPointerDown={(pointer) => {
						canvas.current!.setPointerCapture(pointer.pointerId);
						setStart(pressed.current = cellAt(pointer));
						setOver(cellAt(pointer));
					}}
					onPointerMove={(pointer) => setOver(cellAt(pointer))}
					onPointerLeave={() => !start && setOver(null)}
					onPointerUp={(pointer) => {
						const from = pressed.current, last = cellAt(pointer);
						if (from)
							onPart(partOf(answer, { step: [from[0], last[0]], row: [from[1], last[1]] }));
						setStart(pressed.current = null);
					}} />
				<div class="heat-times">{Array.from({ length: moments }, (_, i) =>
					<span key={i}>{momentOf(answer.sum, i / (moments - 1))}</span>)}</div>
			</div>
		</div>
	</figure>;
}
