// SPDX-License-Identifier: Apache-2.0
// Draws the part of a tree that can be seen. The work is bounded by the pixels: levels out of sight
// are skipped by their number, nodes beside the window by binary search, nodes narrower than a pixel
// are drawn as one, and narrow ones as pixels of a line.
import { withoutParameters } from '../format';
import type { Colours, Paint } from './colours';
import type { Labels } from './labels';
import type { Lines } from './lines';
import type { Matches } from './search';
import type { Tree } from './tree';
import { topOfLevel, type Range, type Rows } from './viewport';

export const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const LABEL_WIDTH = 30; // narrower frames get no text
const NARROW = 6; // narrower frames are pixels of a line
const PADDING = 4; // before and after a label
const LONGEST = 500; // characters: more than a screen shows
const PLAIN = /^[ -~]*$/; // every character takes one column

interface Fitting {
	whole: string;
	short: string; // without parameters
	isPlain: boolean;
}

/** The texts of labels, made when they are first seen. */
export class Fittings {
	private readonly known: (Fitting | undefined)[] = [];

	constructor(private readonly labels: Labels) {}

	of(label: number): Fitting {
		return this.known[label] ??= this.#make(this.labels.name[label]!, this.labels.isFunction(label));
	}

	#make(name: string, isFunction: boolean): Fitting {
		const whole = name.slice(0, LONGEST);
		const short = isFunction ? withoutParameters(name).slice(0, LONGEST) : whole;
		return { whole, short, isPlain: PLAIN.test(whole) };
	}
}

/** The text for a number of columns: the name, the name without parameters, or its beginning. */
export function fit(label: Fitting, columns: number): string {
	const name = label.whole.length <= columns ? label.whole : label.short;
	if (name.length <= columns)
		return name;
	let end = Math.max(columns - 1, 0);
	const last = name.charCodeAt(end - 1);
	if (last >= 0xd800 && last < 0xdc00)
		end--; // not through the middle of a character
	return `${name.slice(0, end)}\u2026`;
}

/** All that a picture follows from. Pixels are those of CSS; ratio: of the screen's to them. */
export interface Scene {
	tree: Tree;
	labels: Labels;
	fittings: Fittings;
	colours: Colours;
	matches: Matches | null;
	/** What is left of the node zoomed to stands back. */
	zoomed: number;
	range: Range;
	rows: Rows;
	scrollTop: number;
	width: number;
	height: number;
	ratio: number;
	column: number; // the width of a character
	hatching: CanvasPattern | string;
	lines: Pick<Lines, 'begin' | 'add' | 'end' | 'draw'>;
}

export class Painter {
	private readonly scale: number;
	private fill = '';

	constructor(private readonly pen: CanvasRenderingContext2D, private readonly scene: Scene) {
		this.scale = scene.width / (scene.range.to - scene.range.from || 1);
	}

	draw(): void {
		const { pen, scene } = this;
		const { tree, rows, ratio, lines } = scene;
		const inSight: { level: number; y: number }[] = [];

		for (let level = 0; level < tree.depth; level++) {
			const y = topOfLevel(rows, level) - scene.scrollTop;
			if (y > -rows.row && y < scene.height)
				inSight.push({ level, y });
		}
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, scene.width, scene.height);
		pen.font = FONT;
		pen.textBaseline = 'middle';
		pen.direction = 'ltr';
		lines.begin(Math.round(scene.width * ratio), inSight.length);
		inSight.forEach(({ level, y }, line) => this.#level(level, line, y));
		lines.end();
		inSight.forEach(({ y }, line) => lines.draw(pen, line, 0, y, scene.width, rows.row - 1));
	}

	/** A line around a node. */
	outline(node: number, thickness: number, colour: string): void {
		const { pen, scene } = this;
		const box = boxOf(scene, node);

		if (box.width < 0 || box.top < -scene.rows.row || box.top > scene.height)
			return;
		pen.strokeStyle = colour;
		pen.lineWidth = thickness;
		pen.strokeRect(box.left + thickness / 2, box.top + thickness / 2,
			Math.max(box.width - 1 - thickness, 1), scene.rows.row - 1 - thickness);
	}

	#level(level: number, line: number, y: number): void {
		const { scale, scene: { tree, range, ratio } } = this;
		const { start, width } = tree;
		const last = tree.levelStart[level + 1]!;
		const pixel = 1 / ratio;
		let node = tree.firstEndingAfter(range.from, tree.levelStart[level]!, last);

