// SPDX-License-Identifier: Apache-2.0
// The time zone in which moments are written: the reader's, or UTC. Links hold none: they are of seconds.
const KEY = 'stackcam.zone';

export type Zone = 'local' | 'utc';

export const zone: Zone = localStorage.getItem(KEY) === 'utc' ? 'utc' : 'local';

/** The page is loaded anew: every moment on it is another text. */
export function setZone(to: Zone): void {
	if (to === 'local')
		localStorage.removeItem(KEY);
	else
		localStorage.setItem(KEY, to);
	location.reload();
}

const UNKNOWN = '????-??-??T??:??:??';

/** "2026-11-21T14:32:08" in that zone; of a moment that no calendar has, question marks. */
export function isoInZone(seconds: number): string {
	const date = new Date(seconds * 1000);
	const shown = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
	return Number.isNaN(shown.getTime()) ? UNKNOWN : shown.toISOString().slice(0, -5);
}

/** "UTC", "UTC+2", "UTC\u22123:30": at that moment, as summer has another one. */
export function zoneName(seconds: number): string {
	const minutes = zone === 'utc' ? 0 : -new Date(seconds * 1000).getTimezoneOffset();
	if (!minutes)
		return 'UTC';
	const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
	return `UTC${minutes < 0 ? '\u2212' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
}

/** Back from a text without a zone ("2026-11-21T14:32:08"); NaN: it is none. */
export function secondsIn(text: string): number {
	return Date.parse(zone === 'utc' ? `${text}Z` : text) / 1000;
}
