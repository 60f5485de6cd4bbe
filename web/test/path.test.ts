// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import type { ExplainedPart, Explanation } from '../src/explain/answers';
import { causesOf, deepestOf, threadsOf } from '../src/explain/path';
import type { RequestRow } from '../src/requests/answers';
import { aroundOf, profileOf } from '../src/requests/slowest';
import { treeOf } from '../src/requests/tree';
import { NO_LINK } from '../src/state/link';
import { Origin } from '../src/timeline/time';

const threadOf = (tid: number) => ({ pid: 1, tid, comm: `t${tid}` });
const partOf = (words: string, duration: number, tid: number, parts: ExplainedPart[] = [], holder = 0): ExplainedPart => ({
	kind: 'lock', duration, thread: threadOf(tid), waker: null, holder: holder ? threadOf(holder) : null, words, evidence: '', likely: false,
	stack: [], parts });
const PARTS = [partOf('lock', 60, 1, [partOf('disk', 50, 2), partOf('cpu', 10, 2)], 2), partOf('cpu', 30, 1), partOf('disk', 5, 2)];

test('the deepest causes add up to the whole, those that are alike as one', () => {
	assert.equal(deepestOf(PARTS).reduce((sum, { duration }) => sum + duration, 0), 95);
	assert.deepEqual(causesOf(PARTS).map(({ words, duration, thread }) => [words, duration, thread.tid]), [['disk', 55, 2], ['cpu', 30, 1], ['cpu', 10, 2]]);
});

test('all threads of a path, its own first', () => {
	const of = { ...threadOf(1), parts: [...PARTS, partOf('woken', 1, 1, [], 7)] } as Explanation;
	assert.deepEqual(threadsOf(of).map(({ tid }) => tid), [1, 2, 7]);
});

const rowOf = (number: string, role: 'served' | 'made', pid: number, from: number, end: number, more: Partial<RequestRow> = {}): RequestRow => ({
	name: number, number, parent: '', endpoint: '', path: '', protocol: 'http', role, status: 200, failed: false, open: false, end,
	duration: end - from, first_byte: 0, received: 0, sent: 0, peer: '', host: 'h', pid, tid: pid, process: '', comm: '', ...more });

test('a request stands once, its other sides below it', () => {
	const rows = [rowOf('1', 'served', 10, 0, 100), rowOf('9', 'served', 30, 0, 95), rowOf('3', 'served', 20, 12, 88, { name: 'trace-a' }),
		rowOf('2', 'made', 10, 10, 90, { name: 'trace-a', parent: '1' }), rowOf('4', 'made', 10, 2, 8, { parent: '1' })];
	assert.deepEqual(treeOf(rows).map(({ row, depth }) => [row.number, depth]), [['1', 0], ['4', 1], ['2', 1], ['3', 2], ['9', 0]]);
});

test('no request is lost, whatever the rows say', () => {
	const rows = [rowOf('1', 'served', 1, 0, 9, { parent: '2' }), rowOf('2', 'served', 1, 0, 8, { parent: '1' }), rowOf('3', 'served', 1, 0, 7, { parent: '3' })];
	assert.deepEqual(treeOf(rows).map(({ row }) => row.number).sort(), ['1', '2', '3']);
});

test('without an id, the only one of the path that was open meanwhile is taken to be the other side', () => {
	const served = rowOf('2', 'served', 2, 10, 20, { endpoint: 'GET /a/*', path: '/a/7' });
	const made = (number: string, from: number, end: number, path = '/a/7') => rowOf(number, 'made', 1, from, end, { endpoint: 'GET /a/*', path });
	assert.deepEqual(treeOf([made('1', 9, 21), served, made('3', 9, 21, '/a/8')]).map(({ row, depth, isLikely }) => [row.number, depth, isLikely]),
		[['1', 0, false], ['2', 1, true], ['3', 0, false]]);
	assert.ok(treeOf([made('1', 9, 21), served, made('3', 8, 22)]).every(({ depth }) => depth === 0), 'of two, none');
	assert.ok(treeOf([made('1', 11, 21), served]).every(({ depth }) => depth === 0), 'it began later');
});

test('the time that is asked for is never empty', () => {
	const origin = new Origin(5000000000n), made = rowOf('1', 'made', 1, 70, 70);
	assert.deepEqual(aroundOf(made, origin), { from: '5.00000007', to: '5.000000071' });
	assert.deepEqual(aroundOf(rowOf('1', 'made', 1, 50, 70), origin), { from: '5.00000005', to: '5.00000007' });
	assert.deepEqual(aroundOf(rowOf('1', 'served', 1, 70, 70), origin), { from: '4.00000007', to: '6.00000007' });
	assert.deepEqual(profileOf(NO_LINK, made, origin, 'on-cpu', '').range, { from: '5.00000007', to: '5.000000071' });
});
