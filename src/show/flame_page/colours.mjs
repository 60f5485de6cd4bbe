// SPDX-License-Identifier: Apache-2.0
import { baseName } from './format.mjs';

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function mix(hex, other, part) {
	const [a, b] = [channels(hex), channels(other)];
	return `rgb(${a.map((value, i) => Math.round(value * (1 - part) + b[i] * part))})`;
}

/** A fill with the colour of text on it, and both as they look when something else matters more. */
function paintOf(fill, ink, ground) {
	return { fill, ink, faint: mix(fill, ground, 0.72), faintInk: mix(ink, ground, 0.35) };
}

/**
 * Which paint each node gets. A mode is "kind", "image" or "change"; paints are numbered
 * slot * shades + shade, and the first shade of a slot stands for many nodes drawn as one.
 */
export class Colours {
	constructor(data, tree, frames) {
		this.data = data;
		this.tree = tree;
		this.frames = frames;
		this.modes = data.diff ? ['change', 'kind', 'image'] : ['kind', 'image'];
		this.ofNode = new Uint8Array(tree.size);
		this.imageRank = this.#rankImages();
		this.setMode(this.modes[0]);
	}

	/** ink is the colour of text on ground; what a search found has them the other way round. */
	setTheme(theme, ink, ground) {
		const palette = this.data.palette[theme];
		this.paints = Object.fromEntries(['kind', 'image', 'change'].map((mode) =>
			[mode, palette[mode].flat().map((fill) => paintOf(fill, ink, ground))]));
		this.match = paintOf(palette.match, ground, ground);
	}

	setMode(mode) {
		const { tree, frames } = this;
		const slotOf = {
			kind: (node) => frames.kind[tree.frame[node]],
			image: (node) => this.imageRank[frames.image[tree.frame[node]]],
			change: (node) => this.#changeStep(node),
		}[mode];

		this.mode = mode;
		this.shades = this.data.palette.light[mode][0].length;
		for (let node = 0; node < tree.size; node++) {
			const frame = tree.frame[node];
			const shade = frames.kind[frame] ? Math.imul(frame, 0x9e3779b1) >>> 30 : 0;
			this.ofNode[node] = slotOf(node) * this.shades + shade % this.shades;
		}
	}

	nextMode() {
		const { modes } = this;
		return modes[(modes.indexOf(this.mode) + 1) % modes.length];
	}

	paint(node) {
		return this.paints[this.mode][this.ofNode[node]];
	}

	plainPaint(node) {
		const number = this.ofNode[node];
		return this.paints[this.mode][number - number % this.shades];
	}

	/** The share of a node in all, minus what it was before. */
	change(node) {
		const { after, before } = this.tree;
		return (after[0] && after[node] / after[0]) - (before[0] && before[node] / before[0]);
	}

	#changeStep(node) {
		const { steps } = this.data;
		const change = this.change(node);
		const size = steps.filter((step) => Math.abs(change) * 100 >= step).length;
		return steps.length + (change < 0 ? -size : size);
	}

	/** The images with the largest self values get a colour of their own, the rest shares the last. */
	#rankImages() {
		const { tree, frames } = this;
		const self = new Float64Array(frames.images.length);
		for (let node = 0; node < tree.size; node++)
			self[frames.image[tree.frame[node]]] += tree.self[node];
		const last = this.data.palette.light.image.length - 1;
		const rank = new Uint8Array(self.length).fill(last);
		this.rankedImages = [...self.keys()].filter((image) => self[image] && frames.images[image])
			.sort((a, b) => self[b] - self[a]).slice(0, last);
		this.rankedImages.forEach((image, i) => rank[image] = i);
		return rank;
	}

	/** What the colours of the mode mean: [fill, words] each. */
	legend() {
		const { data, frames } = this;
		const fills = this.paints[this.mode].filter((paint, i) => i % this.shades === 0)
			.map((paint) => paint.fill);

		if (this.mode === 'change') {
			const half = data.steps.length;
			return fills.map((fill, i) => [fill, i === half ? 'same' :
				`${i < half ? '\u2212' : '+'}${data.steps[Math.abs(i - half) - 1]}`]);
		}
		if (this.mode === 'image')
			return [...this.rankedImages.map((image, i) => [fills[i], baseName(frames.images[image])]),
				[fills[fills.length - 1], 'other']];
		const present = new Set(frames.kind);
		return fills.map((fill, kind) => [fill, data.kinds[kind]])
			.filter((entry, kind) => kind > 0 && present.has(kind));
	}
}
