// SPDX-License-Identifier: Apache-2.0
// The whole graph in a narrow strip, with a mark around what the window shows.
import type { Colours } from './colours';
import { addStretch } from './lines';
import type { Matches } from './search';
import type { Tree } from './tree';
import type { Range } from './viewport';

export interface Map {
	tree: Tree;
	colours: Colours;
	matches: Matches | null;
	isIcicle: boolean;
	scale: MapScale;
	/** in pixels of the screen */
	width: number;
	height: number;
}

const HEIGHTS = [44, 80, 120] as const;
const NEAR_PART = 2 / 3; // of a strip that has not a pixel for each level: for those near the root

/**
 * Which levels are where in the strip. Of stacks that are hundreds of frames deep, nearly all of the width is near the
 * root: there each level has a pixel, and what is deeper shares the rest of the strip.
 * Parts of the height are 0 at the root, and 1.
 */
export class MapScale {
	/**
	 * In pixels of CSS. It rises in steps, so that what stands below the strip stays where it is when the next answer
	 * is a little deeper.
	 */
	readonly height: number;
	private readonly near: number; // levels
	private readonly nearPart: number;

	/** isSmall: of a small screen, where the strip is not to take the place of the graph. */
	constructor(private readonly depth: number, isSmall = false) {
		const most = HEIGHTS[isSmall ? 1 : 2];
		this.height = HEIGHTS.find((height) => height >= depth && height <= most) ?? most;
		const isDeep = depth > this.height;
		this.nearPart = isDeep ? NEAR_PART : 1;
		this.near = isDeep ? this.height * NEAR_PART : depth;
	}

	partOf(level: number): number {
		const { depth, near, nearPart } = this;
		const at = Math.min(Math.max(level, 0), depth);
		return at <= near ? at / near * nearPart : nearPart + (at - near) / (depth - near) * (1 - nearPart);
	}

	/** In parts of a level. */
	levelAt(part: number): number {
		const { depth, near, nearPart } = this;
		const at = Math.min(Math.max(part, 0), 1);
		return at <= nearPart ? at / nearPart * near : near + (at - nearPart) / (1 - nearPart) * (depth - near);
	}

	/** Of the levels that a line of pixels stands for, the one next to the root: it covers what is above it. */
	levelOfLine(lines: number, isIcicle: boolean, line: number): number {
		const fromRoot = isIcicle ? line : lines - 1 - line;
		// a level begins where its line does, however the division rounds
		return Math.min(Math.floor(this.levelAt(fromRoot / lines) + 1e-6), this.depth - 1);
	}
}

/** At each line and pixel, the node there; narrower ones between two pixels are left out. */
export function drawMap(pixels: Uint32Array, map: Map): void {
	const { scale, width, height, isIcicle } = map;
	let line = 0;

	pixels.fill(0);
	while (line < height) {
		const level = scale.levelOfLine(height, isIcicle, line);
		const from = line++ * width;
		drawLevel(pixels, from, map, level);
		for (; line < height && scale.levelOfLine(height, isIcicle, line) === level; line++)
			pixels.copyWithin(line * width, from, from + width);
	}
}

function drawLevel(pixels: Uint32Array, at: number, map: Map, level: number): void {
	const { tree, colours, matches, width } = map;
	const scale = width / (tree.width[0] || 1);
	const last = tree.levelStart[level + 1]!;
	let node = tree.levelStart[level]!;

	while (node < last) {
		const left = tree.start[node]! * scale;
		const next = Math.max(tree.firstStartingAt((Math.floor(left) + 1) / scale, node, last), node + 1);
		const isMatch = matches?.any(node, next) ?? false;
		const paint = isMatch ? colours.match : colours.plainPaint(node);

		addStretch(pixels, at, width, left, tree.end(next - 1) * scale,
			matches && !isMatch ? paint.faintBits : paint.fillBits);
		node = next;
	}
}

/** Where the mark is, in pixels: around a range of the width, and what is in sight in parts of the height. */
export function markOf(map: { width: number; height: number }, range: Range, whole: number,
	inSight: { top: number; bottom: number }): { x: number; y: number; width: number; height: number } {
	const across = map.width / (whole || 1);
	const x = range.from * across;
	const y = inSight.top * map.height;

	return {
		x: Math.min(x, map.width - 2),
		y: Math.min(y, map.height - 2),
		width: Math.max((range.to - range.from) * across, 2),
		height: Math.max(inSight.bottom * map.height - y, 2),
	};
}
