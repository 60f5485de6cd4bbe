// SPDX-License-Identifier: Apache-2.0
// The moments above the lanes: since the beginning, or as times of day.
import { clockOf } from '../state/range';
import { type Origin, type Stretch, tickText, ticksOf, wallTicksOf } from './time';

const APART = 110; // pixels between two marks, at least
const LETTER = 6.5; // pixels: words that would be cut at the edge are left out

export function Ruler({ range, width, origin, isWall }: {
	range: Stretch; width: number; origin: Origin; isWall: boolean;
}) {
	const perPixel = (range.to - range.from) / Math.max(width, 1);
	const ticks = isWall ? wallTicksOf(range, perPixel * APART, origin) : ticksOf(range, perPixel * APART);
	const apart = ticks.length > 1 ? ticks[1]! - ticks[0]! : perPixel * APART;
	const shownAt = (at: number, words: string) => ((range.to - at) / perPixel > words.length * LETTER ? words : '');
	return <div class="tl-ruler" aria-hidden="true">
		{ticks.map((at) => <span key={at} style={{ transform: `translateX(${(at - range.from) / perPixel}px)` }}>
			{shownAt(at, isWall ? wallText(origin, at, apart) : tickText(at, apart, range.to))}</span>)}
	</div>;
}

/** "14:32:08.123": as many digits as marks so far apart need */
function wallText(origin: Origin, at: number, apart: number): string {
	const word = origin.wordOf(at);
	const [seconds, rest = ''] = word.split('.');
	const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(apart))));
	return clockOf(Number(seconds)) + (digits ? `.${rest.padEnd(9, '0').slice(0, digits)}` : '');
}
