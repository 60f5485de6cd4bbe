// SPDX-License-Identifier: Apache-2.0
import { baseName } from '../format';
import type { Colouring, Theme } from './contract';
import type { Labels } from './labels';
import { LANGUAGES, languageOf } from './language';
import { changeStep, fillsOf, KINDS, matchOf, SHADES, shaded, STEPS } from './palette';
import type { Tree } from './tree';

/** A fill with the colour of text on it, and both as they look when something else matters more. */
export interface Paint {
	fill: string;
	ink: string;
	faint: string;
	faintInk: string;
	/** fill and faint as 0xbbggrr */
	fillBits: number;
	faintBits: number;
}

const FAINT = 0.72; // how much of the ground is in a colour that stands back

/** 0xrrggbb, as all numbers here but those that are called bits */
function mix(from: number, to: number, part: number): number {
	const channel = (shift: number) =>
		Math.round((from >> shift & 0xff) * (1 - part) + (to >> shift & 0xff) * part) << shift;
	return channel(16) | channel(8) | channel(0);
}

const cssOf = (colour: number) => `#${colour.toString(16).padStart(6, '0')}`;
const bitsOf = (colour: number) => (colour & 0xff) << 16 | colour & 0xff00 | colour >> 16;

function paintOf(fill: number, ink: number, ground: number): Paint {
	const faint = mix(fill, ground, FAINT);
	return {
		fill: cssOf(fill),
		ink: cssOf(ink),
		faint: cssOf(faint),
		faintInk: cssOf(mix(ink, ground, 0.35)),
		fillBits: bitsOf(fill),
		faintBits: bitsOf(faint),
	};
}

/** The colours of text and of what is behind everything (style/: --ink, --ground). */
const GROUNDS: Record<Theme, { ink: number; ground: number }> = {
	light: { ink: 0x17191c, ground: 0xffffff },
	dark: { ink: 0xeceef1, ground: 0x15171b },
};

function hash(text: string): number {
	let value = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
	return value >>> 30;
}

/** An entry of the legend; which, where its words depend on the language of the page. */
interface Meaning {
	fill: string;
	key: string;
	/** key is a word of en.flame.kinds or en.flame.languages, else it is shown as it is */
	isWord: boolean;
}

/** The share of a node in all, minus what it was before. */
export function changeOf(tree: Tree, node: number): number {
	const { total, beforeTotal } = tree;
	if (!beforeTotal)
		return 0;
	return (total[0] ? total[node]! / total[0] : 0) -
		(beforeTotal[0] ? beforeTotal[node]! / beforeTotal[0] : 0);
}

/** The images with the largest self values, at most `most`. What was left out below a frame counts as its own. */
function rankImages(tree: Tree, labels: Labels, most: number): string[] {
	const self = new Map<string, number>();
	for (let node = 0; node < tree.size; node++) {
		const own = tree.label[node]!;
		const isLeftOut = labels.isSmaller(own);
		const image = labels.image[isLeftOut ? tree.label[tree.parent[node]!]! : own]!;
		const value = isLeftOut ? tree.total[node]! : tree.self[node]!;
		if (image && value)
			self.set(image, (self.get(image) ?? 0) + value);
	}
	return [...self].sort((a, b) => b[1] - a[1]).slice(0, most).map(([image]) => image);
}

/**
 * Which paint each node gets. Paints are numbered slot * shades + shade, and the first shade of a
 * slot stands for many nodes drawn as one.
 */
export class Colours {
	readonly paints: Paint[];
	readonly match: Paint;
	readonly ink: string;
	/** as wanted; of one side there is no change */
	readonly colouring: Colouring;
	private readonly ofLabel: Uint8Array;
	/** of a comparison: in place of labels */
	private readonly ofNode: Uint8Array | null = null;
	private readonly shades: number;
	private readonly images: string[] = [];

	constructor(private readonly tree: Tree, private readonly labels: Labels, wanted: Colouring,
		theme: Theme) {
		const { ink, ground } = GROUNDS[theme];
		const isChange = wanted === 'change' && tree.beforeTotal !== null;
		const colouring = wanted === 'change' && !isChange ? 'kind' : wanted;
		const fills = fillsOf(theme, colouring === 'language' ? 'kind' : colouring);

		this.colouring = colouring;
		this.shades = isChange ? 1 : SHADES;
		this.paints = fills.flatMap((fill) => Array.from({ length: this.shades }, (_, shade) =>
			paintOf(shaded(fill, theme, shade), ink, ground)));
		this.match = paintOf(matchOf(theme), ground, ground);
		this.ink = cssOf(ink);
		if (colouring === 'image')
			this.images = rankImages(tree, labels, fills.length - 1);
		this.ofLabel = new Uint8Array(labels.size);
		if (isChange)
			this.ofNode = this.#byChange();
		else
			this.#byLabel();
	}

	#numberOf(node: number): number {
		return this.ofNode ? this.ofNode[node]! : this.ofLabel[this.tree.label[node]!]!;
	}

	paint(node: number): Paint {
		return this.paints[this.#numberOf(node)]!;
	}

	plainPaint(node: number): Paint {
		const number = this.#numberOf(node);
		return this.paints[number - number % this.shades]!;
	}

	#byChange(): Uint8Array {
		const { tree } = this;
		const ofNode = new Uint8Array(tree.size);
		for (let node = 0; node < tree.size; node++)
			ofNode[node] = STEPS.length + changeStep(changeOf(tree, node));
		return ofNode;
	}

	#byLabel(): void {
		const { labels, ofLabel } = this;

		for (let label = 0; label < labels.size; label++) {
			const isCode = labels.isFunction(label);
			ofLabel[label] = this.#slot(label) * SHADES + (isCode ? hash(labels.name[label]!) : 0);
		}
	}

	#slot(label: number): number {
		const kind = this.labels.kind[label]!;

		if (this.colouring === 'language')
			return LANGUAGES.indexOf(languageOf(kind, this.labels.name[label]!));
		if (this.colouring === 'image') {
			const rank = this.images.indexOf(this.labels.image[label]!);
			return rank < 0 ? this.paints.length / SHADES - 1 : rank;
		}
		const slot = KINDS.indexOf(kind);
		return slot < 0 ? KINDS.indexOf('python') : slot; // of a later version: some runtime
	}

	/** What the colours mean, of those that are there. */
	legend(): Meaning[] {
		const fills = this.paints.filter((_, i) => i % this.shades === 0).map((paint) => paint.fill);

		if (this.colouring === 'change')
			return fills.map((fill, i) => ({ fill, key: stepWords(i - STEPS.length), isWord: i === STEPS.length }));
		const present = new Uint8Array(fills.length);
		this.tree.labelUsed.forEach((isUsed, label) => {
			if (isUsed)
				present[Math.floor(this.ofLabel[label]! / this.shades)] = 1;
		});
		const words: readonly string[] = this.colouring === 'language' ? LANGUAGES : KINDS;
		const isImage = this.colouring === 'image';
		return fills.map((fill, slot) => {
			const image = isImage ? this.images[slot] : undefined;
			return image ? { fill, key: baseName(image), isWord: false, slot } :
				{ fill, key: isImage ? 'other' : words[slot]!, isWord: true, slot };
		}).filter(({ key, slot }) => key !== 'group' && present[slot]);
	}
}

/** "−2", "+0.5": where the step begins, in percentage points. */
function stepWords(step: number): string {
	const points = STEPS[Math.abs(step) - 1];
	return points === undefined ? 'same' : `${step < 0 ? '\u2212' : '+'}${points}`;
}
