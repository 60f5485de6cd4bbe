// SPDX-License-Identifier: Apache-2.0
// From answers to trees: every total stays what it was, whatever is left out or moved.
import assert from 'node:assert/strict';
import test from 'node:test';
import { columnsOf } from '../src/flame/columns';
import { idOf, nodeOf } from '../src/flame/ids';
import { modelOf } from '../src/flame/model';
import { anyOf } from '../src/flame/search';
import type { Tree } from '../src/flame/tree';
import { answerOf, inOrder, madeAnswer, type Written } from './made';

const small: Written = ['all', 0,
	['main', 1,
		['parse', 2, ['malloc', 5]],
		['run', 3, ['parse', 4, ['malloc', 6], ['copy', 7]], ['copy', 8]]],
	['group:worker (7)', 0, ['idle', 20]]];

const named = (tree: Tree, name: (label: number) => string) =>
	Array.from({ length: tree.size }, (_, node) => name(tree.label[node]!));

function check(tree: Tree): void {
	const below = new Float64Array(tree.size);
	for (let node = tree.size - 1; node > 0; node--) {
		assert.ok(tree.parent[node]! < node);
		assert.equal(tree.level[node], tree.level[tree.parent[node]!]! + 1);
		below[tree.parent[node]!]! += tree.total[node]!;
	}
	for (let node = 0; node < tree.size; node++) {
		assert.equal(tree.self[node]! + below[node]!, tree.total[node], `total of ${node}`);
		for (let child = tree.child[node]!; child < tree.child[node]! + tree.children[node]!; child++) {
			assert.equal(tree.parent[child], node);
			assert.ok(tree.start[child]! >= tree.start[node]! && tree.end(child) <= tree.end(node));
			if (child > tree.child[node]!) {
				assert.ok(tree.total[child]! <= tree.total[child - 1]!, 'siblings by total');
				assert.equal(tree.start[child], tree.end(child - 1), 'siblings side by side');
			}
		}
	}
}

test('levels stand one after the other, siblings by total', () => {
	const { tree, labels } = modelOf(answerOf(small), 'all', null);
	assert.deepEqual(named(tree, (label) => labels.name[label]!), ['all', 'main', 'worker (7)', 'run', 'parse', 'idle',
		'parse', 'copy', 'malloc', 'copy', 'malloc']);
	assert.deepEqual([...tree.levelStart], [0, 1, 3, 6, 9, 11]);
	assert.equal(tree.depth, 5);
	check(tree);
});

test('totals add up in large trees, also where the answer has siblings in any order', () => {
	for (const seed of [1, 2, 3])
		check(modelOf(madeAnswer(20000, { seed, isDiff: true }), 'all', null).tree);
});

test('the order of an answer makes no difference', () => {
	const answer = madeAnswer(5000, { isDiff: true });
	const one = modelOf(answer, 'all', null), other = modelOf(inOrder(answer), 'all', null);
	check(other.tree);
	assert.deepEqual(other.tree.total, one.tree.total);
	assert.deepEqual(other.tree.levelStart, one.tree.levelStart);
});

test('what is hidden is spent by its caller', () => {
	const { tree, labels } = modelOf(answerOf(small), 'all', anyOf(['"parse"']));
	const names = named(tree, (label) => labels.name[label]!);
	assert.deepEqual(names, ['all', 'main', 'worker (7)', 'run', 'malloc', 'idle', 'copy', 'malloc']);
	check(tree);
	assert.equal(tree.self[names.indexOf('run')], 7);
	assert.equal(tree.total[names.indexOf('copy')], 15, 'two of the same name become one');
	assert.equal(tree.total[0], 56);
	assert.equal(tree.self[1], 3);
});

test('hiding keeps the total of large trees', () => {
	const answer = madeAnswer(20000, { isDiff: true });
	for (const pattern of ['parse', 'image:libc*', '/^store::/', '*']) {
		const { tree } = modelOf(answer, 'all', anyOf([pattern]));
		check(tree);
		assert.equal(tree.total[0], answer.nodes.total[0]);
		assert.equal(tree.beforeTotal![0], answer.nodes.before_total![0]);
		assert.ok(tree.size < answer.nodes.parent.length);
	}
	assert.equal(modelOf(answer, 'all', anyOf(['*'])).tree.size, 1);
});

