// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import { cellsOf } from '../src/values/heat';

const rowOf = (value: string, buckets: [number, number][]) =>
	({ value, calls: 1, total_ns: 1, buckets: buckets.map(([from_ns, calls]) => ({ from_ns, calls })) });

test('each call is in the cell of its value and its duration', () => {
	const { columns, rows, most } = cellsOf({ rows: [rowOf('a', [[1024, 3], [4096, 1]]), rowOf('b', [[512, 7]])] });
	assert.deepEqual(columns, [512, 1024, 2048, 4096]);
	assert.deepEqual(rows, [[0, 3, 0, 1], [7, 0, 0, 0]]);
	assert.equal(most, 7);
});

test('the first column holds 0', () => {
	const { columns, rows } = cellsOf({ rows: [rowOf('a', [[0, 2], [2, 5]])] });
	assert.deepEqual(columns, [0, 2]);
	assert.deepEqual(rows, [[2, 5]]);
	assert.deepEqual(cellsOf({ rows: [] }), { columns: [], rows: [], most: 0 });
});
