// SPDX-License-Identifier: Apache-2.0
// How classes of slices look. What a colour says, a height says too: a thread that runs fills its lane, one that could
// run three quarters, one that waits half, one without work a quarter; so the picture needs no eye for colours.
import type { Theme } from '../flame/contract';
import { timelineText as words } from '../text/timeline';

export type Family = 'run' | 'ready' | 'lock' | 'storage' | 'network' | 'ipc' | 'idle' | 'other' | 'hole';

/** In the order of the key. */
export const FAMILIES: readonly Family[] = ['run', 'ready', 'lock', 'storage', 'network', 'ipc', 'idle', 'other', 'hole'];

const OF_CLASS: Record<string, Family> = {
	'on-cpu': 'run', running: 'run',
	woken: 'ready', preempted: 'ready', ready: 'ready', throttled: 'ready',
	lock: 'lock',
	disk: 'storage', file: 'storage', 'page-fault': 'storage', io_uring: 'storage',
	connect: 'network', 'socket-read': 'network', 'socket-write': 'network',
	ipc: 'ipc', child: 'ipc',
	sleep: 'idle', poll: 'idle', accept: 'idle', signal: 'idle', 'no-work': 'idle', stopped: 'idle',
	hole: 'hole', unknown: 'hole',
};

/** Parts of a lane's height. */
const HEIGHTS: Record<Family, number> = {
	run: 1, ready: 0.75, lock: 0.5, storage: 0.5, network: 0.5, ipc: 0.5, other: 0.5, idle: 0.25, hole: 1,
};

/** After Okabe and Ito's palette, which people with any kind of colour blindness tell apart. */
const COLOURS: Record<Theme, Record<Family, string>> = {
	light: {
		run: '#009e73', ready: '#e69f00', lock: '#c1559b', storage: '#0072b2', network: '#56b4e9', ipc: '#7d6bb0',
		idle: '#a9b0bb', other: '#8a6d3b', hole: '#6b7280',
	},
	dark: {
		run: '#1fb98c', ready: '#f0ad1e', lock: '#d987b8', storage: '#3f97d6', network: '#7cc7f2', ipc: '#a493d6',
		idle: '#5b6370', other: '#b08d57', hole: '#9aa3b0',
	},
};

export function familyOf(name: string): Family {
	return OF_CLASS[name] ?? 'other';
}

/** A class in words: its own name, where there are none for it. */
export function className(name: string): string {
	return words.classes[name] ?? name;
}

/** A part of the lane's height. */
export function heightOf(family: Family): number {
	return HEIGHTS[family];
}

export function colourOf(theme: Theme, family: Family): string {
	return COLOURS[theme][family];
}

/** What painting needs of each class, by its index in an answer. */
export interface Look {
	/** as ImageData has it: bytes in the order R, G, B, A */
	colour: Uint32Array;
	/** parts of the lane's height */
	height: Float64Array;
	isHatched: Uint8Array;
}

/** "#rrggbb" as a pixel. */
export function pixelOf(colour: string): number {
	const rgb = parseInt(colour.slice(1), 16);
	return (255 << 24 | (rgb & 255) << 16 | (rgb >> 8 & 255) << 8 | rgb >> 16) >>> 0;
}

/** From here on the same classes look faint: those that are searched for stand out. */
export const FAINT = 64;
const FAINT_ALPHA = 0x30;

/** The same pixel, nearly transparent. */
const faintOf = (pixel: number) => ((pixel & 0xffffff) | FAINT_ALPHA << 24) >>> 0;

export function lookOf(theme: Theme, classes: readonly string[]): Look {
	const known = classes.slice(0, FAINT).map(familyOf);
	const families = [...known, ...Array<Family>(FAINT - known.length).fill('other'), ...known];
	return {
		colour: Uint32Array.from(families, (family, i) => (i < FAINT ? pixelOf(colourOf(theme, family)) : faintOf(pixelOf(colourOf(theme, family))))),
		height: Float64Array.from(families, (family) => HEIGHTS[family]),
		isHatched: Uint8Array.from(families, (family) => (family === 'hole' ? 1 : 0)),
	};
}
