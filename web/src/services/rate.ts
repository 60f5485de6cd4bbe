// SPDX-License-Identifier: Apache-2.0
// How often, on average over the time of which there are films.
import type { Sum } from '../api/answers';

export function secondsOf(sum: Sum): number {
	return sum.filmed > 0 ? sum.filmed : Math.max(sum.to - sum.from, 1e-9);
}

/** "12.3", "0.04" */
export function rateOf(n: number, seconds: number): string {
	const rate = n / seconds;
	return rate && rate < 9.95 ? rate.toPrecision(2) : String(Math.round(rate));
}
