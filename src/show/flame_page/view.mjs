// SPDX-License-Identifier: Apache-2.0
import { withoutParameters } from './format.mjs';

const ROW = 20;          // pixels from one level to the next
const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const LABEL_WIDTH = 30;  // narrower frames get no text
const PADDING = 4;       // before and after a label
const ZOOM_TIME = 160;   // milliseconds
const MARGIN = 16;       // left and right; the scroll bar has room in it

const PLAIN_TEXT = /^[ -~]*$/; // every character takes one column

/**
 * Draws the part of the tree that can be seen, and finds the node under a point.
 *
 * The canvas is as large as its scroller shows and stays in place, inside of an element that has the
 * height of all rows and so gives the scroll bar. What is drawn is bounded by the pixels: rows out of
 * sight are skipped, and nodes narrower than a pixel are drawn as one.
 */
export class View {
	constructor(scroller, tree, frames, colours) {
		this.scroller = scroller;
		this.canvas = scroller.querySelector('canvas');
		this.rows = scroller.querySelector('.rows');
		this.pen = this.canvas.getContext('2d');
		this.tree = tree;
		this.frames = frames;
		this.colours = colours;
		this.root = 0;      // the node zoomed to
		this.hovered = -1;
		this.selected = -1;
		this.matches = null;
		this.icicle = false;
		this.range = { from: 0, to: tree.width[0] }; // what the width shows; moves during a zoom
		this.labels = frames.name.map(() => null);
		scroller.addEventListener('scroll', () => this.draw());
		new ResizeObserver(() => this.resize()).observe(scroller);
	}

	/** Follows the size of the scroller, the number of levels and the direction of growth. */
	resize() {
		const { scroller, canvas } = this;
		// by what was drawn: the browser may have moved the rows already to fill the new size
		const fromBottom = this.rowsHeight - this.top - this.height;

		this.width = Math.max(scroller.offsetWidth - 2 * MARGIN, 1);
		this.height = scroller.clientHeight;
		this.ratio = devicePixelRatio || 1;
		for (const side of ['width', 'height']) {
			canvas[side] = Math.round(this[side] * this.ratio);
			canvas.style[side] = `${this[side]}px`;
		}
		this.#fitRows();
		if (!this.icicle)
			scroller.scrollTop = this.rowsHeight - this.height - (fromBottom || 0);
		this.drawNow();
	}