test('a wrong pattern hides nothing', () => {
	assert.equal(anyOf(['/(/']), null);
	assert.equal(anyOf([]), null);
});

test('an empty answer has a root', () => {
	const { tree } = modelOf({ labels: { name: [], image: [], kind: [] },
		nodes: { parent: [], label: [], self: [], total: [] } }, 'all', null);
	assert.equal(tree.size, 1);
	assert.equal(tree.total[0], 0);
	assert.equal(tree.nodeAt(0, 0), -1);
	check(tree);
});

test('columns that are no tree are refused', () => {
	const labels = { parent: [0, 1], label: [-1, 0], self: [0, 0], total: [0, 0] };
	assert.throws(() => columnsOf(labels, 1), RangeError);
	assert.throws(() => columnsOf({ ...labels, parent: [0, 0], label: [-1, 1] }, 1), RangeError);
	assert.equal(columnsOf({ ...labels, parent: [0, 0] }, 1).size, 2);
});

test('1,000 frames deep', () => {
	let deep: Written = ['leaf', 1];
	for (let i = 0; i < 1000; i++)
		deep = ['visit', 1, deep];
	const { tree } = modelOf(answerOf(deep), 'all', null);
	assert.equal(tree.depth, 1001);
	assert.equal(tree.height[0], 1000);
	check(tree);
});

test('nodes are found by place', () => {
	const { tree } = modelOf(madeAnswer(5000), 'all', null);
	for (let node = 0; node < tree.size; node++) {
		if (!tree.width[node])
			continue;
		assert.equal(tree.nodeAt(tree.level[node]!, tree.start[node]!), node);
		assert.equal(tree.nodeAt(tree.level[node]!, tree.start[node]! + tree.width[node]! / 2), node);
	}
	assert.equal(tree.nodeAt(0, tree.width[0]!), -1);
	assert.equal(tree.nodeAt(-1, 0), -1);
	assert.equal(tree.nodeAt(tree.depth, 0), -1);
});

test('a comparison can have the widths of either side', () => {
	const { tree } = modelOf(madeAnswer(3000, { isDiff: true }), 'all', null);
	tree.layOutBy(tree.beforeTotal!);
	for (let node = 1; node < tree.size; node++)
		assert.ok(tree.end(node) <= tree.end(tree.parent[node]!));
	assert.equal(tree.end(0), tree.beforeTotal![0]);
});

test('a link finds its node in another answer with the same path', () => {
	const one = modelOf(answerOf(small), 'all', null);
	const other = modelOf(answerOf(['everything', 5, ['new', 100], ...small.slice(2) as Written[]]), 'all', null);
	for (let node = 0; node < one.tree.size; node++) {
		const id = idOf(one.tree, one.labels, node);
		assert.match(id, /^([0-9a-z]{14})?$/);
		assert.equal(nodeOf(one.tree, one.labels, id), node);
		const found = nodeOf(other.tree, other.labels, id);
		assert.equal(other.tree.path(found).slice(1).map((step) => other.labels.name[other.tree.label[step]!]).join(),
			one.tree.path(node).slice(1).map((step) => one.labels.name[one.tree.label[step]!]).join());
	}
	assert.equal(nodeOf(one.tree, one.labels, 'zzzzzzzzzzzzzz'), -1);
	assert.equal(nodeOf(one.tree, one.labels, '../../etc'), -1);
});

test('no two nodes of a large answer have the same id', () => {
	const { tree, labels } = modelOf(madeAnswer(2000), 'all', null);
	const paths = new Map<string, string>();
	for (let node = 0; node < tree.size; node++) {
		const path = tree.path(node).map((step) => labels.name[tree.label[step]!]).join('\n');
		const id = idOf(tree, labels, node);
		assert.equal(paths.get(id) ?? path, path);
		paths.set(id, path);
	}
});
