// SPDX-License-Identifier: Apache-2.0
// Where spans stand along the time of their request.
import type { Span } from './answers';

const LEAST = 0.3; // percent of the width, so that each can be seen

/** What lies between the least and the most of all, in percent: of the request, and of each span. */
export function placesOf(spans: Span[], start: bigint, duration: number): { request: [number, number]; spans: [number, number][] } {
	const at = spans.map((span) => Number(BigInt(span.start) - start));
	const from = Math.min(0, ...at), to = Math.max(duration, ...spans.map((span, i) => at[i]! + span.duration));
	const whole = Math.max(to - from, 1);
	const place = (begin: number, length: number): [number, number] => {
		const left = (begin - from) / whole * 100, width = Math.max(length / whole * 100, LEAST);
		return [Math.min(left, 100 - width), width];
	};
	return { request: place(0, duration), spans: spans.map((span, i) => place(at[i]!, span.duration)) };
}

/** ns since 1970 of an RFC 3339 time, all of its digits. */
export function nsOfTime(time: string): bigint {
	const digits = (/\.(\d+)/.exec(time)?.[1] ?? '').padEnd(9, '0').slice(0, 9);
	const seconds = Math.floor(Date.parse(time.replace(/\.\d+/, '')) / 1000);
	return Number.isFinite(seconds) ? BigInt(seconds) * 1000000000n + BigInt(digits) : 0n;
}
