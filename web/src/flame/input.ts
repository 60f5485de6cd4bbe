// SPDX-License-Identifier: Apache-2.0
// What mouse, wheel and fingers do to a view.
import type { View } from './view';
import { pinched, type Range } from './viewport';

export interface Pointed {
	/** node -1: nothing is pointed at. Points are those of the window. */
	hover(node: number, x: number, y: number): void;
	choose(node: number): void;
}

const DRAG = 5; // pixels that are no click any more
const WHEEL = 0.0025; // how much a wheel's pixel zooms

/** Returns what ends it. */
export function listenToPointers(view: View, pointed: Pointed): () => void {
	const pointers = new Pointers(view, pointed);
	const ending = new AbortController();
	const { canvas } = view;
	const listen = <K extends keyof HTMLElementEventMap>(type: K, what: (event: HTMLElementEventMap[K]) => void,
		passive = true) => canvas.addEventListener(type, what, { signal: ending.signal, passive });

	listen('pointerdown', (event) => pointers.down(event));
	listen('pointermove', (event) => pointers.move(event));
	listen('pointerup', (event) => pointers.up(event, true));
	listen('pointercancel', (event) => pointers.up(event, false));
	listen('pointerleave', () => pointed.hover(-1, 0, 0));
	listen('wheel', (event) => {
		if (!onWheel(view, event) || view.hovered < 0)
			return;
		const node = view.nodeAt(event.offsetX, event.offsetY);
		if (node !== view.hovered) // another frame has come below the pointer
			pointed.hover(node, event.clientX, event.clientY);
	}, false);
	return () => ending.abort();
}

/** Whether that was for the view; else the scroller scrolls. */
function onWheel(view: View, event: WheelEvent): boolean {
	const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
	const across = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;

	if (event.ctrlKey || event.metaKey) {
		const delta = Math.min(Math.max(event.deltaY * unit, -400), 400);
		view.zoomAround(event.offsetX, Math.exp(-delta * WHEEL));
	} else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
		view.pan(across * unit, 0);
	} else {
		return false;
	}
	event.preventDefault();
	return true;
}

/** One pointer clicks or drags, two pinch. */
class Pointers {
	private readonly held = new Map<number, { x: number; y: number }>();
	private began = { x: 0, y: 0 };
	private isDrag = false;
	private pinch: { range: Range; fingers: [number, number] } | null = null;

	constructor(private readonly view: View, private readonly pointed: Pointed) {}

	down(event: PointerEvent): void {
		if (event.button !== 0)
			return;
		this.held.set(event.pointerId, { x: event.clientX, y: event.clientY });
		if (this.held.size === 1) {
			this.began = { x: event.clientX, y: event.clientY };
			this.isDrag = false;
		}
		this.pinch = this.held.size === 2 ? { range: this.view.range, fingers: this.#fingers() } : null;
		this.isDrag ||= this.pinch !== null;
	}

	move(event: PointerEvent): void {
		const { view } = this;
		const before = this.held.get(event.pointerId);

		if (!before) {
			if (event.pointerType === 'mouse')
				this.pointed.hover(view.nodeAt(event.offsetX, event.offsetY), event.clientX, event.clientY);
			return;
		}
		const now = { x: event.clientX, y: event.clientY };
		if (!this.isDrag && Math.hypot(now.x - this.began.x, now.y - this.began.y) < DRAG)
			return;
		if (!this.isDrag) {
			view.canvas.setPointerCapture(event.pointerId);
			this.pointed.hover(-1, 0, 0);
		}
		this.isDrag = true;
		this.held.set(event.pointerId, now);
		if (this.pinch)
			view.setRange(pinched(this.pinch.range, view.whole().to, this.pinch.fingers, this.#fingers()));
		else // fingers scroll by the browser's own means
			view.pan(before.x - now.x, event.pointerType === 'mouse' ? before.y - now.y : 0);
	}

	up(event: PointerEvent, isClick: boolean): void {
		const wasDown = this.held.delete(event.pointerId);

		this.pinch = null;
		if (!wasDown || !isClick || this.isDrag)
			return;
		const node = this.view.nodeAt(event.offsetX, event.offsetY);
		if (node >= 0)
			this.pointed.choose(node);
	}

	/** Where two fingers are, in parts of the width, the left one first. */
	#fingers(): [number, number] {
		const box = this.view.canvas.getBoundingClientRect();
		const [a, b] = [...this.held.values()].map(({ x }) => (x - box.left) / box.width)
			.sort((one, other) => one - other);
		return [a!, b!];
	}
}
