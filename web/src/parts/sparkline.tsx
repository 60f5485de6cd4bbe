// SPDX-License-Identifier: Apache-2.0
const WIDTH = 100, HEIGHT = 20;

/** A small line of values over time; most is the value at its top. */
export function Sparkline({ values, most, class: name = 'sparkline' }: {
	values: number[]; most: number; class?: string;
}) {
	if (!values.length || !(most > 0))
		return null;
	const width = WIDTH / values.length;
	const y = (value: number) => ((1 - value / most) * (HEIGHT - 1) + 0.5).toFixed(2);
	const steps = values.map((value, i) => `${i ? 'L' : 'M'}${(i * width).toFixed(2)} ${y(value)}h${width.toFixed(2)}`);
	const line = steps.join('');
	return <svg class={name} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
		<path class="area" d={`${line}V${HEIGHT}H0Z`} />
		<path class="line" d={line} />
	</svg>;
}
