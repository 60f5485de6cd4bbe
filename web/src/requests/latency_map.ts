// SPDX-License-Identifier: Apache-2.0
// The map of requests: when they ended, and how long they took. Rows without any request below and above are left out.
import type { RequestsAnswer } from './answers';

/** A rectangle of cells, both ends included; row 0 is the fastest. */
export interface Cells {
	step: [number, number];
	row: [number, number];
}

/** What of the map is drawn: [first, end) of its rows, with one on each side; all, if it is empty. */
export function rowsShown({ map, rows }: RequestsAnswer): [number, number] {
	let first = rows.length, last = -1;
	map.forEach((count, i) => {
		if (!count)
			return;
		first = Math.min(first, i % rows.length);
		last = Math.max(last, i % rows.length);
	});
	return last < 0 ? [0, rows.length] : [Math.max(first - 1, 0), Math.min(last + 2, rows.length)];
}

/** Round times with the place of each, in rows above the first one that is drawn; rows grow by a factor. */
export function axisOf({ rows }: RequestsAnswer, [first, end]: [number, number]): { time: number; at: number }[] {
	const marks = [];
	for (let time = 10; time < rows[end - 1]!; time *= 10) {
		const row = rows.findIndex((_, i) => i + 1 === rows.length || rows[i + 1]! > time), least = rows[row]!;
		const next = rows[row + 1] ?? least * 2;
		const part = least > 0 ? Math.log(time / least) / Math.log(next / least) : time / next;
		if (row >= first && row < end && least > 0)
			marks.push({ time, at: row - first + part });
	}
	return marks;
}

/** A round time in words: "10 ms". */
export function roundTime(ns: number): string {
	const [size, unit] = ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'us'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
	return `${ns / (size as number)} ${unit}`;
}

/** What a rectangle of cells stands for: ns since base [from, to), ns that requests took [least, most]; most 0: any. */
export function partOf({ rows, step, length }: RequestsAnswer, cells: Cells): { from: number; to: number; least: number; most: number } {
	const [a, b] = [Math.min(...cells.step), Math.max(...cells.step)];
	const [low, high] = [Math.min(...cells.row), Math.max(...cells.row)];
	return {
		from: a * step, to: Math.min((b + 1) * step, length),
		least: rows[low] ?? 0, most: high + 1 < rows.length ? rows[high + 1]! - 1 : 0,
	};
}

/** The other way round: the cells that a part is made of. */
export function cellsOf(answer: RequestsAnswer, part: { from: number; to: number; least: number; most: number }): Cells {
	const { rows, step } = answer, steps = answer.map.length / Math.max(rows.length, 1);
	const low = rows.findIndex((_, i) => i + 1 >= rows.length || rows[i + 1]! > part.least);
	const high = part.most ? rows.findIndex((_, i) => i + 1 >= rows.length || rows[i + 1]! > part.most) : rows.length - 1;
	const at = (moment: number) => Math.min(Math.max(Math.floor(moment / Math.max(step, 1)), 0), Math.max(steps - 1, 0));
	return { step: [at(part.from), at(part.to - 1)], row: [low, high] };
}

/** How many requests a rectangle has. */
export function countOf({ map, rows }: RequestsAnswer, { step, row }: Cells): number {
	let sum = 0;
	for (let x = Math.min(...step); x <= Math.max(...step); x++)
		for (let y = Math.min(...row); y <= Math.max(...row); y++)
			sum += map[x * rows.length + y] ?? 0;
	return sum;
}
