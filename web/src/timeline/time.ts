// SPDX-License-Identifier: Apache-2.0
// Moments of the timeline: whole ns since the beginning of what is shown, which a number holds exactly for 104 days.
import { clockTime } from '../format';
import { clockOf, dayOf } from '../state/range';

const SECOND = 1_000_000_000n;
const WORD = /^(\d{1,10})(?:\.(\d{1,9}))?$/;

/** ns from and to, to is not in it. */
export interface Stretch {
	from: number;
	to: number;
}

/** ns since 1970 as unix seconds, exactly: "1732199528.000000001" */
function wordOf(ns: bigint): string {
	const rest = String(ns % SECOND).padStart(9, '0').replace(/0+$/, '');
	return rest ? `${ns / SECOND}.${rest}` : String(ns / SECOND);
}

function nsOf(word: string): bigint | null {
	const parts = WORD.exec(word);
	return parts ? BigInt(parts[1]!) * SECOND + BigInt((parts[2] ?? '').padEnd(9, '0')) : null;
}

/** Knows when the timeline begins. */
export class Origin {
	constructor(readonly base: bigint) {}

	/** The moment as the API and an address have it. */
	wordOf(ns: number): string {
		const at = this.base + BigInt(Math.round(ns));
		return wordOf(at < 0n ? 0n : at);
	}
	/** NaN: that is not a moment. */
	nsOf(word: string): number {
		const at = nsOf(word);
		return at === null ? NaN : Number(at - this.base);
	}
	/** ns since 1970, as the server gives it, to ns since the beginning. */
	offsetOf(base: string): number {
		return /^\d{1,20}$/.test(base) ? Number(BigInt(base) - this.base) : NaN;
	}
	/** "2026-11-21 14:32:08.123456789", in the zone of the page */
	wallOf(ns: number): string {
		const at = this.base + BigInt(Math.round(ns));
		const seconds = Number(at / SECOND);
		return `${dayOf(seconds)} ${clockOf(seconds)}.${String(at % SECOND).padStart(9, '0')}`;
	}
}

/** "1.234567890 s", "12.345 us": every digit that there is. */
export function exactly(ns: number): string {
	const sign = ns < 0 ? '\u2212' : '', at = Math.abs(Math.round(ns));
	const [unit, digits] = at < 1e3 ? ['ns', 0] : at < 1e6 ? ['us', 3] : at < 1e9 ? ['ms', 6] : ['s', 9];
	const whole = String(at).padStart((digits as number) + 1, '0');
	const split = whole.length - (digits as number);
	return `${sign}${whole.slice(0, split)}${digits ? `.${whole.slice(split)}` : ''} ${unit}`;
}

const STEPS = [1, 2, 5];
const CLOCK_STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((seconds) => seconds * 1e9);
const MINUTE = 60e9;

/** The marks of a ruler: at least `least` ns apart. */
export function ticksOf({ from, to }: Stretch, least: number): number[] {
	const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(least, 1))));
	const decimal = [...STEPS.map((times) => times * power), 10 * power].find((each) => each >= least)!;
	// minutes and hours have no decimal steps
	const step = decimal > 10e9 ? CLOCK_STEPS.find((each) => each >= least) ?? Math.ceil(least / 86400e9) * 86400e9 : decimal;
	const ticks: number[] = [];
	for (let at = Math.ceil(from / step) * step; at < to && ticks.length < 200; at += step)
		ticks.push(at);
	return ticks;
}

/** The marks of a ruler of times of day, which are round times of day. */
export function wallTicksOf({ from, to }: Stretch, least: number, { base }: Origin): number[] {
	const shift = Number(base % (86_400n * SECOND)); // in which a number still has each ns
	return ticksOf({ from: from + shift, to: to + shift }, least).map((at) => at - shift);
}

/** A mark's words: in the unit that fits the last one, no more digits than marks so far apart need. */
export function tickText(ns: number, apart: number, last = ns): string {
	if (apart >= 1e9 && ns >= MINUTE)
		return clockTime(ns);
	const [unit, size] = last >= 1e9 || apart >= 1e8 ? ['s', 1e9] as const :
		last >= 1e6 ? ['ms', 1e6] as const : last >= 1e3 ? ['us', 1e3] as const : ['ns', 1] as const;
	const digits = Math.max(0, Math.ceil(Math.log10(size / apart)));
	return `${(ns / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
