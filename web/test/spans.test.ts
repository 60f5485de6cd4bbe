// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Span } from '../src/explain/answers';
import { nsOfTime, placesOf } from '../src/explain/span_places';

const START = 1795271520000000000n;
const spanOf = (start: number, duration: number): Span => ({ trace: '', id: '', parent: '', depth: 0, name: '', service: '', host: '',
	pid: 0, tid: 0, kind: 'server', status: 'ok', start: String(START + BigInt(start)), duration });

test('times keep all of their digits', () => {
	assert.equal(nsOfTime('2026-11-21T14:32:00Z'), START);
	assert.equal(nsOfTime('2026-11-21T14:32:00.000000001Z'), START + 1n);
	assert.equal(nsOfTime('2026-11-21T14:32:00.5Z'), START + 500000000n);
	assert.equal(nsOfTime('yesterday'), 0n);
});

test('spans within the request are parts of its time', () => {
	const { request, spans } = placesOf([spanOf(0, 1000), spanOf(250, 500)], START, 1000);
	assert.deepEqual(request, [0, 100]);
	assert.deepEqual(spans, [[0, 100], [25, 50]]);
});

test('what begins before and ends behind it makes it a part', () => {
	const { request, spans } = placesOf([spanOf(-1000, 4000)], START, 1000);
	assert.deepEqual(request, [25, 25]);
	assert.deepEqual(spans, [[0, 100]]);
});

test('the shortest can be seen, and none leaves the picture', () => {
	for (const [left, width] of placesOf([spanOf(0, 0), spanOf(1000000, 0), spanOf(999999, 1)], START, 1000000).spans) {
		assert.ok(width >= 0.3 && left >= 0 && left + width <= 100);
	}
});
