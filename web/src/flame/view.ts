// SPDX-License-Identifier: Apache-2.0
import { Fittings, FONT, hatchingOf, Painter, type Scene } from './draw';
import type { Colours } from './colours';
import type { Labels } from './labels';
import { Lines } from './lines';
import type { Matches } from './search';
import type { Tree } from './tree';
import { between, isSame, levelAt, moved, topOfLevel, zoomedAt, type Range, type Rows } from './viewport';

const ZOOM_TIME = 160; // milliseconds

/** What is drawn; a new one when any part changes. */
export interface Picture {
	tree: Tree;
	labels: Labels;
	colours: Colours;
	matches: Matches | null;
	isIcicle: boolean;
}

/**
 * Keeps what of a picture can be seen, and draws it.
 *
 * The canvas is as large as its scroller shows and stays in place, inside of an element that has the
 * height of all rows and so gives the scroll bar.
 */
export class View {
	/** The node zoomed to. */
	zoomed: number;
	hovered = -1;
	selected = -1;
	range: Range = { from: 0, to: 0 };
	width = 0;
	height = 0;
	/** Called after each drawing. */
	onDraw: () => void = () => {};

	private readonly pen: CanvasRenderingContext2D;
	private readonly rowHeight = matchMedia('(pointer: coarse)').matches ? 24 : 20;
	private readonly resizing = new ResizeObserver(() => this.#resize());
	private readonly onScroll = () => this.draw();
	private readonly lines = new Lines();
	private fittings: Fittings | null = null;
	private hatching: CanvasPattern | string = 'transparent';
	private column = 7;
	private ratio = 1;
	private rowsHeight = 0;
	private waiting = 0;
	private motion = 0;

	constructor(readonly scroller: HTMLElement, private readonly spacer: HTMLElement,
		readonly canvas: HTMLCanvasElement, private picture: Picture, zoomed: number) {
		this.pen = canvas.getContext('2d', { alpha: true })!;
		this.pen.font = FONT;
		this.column = this.pen.measureText('m'.repeat(100)).width / 100;
		this.#take(picture);
		this.zoomed = zoomed;
		this.range = this.#rangeOf(zoomed);
		this.resizing.observe(scroller);
		scroller.addEventListener('scroll', this.onScroll);
		this.#measure();
		this.showRoot();
		this.reveal(zoomed);
		this.drawNow(); // not one frame later
	}

	close(): void {
		this.resizing.disconnect();
		this.scroller.removeEventListener('scroll', this.onScroll);
		cancelAnimationFrame(this.waiting);
		cancelAnimationFrame(this.motion);
	}

	get tree(): Tree {
		return this.picture.tree;
	}

	get rows(): Rows {
		return { isIcicle: this.picture.isIcicle, row: this.rowHeight, height: this.rowsHeight };
	}

	whole(): Range {
		return { from: 0, to: this.tree.width[0]! };
	}

	#take(picture: Picture): void {
		const before = this.picture;

		this.picture = picture;
		if (!this.fittings || before.labels !== picture.labels)
			this.fittings = new Fittings(picture.labels);
		this.hatching = hatchingOf(this.pen, picture.colours.ink);
	}

	/**
	 * Shows something else. In another tree zoomed is the node that is zoomed to, and nothing is
	 * selected; a reader who had moved away from the zoomed node stays there, as far as that is possible.
	 */
	update(picture: Picture, zoomed: number): void {
		const { tree, isIcicle } = this.picture;
		if (picture === this.picture)
			return;
		const { range } = this;
		const wasAside = this.isAside();

		this.#take(picture);
		if (tree !== picture.tree) {
			const scale = tree.width[0]! > 0 ? picture.tree.width[0]! / tree.width[0]! : 0;
			cancelAnimationFrame(this.motion);
			this.hovered = this.selected = -1;
			this.zoomed = zoomed;
			this.range = wasAside && scale > 0 ? { from: range.from * scale, to: range.to * scale }
				: this.#rangeOf(zoomed);
		}
		this.#fitRows();
		if (isIcicle !== picture.isIcicle)
			this.showRoot();
		this.draw();
	}

	/** Follows the size of the scroller, the number of levels and the direction of growth. */
	#resize(): void {
		const { scrollTop, clientHeight } = this.scroller;
		// in a taller window the browser has moved it already
		const isAtEnd = scrollTop + clientHeight >= this.rowsHeight - 1;
		const fromBottom = isAtEnd ? 0 : this.rowsHeight - scrollTop - this.height;

		if (!this.#measure())
			return;
		if (!this.picture.isIcicle)
			this.scroller.scrollTop = this.rowsHeight - this.height - fromBottom;
		this.drawNow(); // the browser has cleared the canvas
	}

	/** Takes over the size of the scroller; false if it is as before. */
	#measure(): boolean {
		const { scroller, canvas } = this;
		const width = Math.max(scroller.clientWidth, 1);
		const height = Math.max(scroller.clientHeight, 1);
		const ratio = devicePixelRatio || 1;

