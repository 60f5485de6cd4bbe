// SPDX-License-Identifier: Apache-2.0

/**
 * Adds a stretch of a line of pixels, from left to right in pixels; where it covers a pixel in part,
 * that is so much less opaque. bits: 0xbbggrr. Pixels are as in ImageData, of a little-endian machine,
 * as all with a browser are; at: where the line begins.
 */
export function addStretch(pixels: Uint32Array, at: number, width: number, left: number, right: number,
	bits: number): void {
	const from = Math.max(left, 0), to = Math.min(right, width);
	const first = Math.floor(from), last = Math.floor(to);

	if (!(to > from))
		return;
	if (first === last) {
		cover(pixels, at + first, to - from, bits);
		return;
	}
	cover(pixels, at + first, first + 1 - from, bits);
	const full = (bits | 0xff000000) >>> 0;
	for (let i = at + first + 1; i < at + last; i++)
		pixels[i] = full;
	if (last < width)
		cover(pixels, at + last, to - last, bits);
}

/** The colour that covers more of a pixel is the pixel's. */
function cover(pixels: Uint32Array, at: number, part: number, bits: number): void {
	const before = pixels[at]!;
	const alpha = Math.round(part * 255), alphaBefore = before >>> 24;
	const colour = alpha >= alphaBefore ? bits : before & 0xffffff;

	if (alpha > 0)
		pixels[at] = (Math.min(alpha + alphaBefore, 255) << 24 | colour) >>> 0;
}

/**
 * Rows of narrow rectangles, each row as a line that is one pixel high: thousands of rectangles become
 * one picture, and drawing it costs the same however many they are.
 */
export class Lines {
	private readonly canvas = document.createElement('canvas');
	private readonly pen = this.canvas.getContext('2d')!;
	private image = new ImageData(1, 1);
	private pixels = new Uint32Array(this.image.data.buffer);

	/** Empties it, for a number of lines and their height in pixels. */
	begin(width: number, lines: number): void {
		if (this.image.width !== width || this.image.height < lines) {
			this.canvas.width = width;
			this.canvas.height = lines;
			this.image = new ImageData(width, lines);
			this.pixels = new Uint32Array(this.image.data.buffer);
		}
		this.pixels.fill(0);
	}

	add(line: number, left: number, right: number, bits: number): void {
		addStretch(this.pixels, line * this.image.width, this.image.width, left, right, bits);
	}

	/** After all that was added. */
	end(): void {
		this.pen.putImageData(this.image, 0, 0);
	}

	/** Draws a line as a rectangle. */
	draw(pen: CanvasRenderingContext2D, line: number, x: number, y: number, width: number, height: number): void {
		pen.imageSmoothingEnabled = false; // lines are not to run into each other
		pen.drawImage(this.canvas, 0, line, this.image.width, 1, x, y, width, height);
	}
}
