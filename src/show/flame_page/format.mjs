// SPDX-License-Identifier: Apache-2.0
// Names and numbers, for people.

// Control characters and marks that reorder the text around them.
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A name from outside as it may be shown and copied. */
export function safe(text) {
	return text.replace(UNSHOWN, '\ufffd');
}

/** "1,234,567" */
export function count(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function duration(ns) {
	const steps = [['ns', 1], ['us', 1e3], ['ms', 1e6], ['s', 1e9]];
	const [unit, size] = steps[ns < 1e3 ? 0 : ns < 1e6 ? 1 : ns < 1e9 ? 2 : 3];
	return size === 1 ? `${Math.round(ns)} ns` : `${(ns / size).toFixed(3)} ${unit}`;
}

function bytes(n) {
	if (n < 1000)
		return `${Math.round(n)} B`;
	const units = ['kB', 'MB', 'GB', 'TB'];
	let i = 0;
	for (n /= 1000; n >= 999.95 && i + 1 < units.length; i++)
		n /= 1000;
	return `${n.toFixed(1)} ${units[i]}`;
}

/** The function that writes values of a unit: "1.234 s", "12.3 MB", "1,234". */
export function formatOf(unit) {
	const format = { ns: duration, bytes }[unit] ?? count;
	return (value) => (value < 0 ? `\u2212${format(-value)}` : format(value));
}

/** "12.34%" of whole, or a dash where there is no whole. */
export function percent(part, whole) {
	return whole > 0 ? `${(100 * part / whole).toFixed(2)}%` : '\u2013';
}

/** "+1.20 points": how a share changed; unit: another word for it. */
export function points(change, unit = 'points') {
	const rounded = (100 * change).toFixed(2);
	return `${rounded > 0 ? '+' : ''}${rounded.replace('-', '\u2212')} ${unit}`;
}

/** "a/b/libc.so.6" to "libc.so.6" */
export function baseName(path) {
	return path.slice(path.lastIndexOf('/', path.length - 2) + 1);
}

/** A C++ or Rust name without its parameters, for where the whole name has no room. */
export function withoutParameters(name) {
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