		if (width === this.width && height === this.height && ratio === this.ratio)
			return false;
		Object.assign(this, { width, height, ratio });
		for (const side of ['width', 'height'] as const) {
			canvas[side] = Math.round(this[side] * ratio);
			canvas.style[side] = `${this[side]}px`;
		}
		this.#fitRows();
		return true;
	}

	#fitRows(): void {
		const { tree, zoomed } = this;
		const levels = zoomed > 0 ? tree.level[zoomed]! + tree.height[zoomed]! + 1 : tree.depth;

		this.rowsHeight = Math.max(levels * this.rowHeight, this.height);
		this.spacer.style.height = `${this.rowsHeight}px`;
	}

	/** The root's end of the rows comes into sight. */
	showRoot(): void {
		this.scroller.scrollTop = this.picture.isIcicle ? 0 : this.rowsHeight;
	}

	#rangeOf(node: number): Range {
		const { tree } = this;
		return tree.width[node]! > 0 ? { from: tree.start[node]!, to: tree.end(node) } : this.whole();
	}

	zoom(node: number, isCalm = false): void {
		this.zoomed = node;
		this.#fitRows();
		this.#moveTo(this.#rangeOf(node), isCalm);
		this.reveal(node);
	}

	/** Whether the user has moved away from the node zoomed to. */
	isAside(): boolean {
		return !isSame(this.range, this.#rangeOf(this.zoomed));
	}

	/** factor above 1: closer, around a point of the canvas. */
	zoomAround(x: number, factor: number): void {
		this.setRange(zoomedAt(this.range, this.tree.width[0]!, this.placeAt(x), factor));
	}

	/** Moves by pixels. */
	pan(x: number, y: number): void {
		const { from, to } = this.range;
		if (x)
			this.setRange(moved(this.range, this.tree.width[0]!, x * (to - from) / this.width));
		if (y)
			this.scroller.scrollTop += y;
	}

	setRange(range: Range): void {
		cancelAnimationFrame(this.motion);
		this.range = range;
		this.draw();
	}

	#moveTo(to: Range, isCalm: boolean): void {
		const from = this.range;
		const began = performance.now();
		const isStill = isCalm || matchMedia('(prefers-reduced-motion: reduce)').matches;

		cancelAnimationFrame(this.motion);
		if (isStill || isSame(from, to)) {
			this.range = to;
			this.draw();
			return;
		}
		const step = (now: number) => {
			const part = Math.min(Math.max(now - began, 0) / ZOOM_TIME, 1);
			this.range = between(from, to, part);
			if (part < 1)
				this.motion = requestAnimationFrame(step);
			this.drawNow();
		};
		this.motion = requestAnimationFrame(step);
	}

	/** Scrolls so that the row of a node can be seen. */
	reveal(node: number): void {
		const { rowHeight, scroller } = this;
		const top = topOfLevel(this.rows, this.tree.level[node]!);
		const margin = Math.min(2 * rowHeight, this.height / 4);

		if (top < scroller.scrollTop + margin)
			scroller.scrollTop = top - margin;
		else if (top + rowHeight > scroller.scrollTop + this.height - margin)
			scroller.scrollTop = top + rowHeight + margin - this.height;
		this.draw();
	}

	/** Brings a node into the range as well, where it would be too narrow to be seen. */
	show(node: number): void {
		const { tree, range } = this;
		const start = tree.start[node]!, end = tree.end(node);
		const size = range.to - range.from;

		if (end <= range.from || start >= range.to || (end - start) / size * this.width < 1) {
			const wanted = Math.min(Math.max((end - start) * 8, size / 64), tree.width[0]!);
			const from = Math.min(Math.max((start + end - wanted) / 2, 0), tree.width[0]! - wanted);
			this.#moveTo({ from, to: from + wanted }, false);
		}
		this.reveal(node);
	}

	placeAt(x: number): number {
		return this.range.from + x / this.width * (this.range.to - this.range.from);
	}

	/** The node at a point of the canvas, or -1. */
	nodeAt(x: number, y: number): number {
		const level = levelAt(this.rows, y + this.scroller.scrollTop);
		return this.tree.nodeAt(level, this.placeAt(x));
	}

	/** The levels in sight, in parts of a level, from the root: of an icicle and of a flame. */
	levelsInSight(): { from: number; to: number } {
		const { scrollTop } = this.scroller;
		const ends = [scrollTop, scrollTop + this.height].map((y) =>
			(this.picture.isIcicle ? y : this.rowsHeight - y) / this.rowHeight);
		return { from: Math.min(...ends), to: Math.max(...ends) };
	}

	/** Scrolls so that the middle of the window shows a level. */
	scrollToLevel(level: number): void {
		this.scroller.scrollTop = topOfLevel(this.rows, level) - this.height / 2;
	}

	#scene(): Scene {
		const { picture, zoomed, range, rows, width, height, ratio, column, hatching, lines } = this;
		return { ...picture, fittings: this.fittings!, zoomed, range, rows, width, height, ratio, column,
			hatching, lines, scrollTop: this.scroller.scrollTop };
	}

	/** Draws before the next frame of the display, however often it is asked to. */
	draw(): void {
		this.waiting ||= requestAnimationFrame(() => this.drawNow());
	}

	drawNow(): void {
		const painter = new Painter(this.pen, this.#scene());

		cancelAnimationFrame(this.waiting);
		this.waiting = 0;
		painter.draw();
		if (this.hovered >= 0)
			painter.outline(this.hovered, 1, this.picture.colours.ink);
		if (this.selected >= 0)
			painter.outline(this.selected, 2, this.picture.colours.ink);
		this.onDraw();
	}
}
