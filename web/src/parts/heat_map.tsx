// SPDX-License-Identifier: Apache-2.0
// When samples were: a column for each second, a row for each 20 ms. Dragging selects from one cell to another.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { HeatAnswer } from '../api/answers';
import type { Theme } from '../flame/contract';
import { usePage } from '../state/page';
import { clockOf, type Span } from '../state/range';
import { text } from '../text/text';
import { Missing } from './missing';
import { rateOf } from './units';

const ROW = 4; // pixels
const WIDEST = 24;

/** From little to much (ColorBrewer's YlOrRd); on a dark ground, the other way round. */
const SHADES = ['#ffffcc', '#ffeda0', '#fed976', '#feb24c', '#fd8d3c', '#fc4e2a', '#e31a1c', '#bd0026', '#800026'];

/** The index of the shade of a value that is not 0. */
export function shadeOf(value: number, most: number): number {
	return Math.min(Math.floor((value - 1) * SHADES.length / Math.max(most, 1)), SHADES.length - 1);
}

/** Its colour. */
export function shadeAt(theme: Theme, shade: number): string {
	return SHADES[theme === 'dark' ? SHADES.length - 1 - shade : shade]!;
}

/** The time from the beginning of one cell to the end of another, whichever comes first. */
export function spanOfCells(answer: HeatAnswer, a: number, b: number): Span {
	const at = (cell: number) => answer.first + cell / answer.rows;
	return { from: at(Math.min(a, b)), to: at(Math.max(a, b) + 1) };
}

export function cellsOfSpan(answer: HeatAnswer, span: Span | null): [number, number] | null {
	if (!span)
		return null;
	const cell = (time: number) => Math.round((time - answer.first) * answer.rows);
	return [cell(span.from), cell(span.to) - 1];
}

function draw(canvas: HTMLCanvasElement, answer: HeatAnswer, column: number, theme: Theme,
	chosen: [number, number] | null): void {
	const scale = devicePixelRatio || 1;
	const { seconds, rows, cells, most } = answer;
	const style = getComputedStyle(document.documentElement);
	canvas.width = Math.round(seconds * column * scale);
	canvas.height = rows * ROW * scale;
	const ctx = canvas.getContext('2d')!;
	ctx.scale(scale, scale);
	ctx.fillStyle = style.getPropertyValue('--raised').trim();
	ctx.fillRect(0, 0, seconds * column, rows * ROW);
	const put = (cell: number, colour: string) => {
		ctx.fillStyle = colour;
		ctx.fillRect(Math.floor(cell / rows) * column, (cell % rows) * ROW, column, ROW);
	};
	cells.forEach((value, cell) => value > 0 && put(cell, shadeAt(theme, shadeOf(value, most))));
	if (!chosen)
		return;
	ctx.globalAlpha = 0.35;
	for (let cell = Math.max(Math.min(...chosen), 0); cell <= Math.max(...chosen) && cell < seconds * rows; cell++)
		put(cell, style.getPropertyValue('--accent').trim());
}

export function HeatMap({ answer, theme, part, onPart }: {
	answer: HeatAnswer; theme: Theme; part: Span | null; onPart(part: Span): void;
}) {
	const { event } = usePage();
	const canvas = useRef<HTMLCanvasElement>(null);
	const box = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	const [over, setOver] = useState<number | null>(null);
	const [start, setStart] = useState<number | null>(null);
	const pressed = useRef<number | null>(null); // as start, at once
	const { seconds, rows } = answer;
	const column = Math.max(1, Math.min(WIDEST, (width || 800) / Math.max(seconds, 1)));
	const chosen: [number, number] | null = start !== null && over !== null ? [start, over] :
		cellsOfSpan(answer, part);
	const cellAt = (pointer: PointerEvent) => {
		const { left, top } = canvas.current!.getBoundingClientRect();
		const second = Math.floor((pointer.clientX - left) / column), row = Math.floor((pointer.clientY - top) / ROW);
		return Math.max(0, Math.min(seconds - 1, second)) * rows + Math.max(0, Math.min(rows - 1, row));
	};
	const rate = rateOf(event);
	const moment = over === null ? 0 : answer.first + over / rows;

	useEffect(() => {
		const place = box.current!;
		const observer = new ResizeObserver(() => setWidth(place.clientWidth));
		observer.observe(place);
		return () => observer.disconnect();
	}, []);
	useEffect(() => draw(canvas.current!, answer, column, theme, chosen),
		[answer, column, theme, chosen?.[0], chosen?.[1]]);

	return <figure class="chart heat" aria-label={text.heat.name}>
		<figcaption>{over === null ? <><b>{rate.name}</b> <span class="hint">{text.heat.hint}</span> <Missing sum={answer.sum} /></> : <>
			<b>{clockOf(moment)}{(moment % 1).toFixed(2).slice(1)}</b>
			<span><b>{rate.format((answer.cells[over] ?? 0) * (event.level ? 1 : rows))}</b></span></>}
		</figcaption>
		<div class="heat-box">
			<div class="heat-rows" style={{ height: `${rows * ROW}px` }}>
				{[0, 250, 500, 750].map((ms) => <span key={ms}>{ms} ms</span>)}
			</div>
			<div class="heat-plot" ref={box}>
				<canvas ref={canvas} id="heat" style={{ width: `${seconds * column}px`, height: `${rows * ROW}px` }}
					onPointerDown={(pointer) => {
						canvas.current!.setPointerCapture(pointer.pointerId);
						setStart(pressed.current = cellAt(pointer));
						setOver(cellAt(pointer));
					}}
					onPointerMove={(pointer) => setOver(cellAt(pointer))}
					onPointerLeave={() => start === null && setOver(null)}
					onPointerUp={(pointer) => {
						if (pressed.current !== null)
							onPart(spanOfCells(answer, pressed.current, cellAt(pointer)));
						setStart(pressed.current = null);
					}} />
				<div class="heat-times" style={{ width: `${seconds * column}px` }}>
					<span>{clockOf(answer.first)}</span><span>{clockOf(answer.first + seconds)}</span>
				</div>
			</div>
		</div>
	</figure>;
}
