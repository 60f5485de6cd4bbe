// SPDX-License-Identifier: Apache-2.0
// The colour of a name: it follows from the name, at any rank. Where two names of a kind would have the same one, the
// second has another, and keeps it as long as the page is open and there are colours left.
import type { Theme } from '../flame/contract';

const HUES = 24;
/** Lightness and chroma of each tone, in OKLCH. */
const TONES: Record<Theme, readonly (readonly [number, number])[]> = {
	light: [[0.8, 0.11], [0.68, 0.13], [0.57, 0.13]],
	dark: [[0.7, 0.12], [0.6, 0.12], [0.5, 0.11]],
};
/** Those that nothing else has. */
const PALE: Record<Theme, readonly [number, number]> = { light: [0.88, 0.055], dark: [0.37, 0.045] };
const COUNT = HUES * TONES.light.length;
const STEP = 29; // to the next place, where one is taken: it has no divisor in common with COUNT
const OTHERS: Record<Theme, string> = { light: '#d3d6da', dark: '#50555d' };

/** FNV-1a, of 32 bits. */
function hashOf(name: string): number {
	let hash = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(name))
		hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return hash;
}

/**
 * A place for each name in [0, COUNT), which follows from the name. Where two names have the same one, the later in the
 * alphabet takes the next that is free. known: places of earlier names, which stay while there are places for the new ones;
 * else those that are not among the names are forgotten.
 */
export function placesOf(names: readonly string[], known: Map<string, number>): Map<string, number> {
	const shown = new Set(names), added = [...shown].filter((name) => !known.has(name)).sort();
	if (added.length > 0 && known.size + added.length > COUNT)
		for (const name of known.keys())
			if (!shown.has(name))
				known.delete(name);
	const taken = new Set(known.values());
	for (const name of added) {
		let place = hashOf(name) % COUNT;
		for (let tries = 0; tries < COUNT && taken.has(place) && taken.size < COUNT; tries++)
			place = (place + STEP) % COUNT;
		taken.add(place);
		known.set(name, place);
	}
	return known;
}

function oklch([lightness, chroma]: readonly [number, number], hue: number): string {
	return `oklch(${lightness} ${chroma} ${hue})`;
}

function colourAt(theme: Theme, place: number): string {
	const tones = TONES[theme];
	return oklch(tones[place % tones.length]!, Math.floor(place / tones.length) * 360 / HUES);
}

/** The colour of each name; '': that of all others. */
export type NameColours = (name: string) => string;

const kept = new Map<string, Map<string, number>>();

/** what: the kind of the names ("service"): each has places of its own. */
export function coloursOf(theme: Theme, what: string, names: readonly string[]): NameColours {
	let known = kept.get(what);
	if (!known)
		kept.set(what, known = new Map());
	const named = names.filter(Boolean), places = placesOf(named, known);
	const colours = new Map(named.map((name) => [name, colourAt(theme, places.get(name)!)]));
	return (name) => colours.get(name) ?? OTHERS[theme];
}

/** Pale ones, which no state of a thread has. */
export function paleOf(theme: Theme, name: string): string {
	return oklch(PALE[theme], hashOf(name) % HUES * 360 / HUES);
}
