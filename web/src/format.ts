// SPDX-License-Identifier: Apache-2.0
// Names and numbers, for people.
import { flameText } from './text/flame';

// Control characters and marks that reorder the text around them.
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A name from outside as it may be shown and copied. */
export function safe(text: string): string {
	return text.replace(UNSHOWN, '\ufffd');
}

/** "1,234,567" */
export function count(n: number): string {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function duration(ns: number): string {
	if (ns < 1e3)
		return `${Math.round(ns)} ns`;
	const [unit, size] = ns < 1e6 ? ['us', 1e3] as const : ns < 1e9 ? ['ms', 1e6] as const : ['s', 1e9] as const;
	return `${(ns / size).toFixed(3)} ${unit}`;
}

/**
 * A duration that is known to 1/64 of itself, as quantiles are, with the digits that it has: "1.04 ms", "23 ms". It is
 * not more than the longest, which is exact.
 */
export function quantile(ns: number, longest: number): string {
	if (ns < 32 || ns >= longest)
		return duration(Math.min(ns, longest));
	const power = 10 ** Math.floor(Math.log10(ns) + 1e-12);
	const step = Math.max(power / (ns / power < 3 ? 100 : 10), 1);
	const near = Math.round(ns / step) * step, rounded = near > longest ? near - step : near;
	const [unit, size] = rounded < 1e3 ? ['ns', 1] as const : rounded < 1e6 ? ['us', 1e3] as const :
		rounded < 1e9 ? ['ms', 1e6] as const : ['s', 1e9] as const;
	return `${(rounded / size).toFixed(Math.max(0, Math.round(Math.log10(size / step))))} ${unit}`;
}

/** "1 h 49 min 36 s", in whole seconds */
export function clockTime(ns: number): string {
	const seconds = Math.round(ns / 1e9);
	const parts = [[Math.floor(seconds / 3600), 'h'], [Math.floor(seconds / 60) % 60, 'min'], [seconds % 60, 's']] as const;
	return parts.filter(([value]) => value).map(([value, unit]) => `${value} ${unit}`).join(' ');
}

/** "6.214 s", and of a minute and more as above */
export function lengthOfTime(ns: number): string {
	return ns < 59.5e9 ? duration(ns) : clockTime(ns);
}

function bytes(n: number): string {
	if (n < 1000)
		return `${Math.round(n)} B`;
	const units = ['kB', 'MB', 'GB', 'TB'];
	let i = 0;
	for (n /= 1000; n >= 999.95 && i + 1 < units.length; i++)
		n /= 1000;
	return `${n.toFixed(1)} ${units[i]}`;
}

const FORMATS: Record<string, (value: number) => string> = { ns: duration, bytes };

/** The function that writes values of a unit: "1.234 s", "12.3 MB", "1,234". */
export function formatOf(unit: string): (value: number) => string {
	const format = FORMATS[unit] ?? count;
	return (value) => (value < 0 ? `\u2212${format(-value)}` : format(value));
}

const COLUMN_UNITS: Record<string, [unit: string, size: number][]> = {
	ns: [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]],
	bytes: [['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]],
};

/** The same for a column of values, the largest of which is given: all in one unit, so that they can be compared. */
export function columnFormatOf(unit: string, largest: number): (value: number) => string {
	const steps = COLUMN_UNITS[unit];
	const step = steps?.find(([, size]) => Math.abs(largest) >= size);
	if (!step)
		return formatOf(unit);
	const [name, size] = step;
	const digits = size === 1 ? 0 : Math.abs(largest) >= 1000 * size ? 1 : 3;
	return (value) => `${value < 0 ? '\u2212' : ''}${(Math.abs(value) / size).toFixed(digits)} ${name}`;
}

/** "12.34%" of whole, or a dash where there is no whole. */
export function percent(part: number, whole: number): string {
	return whole > 0 ? `${(100 * part / whole).toFixed(2)}%` : '\u2013';
}

/** "+1.20 points": how a share changed; change is a part of one. */
export function points(change: number): string {
	const rounded = (100 * change).toFixed(2);
	return `${Number(rounded) > 0 ? '+' : ''}${rounded.replace('-', '\u2212')} ${flameText.points}`;
}

/** "+1.2 s" */
export function signed(change: number, format: (value: number) => string): string {
	return `${change < 0 ? '\u2212' : '+'}${format(Math.abs(change))}`;
}

/** "+120%", "new", "gone": how an amount changed, as a part of what it was. */
export function relative(before: number, now: number, digits = 2): string {
	if (!before)
		return now ? flameText.isNew : '';
	return now ? signed(now / before - 1, (change) => `${(100 * change).toFixed(digits)}%`) : flameText.isGone;
}

/** "a/b/libc.so.6" to "libc.so.6" */
export function baseName(path: string): string {
	return path.slice(path.lastIndexOf('/', path.length - 2) + 1);
}

/** A C++ or Rust name without its parameters, for where the whole name has no room. */
export function withoutParameters(name: string): string {
	const end = name.endsWith(' const') ? name.length - 6 : name.length;
	if (name[end - 1] !== ')')
		return name;
	let open = 0;
	for (let i = end - 1; i > 0; i--) {
		open += name[i] === ')' ? 1 : name[i] === '(' ? -1 : 0;
		if (open === 0)
			return name.slice(0, i);
	}
	return name;
}

const FEW = 0.001;

/** Whether a part is large enough to be told as one. */
export const isMuch = (part: number, whole: number) => whole > 0 && part / whole >= FEW;

/** "3", or "1.20%" of many */
export function partOf(part: number, whole: number): string {
	return isMuch(part, whole) ? percent(part, whole) : count(part);
}
