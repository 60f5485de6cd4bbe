// SPDX-License-Identifier: Apache-2.0
// The parts of the page that need no browser: node --test runs this.
import assert from 'node:assert';
import test from 'node:test';

const folder = new URL('../../../src/show/flame_page/', import.meta.url);
const load = (name) => import(new URL(name, folder));
const { baseName, count, formatOf, percent, points, safe, withoutParameters } = await load('format.mjs');
const { Frames, functionTotals, Tree } = await load('tree.mjs');
const { Matches, quoted, testOf } = await load('search.mjs');

/* all: main (self 1) calls work (self 2), which calls itself (self 4) and read (self 3);
   idle (self 10) stands beside main. */
const data = {
	images: ['', '/bin/app', '[kernel]'],
	files: ['', 'work.c'],
	frames: {
		name: ['', 'main', 'work(int)', 'work(int)', 'read', 'idle'],
		image: [0, 1, 1, 1, 2, 2],
		file: [0, 0, 1, 1, 0, 0],
		kind: [0, 1, 1, 1, 2, 2],
		line: [0, 0, 10, 20, 0, 0],
		inlined: [0, 0, 0, 0, 0, 0],
	},
	levels: [
		{ frame: [0], self: [0], children: [2], guess: [] },
		{ frame: [1, 5], self: [1, 10], children: [1, 0], guess: [] },
		{ frame: [2], self: [2], children: [2], guess: [0] },
		{ frame: [3, 4], self: [4, 3], children: [0, 0], guess: [] },
	],
};
const tree = new Tree(data);
const frames = new Frames(data);
const matches = (query, isRegex = false) => new Matches(tree, frames, testOf(query, isRegex, frames));

test('totals and places', () => {
	assert.deepEqual([...tree.after], [20, 10, 10, 9, 4, 3]);
	assert.deepEqual([...tree.start], [0, 0, 10, 0, 0, 4]);
	assert.deepEqual([...tree.parent], [0, 0, 0, 1, 3, 3]);
	assert.deepEqual([...tree.height], [3, 2, 0, 1, 0, 0]);
	assert.deepEqual([...tree.guess], [0, 0, 0, 1, 0, 0]);
	assert.deepEqual(tree.path(5), [0, 1, 3, 5]);
});

test('the node at a place', () => {
	assert.equal(tree.nodeAt(1, 9.9), 1);
	assert.equal(tree.nodeAt(1, 10), 2);
	assert.equal(tree.nodeAt(1, 20), -1);
	assert.equal(tree.nodeAt(2, 9.5), -1); // self of main
	assert.equal(tree.nodeAt(3, 6.5), 5);
});

test('a recursive function counts once', () => {
	const rows = Object.fromEntries(functionTotals(tree, frames, 0)
		.map((row) => [frames.name[row.frame], [row.self, row.total]]));
	assert.deepEqual(rows, { main: [1, 10], 'work(int)': [6, 9], read: [3, 3], idle: [10, 10] });
	assert.equal(functionTotals(tree, frames, 3).length, 2);
});

test('a match inside of a match counts once', () => {
	const found = matches('WORK');
	assert.equal(found.count, 2);
	assert.equal(found.total(tree.after, 0), 9);
	assert.equal(found.total(tree.after, 5), 3, 'all of what is zoomed to is inside of one');
	assert.equal(found.total(tree.after, 2), 0);
	assert.deepEqual(found.byWidth(), [3]);
	assert.ok(found.any(3, 5) && !found.any(0, 3));
});

test('kinds of queries', () => {
	assert.equal(matches('r').count, 3);
	assert.equal(matches(quoted('work')).count, 0);
	assert.equal(matches(quoted('work(int)')).count, 2);
	assert.equal(matches('^(main|read)$', true).count, 2);
	assert.equal(matches('image:kernel').count, 2);
	assert.equal(matches('file:work.c:20').count, 1);
	assert.throws(() => testOf('(', true, frames), SyntaxError);
	assert.equal(matches('(').count, 2);
});

test('numbers for people', () => {
	const [ns, bytes, calls] = ['ns', 'bytes', 'count'].map(formatOf);
	assert.deepEqual([0, 999, 1000, 12345678, 5e9].map(ns),
		['0 ns', '999 ns', '1.000 us', '12.346 ms', '5.000 s']);
	assert.deepEqual([999, 1000, 999949, 12.34e6, 5e15].map(bytes),
		['999 B', '1.0 kB', '999.9 kB', '12.3 MB', '5000.0 TB']);
	assert.deepEqual([0, 999, 1000, 1234567].map(calls), ['0', '999', '1,000', '1,234,567']);
	assert.equal(count(1e15), '1,000,000,000,000,000');
	assert.equal(percent(1, 8), '12.50%');
	assert.equal(percent(0, 0), '\u2013');
	assert.equal(points(0.0123), '+1.23 points');
	assert.equal(points(-0.0123), '\u22121.23 points');
});

test('names', () => {
	assert.equal(safe('a\x1b[31m\u202eb\n'), 'a\ufffd[31m\ufffdb\ufffd');
	assert.equal(baseName('/usr/lib/libc.so.6'), 'libc.so.6');
	assert.equal(baseName('[kernel]'), '[kernel]');
	assert.equal(withoutParameters('a::b(int, void (*)(char)) const'), 'a::b');
	assert.equal(withoutParameters('(anonymous namespace)::f(int)'), '(anonymous namespace)::f');
	assert.equal(withoutParameters('(x)'), '(x)');
	assert.equal(withoutParameters('plain'), 'plain');
});
