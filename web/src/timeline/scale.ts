// SPDX-License-Identifier: Apache-2.0
// How high the strips of what the machine did are.
import type { Gauge } from './answers';

/** Parts of the same CPUs, and of the same time: a small one beside a large one has to look small. */
const SCALED_TOGETHER = ['cpu', 'pressure'];

const mostOf = ({ values }: Gauge): number => Math.max(...values.map((value) => value ?? 0), 1e-9);

/** The value at the top of a gauge's strip. */
export function scaleOf(gauge: Gauge, gauges: readonly Gauge[]): number {
	const beside = SCALED_TOGETHER.includes(gauge.group) ? gauges.filter(({ group }) => group === gauge.group) : [gauge];
	return Math.max(...beside.map(mostOf));
}