		while (node < last && start[node]! < range.to) {
			const left = (start[node]! - range.from) * scale;
			const right = left + width[node]! * scale;
			if (right - left >= pixel) {
				this.#frame(node, left, right, line, y);
				node++;
				continue;
			}
			// all that start within the next pixel are one to the eye; the last may reach beyond
			let next = node + 1;
			if (next < last && (start[next]! - range.from) * scale < left + pixel) {
				next = tree.firstStartingAt(range.from + (left + pixel) / scale, next, last);
				if (next > node + 1 && width[next - 1]! * scale >= pixel)
					next--;
			}
			this.#many(node, next, left, (tree.end(next - 1) - range.from) * scale, line);
			node = next;
		}
	}

	/** Nodes that are one to the eye. */
	#many(from: number, to: number, left: number, right: number, line: number): void {
		const { colours, matches, lines, ratio } = this.scene;
		const isMatch = matches?.any(from, to) ?? false;
		const paint = isMatch ? colours.match : colours.plainPaint(from);
		const bits = this.#isFaint(from, isMatch) ? paint.faintBits : paint.fillBits;

		lines.add(line, left * ratio, right * ratio, bits);
	}

	#rect(fill: string, x: number, y: number, width: number): void {
		if (this.fill !== fill) {
			this.fill = fill;
			this.pen.fillStyle = fill;
		}
		this.pen.fillRect(x, y, width, this.scene.rows.row - 1);
	}

	#isFaint(node: number, isMatch: boolean): boolean {
		const { matches, tree, zoomed } = this.scene;
		if (matches)
			return !isMatch;
		return tree.level[node]! < tree.level[zoomed]!;
	}

	#frame(node: number, left: number, right: number, line: number, y: number): void {
		const { tree, labels, colours, matches, width, ratio, lines } = this.scene;
		const isMatch = matches !== null && matches.hit[node] === 1;
		const isFaint = this.#isFaint(node, isMatch);
		const paint = isMatch ? colours.match : colours.paint(node);
		// whole pixels of the screen make sharp edges; one stays free between neighbours
		const from = Math.round(Math.max(left, 0) * ratio) / ratio;
		const to = Math.round(Math.min(right, width) * ratio) / ratio;
		const size = to - from;
		const filled = size > 2.5 ? size - 1 : size > 1.5 ? size - 0.5 : Math.max(size, 1 / ratio);
		const label = tree.label[node]!;

		if (size < NARROW) {
			lines.add(line, from * ratio, (from + filled) * ratio, isFaint ? paint.faintBits : paint.fillBits);
			return;
		}
		this.#rect(isFaint ? paint.faint : paint.fill, from, y, filled);
		if (tree.guess[node] || labels.isMark(label))
			this.#hatch(from, y, filled);
		if (filled >= LABEL_WIDTH)
			this.#label(label, paint, isFaint, from, y, filled);
	}

	#hatch(x: number, y: number, width: number): void {
		this.pen.fillStyle = this.scene.hatching;
		this.fill = '';
		this.pen.fillRect(x, y, width, this.scene.rows.row - 1);
	}

	#label(label: number, paint: Paint, isFaint: boolean, x: number, y: number, width: number): void {
		const { pen, scene } = this;
		const room = width - 2 * PADDING;
		const fitting = scene.fittings.of(label);
		const text = fit(fitting, Math.floor(room / scene.column));
		const ink = isFaint ? paint.faintInk : paint.ink;
		const middle = y + scene.rows.row / 2;

		if (this.fill !== ink) {
			this.fill = ink;
			pen.fillStyle = ink;
		}
		if (fitting.isPlain)
			pen.fillText(text, x + PADDING, middle);
		else // characters may be wider than a column: the browser squeezes them, which takes longer
			pen.fillText(text, x + PADDING, middle, room);
	}
}

/** Where a node is on the canvas. */
export function boxOf(scene: Scene, node: number): { left: number; top: number; width: number } {
	const { tree, range, width } = scene;
	const scale = width / (range.to - range.from || 1);
	const left = Math.max((tree.start[node]! - range.from) * scale, 0);
	const right = Math.min((tree.end(node) - range.from) * scale, width);

	return { left, top: topOfLevel(scene.rows, tree.level[node]!) - scene.scrollTop, width: right - left };
}

/** Thin diagonal lines, over frames that were guessed and over what is not code. */
export function hatchingOf(pen: CanvasRenderingContext2D, ink: string): CanvasPattern | string {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 8;
	const lines = tile.getContext('2d')!;
	lines.strokeStyle = ink;
	lines.globalAlpha = 0.22;
	lines.lineWidth = 1.5;
	for (const x of [-8, 0, 8]) {
		lines.moveTo(x, 8);
		lines.lineTo(x + 8, 0);
	}
	lines.stroke();
	return pen.createPattern(tile, 'repeat') ?? 'transparent';
}
