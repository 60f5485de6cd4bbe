// SPDX-License-Identifier: Apache-2.0
// What mouse, wheel and keys do to the timeline.
import type { Hit, View } from './view';

export interface Pointed {
	hover(hit: Hit | null, x: number, y: number): void;
	choose(hit: Hit): void;
	/** An area was drawn: from and to in pixels of the canvas. */
	area(from: { x: number; y: number }, to: { x: number; y: number }): void;
}

const DRAG = 4; // pixels that are no click any more
const WHEEL = 0.0025; // how much a wheel's pixel zooms
const LINE = 20;

/** Returns what ends it. */
export function listenToPointers(view: View, scroller: HTMLElement, pointed: Pointed): () => void {
	const ending = new AbortController();
	const { canvas } = view;
	let began: { x: number; y: number; isArea: boolean; top: number; id: number } | null = null;
	let isDrag = false;
	let last = 0;
	const listen = <K extends keyof HTMLElementEventMap>(type: K, what: (event: HTMLElementEventMap[K]) => void,
		passive = true) => canvas.addEventListener(type, what, { signal: ending.signal, passive });
	const point = (event: MouseEvent) => ({ x: event.offsetX, y: event.offsetY });
	const hover = (event: MouseEvent | null) => {
		view.hovered = event && point(event);
		pointed.hover(event && view.hitAt(event.offsetX, event.offsetY), event?.clientX ?? 0, event?.clientY ?? 0);
		view.wake();
	};

	listen('pointerdown', (event) => {
		if (event.button !== 0)
			return;
		began = { ...point(event), isArea: event.shiftKey, top: scroller.scrollTop, id: event.pointerId };
		last = event.offsetX;
		isDrag = false;
	});
	listen('pointermove', (event) => {
		if (!began) {
			hover(event);
			return;
		}
		if (!isDrag && Math.hypot(event.offsetX - began.x, event.offsetY - began.y) < DRAG)
			return;
		if (!isDrag)
			canvas.setPointerCapture(began.id);
		isDrag = true;
		if (began.isArea) {
			view.drawn = { from: began, to: point(event) };
			view.wake();
		} else {
			view.pan(last - event.offsetX);
			scroller.scrollTop = began.top + began.y - event.offsetY;
			last = event.offsetX;
		}
	});
	listen('pointerup', (event) => {
		const start = began, hit = view.hitAt(event.offsetX, event.offsetY);
		began = view.drawn = null;
		if (start?.isArea && isDrag)
			pointed.area(start, point(event));
		else if (start && !isDrag && hit)
			pointed.choose(hit);
		isDrag = false;
	});
	listen('pointercancel', () => {
		began = view.drawn = null;
		isDrag = false;
	});
	listen('pointerleave', () => began || hover(null));
	listen('wheel', (event) => onWheel(view, event), false);
	return () => ending.abort();
}

function onWheel(view: View, event: WheelEvent): void {
	const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
	const across = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;

	if (event.ctrlKey || event.metaKey) {
		const delta = Math.min(Math.max(event.deltaY * unit, -400), 400);
		view.zoom(Math.exp(delta * WHEEL), event.offsetX);
	} else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
		view.pan(across * unit);
	} else {
		return; // the scroller's own
	}
	event.preventDefault();
}

const SPEED = 1.2; // of the width a second, or as much closer in a third of that
const FIRST = 16; // ms: a frame is not shorter
const TAP = 0.08; // s: what a key does at once, however short it is held

/** Moves for as long as keys are held: w and s closer and further, a and d to the sides. */
export class Motion {
	private readonly held = new Set<string>();
	private frame = 0;
	private last = 0;
	private readonly ending = new AbortController();

	constructor(private readonly view: View) {
		const { signal } = this.ending;
		addEventListener('keyup', (event) => this.held.delete(event.key.toLowerCase()), { signal });
		addEventListener('blur', () => this.held.clear(), { signal });
	}

	close(): void {
		this.ending.abort();
		cancelAnimationFrame(this.frame);
	}

	press(key: string): void {
		if (!this.held.has(key))
			this.#move(key, TAP);
		this.held.add(key);
		if (this.frame)
			return;
		this.last = performance.now();
		this.frame = requestAnimationFrame((now) => this.#step(now));
	}

	#step(now: number): void {
		const seconds = Math.min(Math.max(now - this.last, FIRST), 100) / 1000;
		this.last = now;
		for (const key of this.held)
			this.#move(key, seconds);
		this.frame = this.held.size ? requestAnimationFrame((next) => this.#step(next)) : 0;
	}

	#move(key: string, seconds: number): void {
		if (key === 'w' || key === 's')
			this.view.zoom(Math.exp((key === 'w' ? -3 : 3) * SPEED * seconds));
		else
			this.view.pan((key === 'a' ? -1 : 1) * SPEED * seconds * this.view.width);
	}
}