	#fitRows() {
		const levels = this.tree.level[this.root] + this.tree.height[this.root] + 1;
		this.rowsHeight = Math.max(levels * ROW, this.height);
		this.rows.style.height = `${this.rowsHeight}px`;
	}

	/** The root's end of the rows comes into sight. */
	showRoot() {
		this.scroller.scrollTop = this.icicle ? 0 : this.rowsHeight;
	}

	setIcicle(icicle) {
		this.icicle = icicle;
		this.#fitRows();
		this.showRoot();
		this.draw();
	}

	zoom(node) {
		this.root = node;
		this.#fitRows();
		this.#moveTo(this.tree.start[node], this.tree.end(node));
		this.reveal(node);
	}

	setInk(ink) {
		this.ink = ink;
		this.hatching = this.#makeHatching(ink);
		this.draw();
	}

	/** After the widths of the nodes have changed. */
	widthsChanged() {
		this.range = { from: this.tree.start[this.root], to: this.tree.end(this.root) };
		this.draw();
	}

	#moveTo(from, to) {
		const start = { ...this.range };
		const began = performance.now();
		const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;

		cancelAnimationFrame(this.motion);
		const step = (now) => {
			const part = isCalm ? 1 : Math.min(Math.max(now - began, 0) / ZOOM_TIME, 1);
			const eased = 1 - (1 - part) ** 3;
			this.range.from = start.from + (from - start.from) * eased;
			this.range.to = start.to + (to - start.to) * eased;
			if (part < 1)
				this.motion = requestAnimationFrame(step);
			this.drawNow();
		};
		this.motion = requestAnimationFrame(step);
	}

	/** Scrolls so that the row of a node can be seen. */
	reveal(node) {
		const top = this.#topInRows(this.tree.level[node]);
		const { scrollTop } = this.scroller;
		const margin = Math.min(2 * ROW, this.height / 4);

		if (top < scrollTop + margin)
			this.scroller.scrollTop = top - margin;
		else if (top + ROW > scrollTop + this.height - margin)
			this.scroller.scrollTop = top + ROW + margin - this.height;
		this.draw();
	}

	#topInRows(level) {
		return this.icicle ? level * ROW : this.rowsHeight - (level + 1) * ROW;
	}

	#pixelsPerValue() {
		return this.width / (this.range.to - this.range.from || 1);
	}

	/** The node at a point of the canvas, or -1. */
	nodeAt(x, y) {
		const inRows = y + this.scroller.scrollTop;
		const level = Math.floor((this.icicle ? inRows : this.rowsHeight - inRows) / ROW);
		if (level < 0 || level >= this.tree.depth)
			return -1;
		return this.tree.nodeAt(level, this.range.from + x / this.#pixelsPerValue());
	}

	/** Where a node is on the canvas. */
	boxOf(node) {
		const scale = this.#pixelsPerValue();
		const left = Math.max((this.tree.start[node] - this.range.from) * scale, 0);
		const right = Math.min((this.tree.end(node) - this.range.from) * scale, this.width);
		const top = this.#topInRows(this.tree.level[node]) - this.scroller.scrollTop;
		return { left, top, width: right - left, height: ROW };
	}

	/** Draws before the next frame of the display, however often it is asked to. */
	draw() {
		this.waiting ??= requestAnimationFrame(() => this.drawNow());
	}

	drawNow() {
		const { pen, tree } = this;
		const top = this.top = this.scroller.scrollTop;

		cancelAnimationFrame(this.waiting);
		this.waiting = null;
		pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		pen.clearRect(0, 0, this.width, this.height);
		pen.font = FONT;
		pen.textBaseline = 'middle';
		this.column ??= pen.measureText('m'.repeat(100)).width / 100;
		for (let level = 0; level < tree.depth; level++) {
			const y = this.#topInRows(level) - top;
			if (y > -ROW && y < this.height)
				this.#drawLevel(level, y);
		}
		this.#drawOutline(this.hovered, 1);
		this.#drawOutline(this.selected, 2);
	}

	#drawLevel(level, y) {
		const { tree, range } = this;
		const scale = this.#pixelsPerValue();
		const last = tree.levelStart[level + 1];
		let node = tree.firstEndingAfter(range.from, tree.levelStart[level], last);

		this.run = null;
		while (node < last && tree.start[node] < range.to) {
			const left = (tree.start[node] - range.from) * scale;
			const right = (tree.end(node) - range.from) * scale;
			if (right - left >= 1) {
				this.#drawFrame(node, left, right, y);
				node++;
				continue;
			}
			// all that start within the next pixel are one to the eye; the last may reach beyond
			let next = tree.firstStartingAt(range.from + (left + 1) / scale, node + 1, last);
			if (next > node + 1 && tree.width[next - 1] * scale >= 1)
				next--;
			this.#addToRun(node, next, left, (tree.end(next - 1) - range.from) * scale, y);
			node = next;
		}
		this.#drawRun(y);
	}

	/** A run is a stretch of narrow nodes of one colour, drawn as one rectangle. */
	#addToRun(from, to, left, right, y) {
		const isMatch = this.matches?.any(from, to);
		const paint = isMatch ? this.colours.match : this.colours.plainPaint(from);
		const fill = this.#isFaint(from, isMatch) ? paint.faint : paint.fill;

		if (this.run && this.run.fill === fill && left - this.run.right < 0.5) {
			this.run.right = right;
			return;
		}
		this.#drawRun(y);
		this.run = { fill, left, right };
	}

	#drawRun(y) {
		if (!this.run)
			return;
		this.#fillRect(this.run.fill, this.run.left, y, this.run.right - this.run.left);
		this.run = null;
	}

	#fillRect(fill, x, y, width) {
		this.pen.fillStyle = fill;
		this.pen.fillRect(x, y, width, ROW - 1);
	}

	#isFaint(node, isMatch) {
		if (this.matches)
			return !isMatch;
		return this.tree.level[node] < this.tree.level[this.root];
	}

	#drawFrame(node, left, right, y) {
		const isMatch = this.matches?.hit[node];
		const isFaint = this.#isFaint(node, isMatch);
		const paint = isMatch ? this.colours.match : this.colours.paint(node);
		// whole device pixels make sharp edges; one stays free between neighbours
		const from = Math.round(Math.max(left, 0) * this.ratio) / this.ratio;
		const to = Math.round(Math.min(right, this.width) * this.ratio) / this.ratio;
		const width = to - from > 2.5 ? to - from - 1 : to - from > 1.5 ? to - from - 0.5 : to - from;

		this.#fillRect(isFaint ? paint.faint : paint.fill, from, y, width);
		if (this.tree.guess[node] && width > 3)
			this.#fillRect(this.hatching, from, y, width);
		if (width < LABEL_WIDTH)
			return;
		this.pen.fillStyle = isFaint ? paint.faintInk : paint.ink;
		this.#drawLabel(this.tree.frame[node], from + PADDING, y + ROW / 2, width - 2 * PADDING);
	}

	#drawLabel(frame, x, y, room) {
		const label = this.labels[frame] ??= this.#labelOf(frame);
		const columns = Math.floor(room / this.column);
		const name = label.whole.length <= columns ? label.whole : label.short;
		const text = name.length <= columns ? name : `${name.slice(0, columns - 1)}\u2026`;

		if (label.isPlain)
			this.pen.fillText(text, x, y);
		else // characters may be wider than a column: the browser squeezes them, which takes longer
			this.pen.fillText(text, x, y, room);
	}

	#labelOf(frame) {
		const whole = this.frames.name[frame];
		return { whole, short: withoutParameters(whole), isPlain: PLAIN_TEXT.test(whole) };
	}

	/** Thin diagonal lines over frames that were guessed. */
	#makeHatching(ink) {
		const tile = document.createElement('canvas');
		tile.width = tile.height = 8;
		const pen = tile.getContext('2d');
		pen.strokeStyle = ink;
		pen.globalAlpha = 0.22;
		pen.lineWidth = 1.5;
		for (const x of [-8, 0, 8]) {
			pen.moveTo(x, 8);
			pen.lineTo(x + 8, 0);
		}
		pen.stroke();
		return this.pen.createPattern(tile, 'repeat');
	}

	#drawOutline(node, thickness) {
		if (node < 0)
			return;
		const box = this.boxOf(node);
		if (box.width < 0 || box.top < -ROW || box.top > this.height)
			return;
		this.pen.strokeStyle = this.ink;
		this.pen.lineWidth = thickness;
		this.pen.strokeRect(box.left + thickness / 2, box.top + thickness / 2,
			Math.max(box.width - 1 - thickness, 1), ROW - 1 - thickness);
	}
}
