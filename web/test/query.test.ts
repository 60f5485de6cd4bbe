// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import type { LaneRow } from '../src/timeline/answers';
import { FAINT, lookOf } from '../src/timeline/classes';
import { Columns } from '../src/timeline/paint';
import { findsLane, isFaint, isOfSlices, queryOf } from '../src/timeline/query';
import { unpackRuns } from '../src/timeline/runs';
import { tickText } from '../src/timeline/time';

const CLASSES = ['on-cpu', 'lock', 'disk'];
const laneOf = (comm: string, slices: number[]): LaneRow => ({ host: 'h', pid: 7, tid: 8, goroutine: false, kind: 'thread', comm, process: 'python3',
	service: 'shop', command: '/usr/bin/python3 shop.py', not_linked: [], ns: slices, slices, first: 0, last: 1 });
const finds = (text: string, comm: string, slices: number[] = [1, 1, 0]) => findsLane(queryOf(text), laneOf(comm, slices), CLASSES);

test('lanes are found by their names, and by what slices they have', () => {
	assert.ok(finds('', 'x') && finds('SHOP', 'x') && finds('8', 'x') && !finds('9', 'x'));
	assert.ok(finds('thread:worker*', 'worker-7') && !finds('thread:worker*', 'a-worker') && finds('thread:a.b', 'a.b') && !finds('thread:a.b', 'axb'));
	assert.ok(finds('service:shop process:py*', 'x') && !finds('service:sho', 'x'));
	assert.ok(finds('class:lock', 'x') && !finds('class:disk', 'x') && finds('class:disk,lock', 'x'));
	assert.ok(finds('class:storage', 'x', [0, 0, 1]), 'a family of classes');
	assert.ok(!finds('class:lock worker', 'x') && finds('class:lock worker', 'worker'));
	assert.ok(finds('http://', 'http://x'), 'what is no part of the language is a word');
});

test('slices that do not fit are faint', () => {
	const query = queryOf('class:lock longer:10ms'), runs = unpackRuns([0, 2e7, 1, 1, 2e7, 0, 5e6, 1, 1, 5e6, 0, 2e7, 0, 1, 2e7, 0, 3e7, 1, 10, 3e7], 0);
	assert.ok(isOfSlices(query) && !isOfSlices(queryOf('thread:x')) && queryOf('longer:1.5us').longer === 1500);
	assert.deepEqual([0, 1, 2, 3].map((i) => isFaint(query, CLASSES, runs, i)), [false, true, true, true]);
});

test('what is searched for is seen before what is not', () => {
	const columns = new Columns(1), runs = unpackRuns([0, 90, 0, 1, 90, 0, 10, 1, 1, 10], 0), look = lookOf('light', CLASSES);
	columns.add(runs, { from: 0, perColumn: 100 }, { from: 0, to: 100 }, null, (i) => i === 0);
	columns.settle();
	assert.equal(columns.class[0], 1);
	columns.add(runs, { from: 0, perColumn: 100 }, { from: 0, to: 100 }, null, () => true);
	columns.settle();
	assert.equal(columns.class[0], FAINT);
	assert.ok(look.colour[FAINT]! >>> 24 < look.colour[0]! >>> 24 && look.height[FAINT] === look.height[0]);
});

test('times of a ruler have the unit of what is in sight', () => {
	assert.deepEqual([20_175_000_000, 20_180_000_000].map((ns) => tickText(ns, 5e6, 20_180_000_000)), ['20.175 s', '20.180 s']);
	assert.deepEqual([500_000, 1_000_000].map((ns) => tickText(ns, 5e5, 1.4e6)), ['0.5 ms', '1.0 ms']);
	assert.equal(tickText(567_450_000_000, 5e7, 567_500_000_000), '567.45 s');
});
