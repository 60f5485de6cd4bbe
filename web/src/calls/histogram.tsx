// SPDX-License-Identifier: Apache-2.0
// How many calls of a function took how long, in powers of two.
import type { CalledFunction } from '../api/answers';
import { count, formatOf, percent } from '../format';
import { text } from '../text/text';

export interface Bucket {
	from: number;
	to: number;
	calls: number;
}

/** All buckets from the first to the last that has calls, also those between that have none. */
export function bucketsOf({ histogram }: Pick<CalledFunction, 'histogram'>): Bucket[] {
	const first = histogram[0]?.power ?? 0;
	const last = histogram[histogram.length - 1]?.power ?? -1;
	const calls = new Map(histogram.map((bucket) => [bucket.power, bucket.calls]));
	return Array.from({ length: last - first + 1 }, (_, i) => ({
		from: first + i === 0 ? 0 : 2 ** (first + i),
		to: 2 ** (first + i + 1),
		calls: calls.get(first + i) ?? 0,
	}));
}

const isIn = ({ from, to }: Bucket, ns: number | null) => ns !== null && ns >= from && ns < to;

export function Histogram({ row }: { row: CalledFunction }) {
	const words = text.calls;
	const buckets = bucketsOf(row);
	const most = Math.max(...buckets.map((bucket) => bucket.calls), 1);
	const all = buckets.reduce((sum, bucket) => sum + bucket.calls, 0);
	const time = formatOf('ns');

	if (!all)
		return <p class="hint">{words.noneEnded}</p>;
	return <div class="histogram" id="histogram" role="img" aria-label={words.histogram}>
		<div class="head"><span>{words.duration}</span><span>{words.columns.calls}</span></div>
		{buckets.map((bucket) => <div key={bucket.from} class="bucket"
			title={words.bucket(time(bucket.from), time(bucket.to), count(bucket.calls), percent(bucket.calls, all))}>
			<span class="from">{time(bucket.from)}</span>
			<span class="track"><i style={{ width: `${bucket.calls ? Math.max(100 * bucket.calls / most, 0.5) : 0}%` }} />
				{isIn(bucket, row.p50) && <em>p50</em>}
				{isIn(bucket, row.p99) && <em>p99</em>}</span>
			<span class="n">{bucket.calls ? count(bucket.calls) : ''}</span>
		</div>)}
	</div>;
}
