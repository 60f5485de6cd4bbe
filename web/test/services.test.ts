// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import type { CallRow, ServiceRow, ServicesAnswer } from '../src/services/answers';
import { graphOf } from '../src/services/graph';
import type { RequestsAnswer } from '../src/requests/answers';
import { axisOf, roundTime } from '../src/requests/latency_map';
import { rateOf } from '../src/services/rate';
import { dice, sumOf } from './made';

const figures = (total: number) => ({ count: 1, failed: 0, open: 0, total, p50: 1, p90: 1, p99: total, longest: 1 });
const serviceOf = (service: string): ServiceRow => ({ ...figures(1), host: 'h', service, made: 0, made_failed: 0 });
const callOf = (from: number, to: number | null, peer = `10.0.0.${to}:80`, total = 10): CallRow =>
	({ ...figures(total), from, to, several: false, peer, protocol: 'http', for_served: 0 });
const answerOf = (names: string[], calls: CallRow[]): ServicesAnswer =>
	({ sum: sumOf(1), cut: false, services: names.map(serviceOf), calls });

test('requests go to the right', () => {
	const { places, columns, ways } = graphOf(answerOf(['front', 'orders', 'stock'],
		[callOf(0, 1), callOf(1, 2), callOf(0, 2), callOf(2, null, '10.9.9.9:5432')]));
	const columnOf = (name: string) => places.find((place) => place.name === name)!.column;
	assert.deepEqual(['front', 'orders', 'stock', '10.9.9.9:5432'].map(columnOf), [0, 1, 2, 3]);
	assert.equal(columns, 4);
	assert.equal(ways.length, 4);
	assert.equal(places.find(({ service }) => service === null)!.protocol, 'http');
});

test('a way past a column does not run behind a place there', () => {
	const { places, ways } = graphOf(answerOf(['nginx', 'php', 'app', 'db'], [callOf(0, 1), callOf(1, 2), callOf(0, 2), callOf(2, 3), callOf(0, 3)]));
	const past = ways.filter(({ from, to }) => places[to]!.column - places[from]!.column > 1);
	assert.deepEqual(past.map(({ via }) => via.map(({ column }) => column)), [[1], [1, 2]]);
	for (const { column, row } of past.flatMap(({ via }) => via))
		for (const place of places.filter((one) => one.column === column))
			assert.ok(Math.abs(place.row - row) >= 0.75, `${place.name} ${row}`);
});

test('calls by two addresses of one service are one way', () => {
	const { ways } = graphOf(answerOf(['a', 'b'], [callOf(0, 1, '10.0.0.1:80', 5), callOf(0, 1, '10.0.0.2:80', 7)]));
	assert.deepEqual(ways.map(({ count, total, p99 }) => [count, total, p99]), [[2, 12, 7]]);
});

test('circles, and a service that asks itself', () => {
	const { places, columns } = graphOf(answerOf(['a', 'b', 'c'], [callOf(0, 1), callOf(1, 2), callOf(2, 0), callOf(1, 1)]));
	assert.equal(columns, 3);
	assert.deepEqual(places.map(({ column }) => column).sort(), [0, 1, 2]);
});

test('no two places are in one spot, however they ask each other', () => {
	const die = dice(7);
	for (let round = 0; round < 50; round++) {
		const n = 1 + Math.floor(die() * 60), names = Array.from({ length: n }, (_, i) => `s${i}`);
		const calls = Array.from({ length: Math.floor(die() * 200) }, (_, i) =>
			callOf(Math.floor(die() * n), die() < 0.2 ? null : Math.floor(die() * n), `10.0.${i}.1:80`, 1 + Math.floor(die() * 1000)));
		const graph = graphOf(answerOf(names, calls));
		assert.ok(graph.places.length <= 40);
		assert.equal(new Set(graph.places.map(({ column, row }) => `${column} ${row}`)).size, graph.places.length);
		assert.ok(graph.places.every(({ column, row }) => column < graph.columns && row >= 0 && row <= graph.rows - 1));
		assert.ok(graph.ways.every(({ from, to }) => graph.places[from] && graph.places[to]));
	}
});

test('rates', () => {
	assert.deepEqual([rateOf(0, 60), rateOf(1, 60), rateOf(30, 60), rateOf(123, 10), rateOf(70, 10)], ['0', '0.017', '0.50', '12', '7.0']);
});

test('the map of requests has round times beside it', () => {
	const rows = [0, ...Array.from({ length: 40 }, (_, i) => 1024 * 2 ** i)], answer = { rows } as unknown as RequestsAnswer;
	const marks = axisOf(answer, [4, 20]);
	assert.deepEqual(marks.map(({ time }) => roundTime(time)), ['10 us', '100 us', '1 ms', '10 ms', '100 ms']);
	// each as far above the rows below it as its logarithm says
	for (const { time, at } of marks)
		assert.ok(Math.abs(rows[4]! * 2 ** at / time - 1) < 1e-9, String(time));
	assert.deepEqual(axisOf(answer, [0, 1]), []);
});
