// SPDX-License-Identifier: Apache-2.0
// The view of a board: made once the canvas is there, as large as its place, and told of what is scrolled.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ROW } from './sizes';
import type { Stretch } from './time';
import { View } from './view';

export interface Placed {
	view: View | null;
	canvas: { current: HTMLCanvasElement | null };
	scroller: { current: HTMLDivElement | null };
	/** Of the canvas, in pixels. */
	width: number;
	height: number;
	/** The first row in sight, and how many of its pixels are not. */
	first: number;
	offset: number;
	count: number;
	/** What is in sight, a moment late: for what need not follow each frame. */
	range: Stretch;
}

export function useView(whole: Stretch, start: Stretch, onRest: (range: Stretch) => void): Placed {
	const canvas = useRef<HTMLCanvasElement>(null), scroller = useRef<HTMLDivElement>(null);
	const [view, setView] = useState<View | null>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	const [top, setTop] = useState(0);
	const [range, setRange] = useState(start);
	const rest = useRef(onRest);
	rest.current = onRest;

	useLayoutEffect(() => {
		const made = new View(canvas.current!, whole, start);
		let timer: ReturnType<typeof setTimeout> | undefined;
		made.onRange = (next) => {
			setRange(next);
			clearTimeout(timer);
			timer = setTimeout(() => rest.current(next), REST);
		};
		setView(made);
		return () => {
			clearTimeout(timer);
			made.close();
		};
	}, []);
	useEffect(() => {
		if (!view)
			return;
		const measure = () => {
			const box = canvas.current?.parentElement?.getBoundingClientRect();
			const height = scroller.current?.clientHeight ?? 0, width = Math.floor(box?.width ?? 0);
			setSize({ width, height });
			view.resize(width, height);
		};
		const observer = new ResizeObserver(measure);
		observer.observe(scroller.current!);
		observer.observe(canvas.current!.parentElement!);
		measure();
		const onScroll = () => {
			view.scroll(scroller.current!.scrollTop);
			setTop(scroller.current!.scrollTop);
		};
		scroller.current!.addEventListener('scroll', onScroll, { passive: true });
		return () => {
			observer.disconnect();
			scroller.current?.removeEventListener('scroll', onScroll);
		};
	}, [view]);
	const first = Math.floor(top / ROW);
	return { view, canvas, scroller, ...size, first, offset: top - first * ROW,
		count: Math.ceil((size.height + ROW) / ROW), range };
}

const REST = 400; // ms without a change before the address says what is in sight
