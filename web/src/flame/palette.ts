// SPDX-License-Identifier: Apache-2.0
// The colours of all flame graphs (src/show/palette.json; palette.h says where they come from).
import palette from '../../../src/show/palette.json';
import type { Theme } from './contract';

/** group and the kinds of frames, in the order of their colours */
export const KINDS: readonly string[] = palette.kinds;

export const SHADES = 4; // of each kind and image, so that neighbours can be told apart
/** The changes of share, in percentage points, where a new colour begins. */
export const STEPS: readonly number[] = palette.steps;

/** "#rrggbb" as a number */
const numberOf = (colour: string) => parseInt(colour.slice(1), 16);

export function fillsOf(theme: Theme, what: 'kind' | 'image' | 'change'): number[] {
	return palette[theme][what].map(numberOf);
}

export function matchOf(theme: Theme): number {
	return numberOf(palette[theme].match);
}

/** Moves a colour away from the text on it, once per shade: to white, or to black in the dark. */
export function shaded(colour: number, theme: Theme, shade: number): number {
	const end = theme === 'light' ? 0xff : 0;
	const parts = shade % SHADES * 9;
	const part = (shift: number) =>
		Math.floor(((colour >> shift & 0xff) * (100 - parts) + end * parts) / 100) << shift;

	return part(16) | part(8) | part(0);
}

/** The step, -4 (shrank much) … 4 (grew much), of a change of share (a part of one). */
export function changeStep(change: number): number {
	const step = STEPS.filter((points) => Math.abs(change) * 100 >= points).length;
	return change < 0 ? -step : step;
}
