// SPDX-License-Identifier: Apache-2.0
// What `report --format html` writes, as an answer; and the functions that its page counts itself.
import assert from 'node:assert/strict';
import test from 'node:test';
import { functionsOf } from '../src/flame/functions';
import { modelOf } from '../src/flame/model';
import { answerOf, type Written } from '../src/offline/answer';
import { functionsOf as otherFunctionsOf, madeAnswer } from './made';

// all: main (self 1) calls work (self 2), which calls itself (self 4) and read (self 3); idle (self 10) is beside main
const written: Written = {
	event: 'on-cpu',
	unit: 'ns',
	images: ['', '/bin/app', '[kernel]'],
	files: ['', 'work.c'],
	frames: {
		name: ['', 'main', 'work(int)', 'work(int)', 'read', 'idle'],
		image: [0, 1, 1, 1, 2, 2],
		file: [0, 0, 1, 1, 0, 0],
		kind: [0, 1, 1, 1, 2, 2],
		line: [0, 0, 10, 20, 0, 0],
		inlined: [0, 0, 0, 1, 0, 0],
	},
	levels: [
		{ frame: [0], self: [0], children: [2], guess: [] },
		{ frame: [1, 5], self: [1, 10], children: [1, 0], guess: [] },
		{ frame: [2], self: [2], children: [2], guess: [0] },
		{ frame: [3, 4], self: [4, 3], children: [0, 0], guess: [] },
	],
};

test('nodes have parents and totals', () => {
	const { nodes, labels, sum, before } = answerOf(written);
	assert.deepEqual(nodes.parent, [0, 0, 0, 1, 3, 3]);
	assert.deepEqual(nodes.total, [20, 10, 10, 9, 4, 3]);
	assert.deepEqual(nodes.guess, [0, 0, 0, 1, 0, 0]);
	assert.deepEqual(nodes.inlined, [0, 0, 0, 0, 1, 0]);
	assert.equal(sum.total, 20);
	assert.equal(before, undefined);
	assert.equal(nodes.before_total, undefined);
	assert.deepEqual([labels.image[2], labels.kind[2], labels.file![2], labels.line![2]],
		['/bin/app', 'native', 'work.c', 10]);
});

test('a comparison has both sides', () => {
	const levels = written.levels.map((level) => ({ ...level, before: level.self.map((self) => 2 * self) }));
	const { nodes, before } = answerOf({ ...written, levels });
	assert.deepEqual(nodes.before_self, [0, 2, 20, 4, 8, 6]);
	assert.deepEqual(nodes.before_total, [40, 20, 20, 18, 8, 6]);
	assert.equal(before!.total, 40);
	const model = modelOf(answerOf({ ...written, levels }), 'all', null, 'before');
	assert.deepEqual([...model.tree.width], [40, 20, 20, 18, 8, 6]);
	assert.deepEqual([...model.tree.start], [0, 0, 20, 0, 0, 8]);
	const main = functionsOf(model, 0).find(({ name }) => name === 'main')!;
	assert.deepEqual([main.self, main.total, main.before_self, main.before_total], [1, 10, 2, 20]);
});

test('a recursive function counts once, and a line is no other function', () => {
	const model = modelOf(answerOf(written), 'all', null);
	const rows = Object.fromEntries(functionsOf(model, 0).map(({ name, self, total }) => [name, [self, total]]));
	assert.deepEqual(rows, { main: [1, 10], 'work(int)': [6, 9], read: [3, 3], idle: [10, 10] });
	assert.equal(functionsOf(model, 3).length, 2);
});

test('a large one has the functions that another way finds', () => {
	const answer = madeAnswer(20000);
	const inOrder = (rows: { name: string; image: string; self: number; total: number }[]) => rows
		.map(({ name, image, self, total }) => `${name} ${image} ${self} ${total}`).sort();
	assert.deepEqual(inOrder(functionsOf(modelOf(answer, 'all', null), 0)), inOrder(otherFunctionsOf(answer)));
});
