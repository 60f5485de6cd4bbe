// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import { languageOf } from '../src/flame/language';
import { modelOf } from '../src/flame/model';
import { testOf } from '../src/flame/pattern';
import { inWindow, rowsOf, shownRows } from '../src/flame/rows';
import { Matches, matchesOf, queryOf } from '../src/flame/search';
import { answerOf, functionsOf, madeAnswer } from './made';

const passes = (pattern: string, name: string, image = '', isRegex = false) =>
	testOf(pattern, isRegex)({ name, image, place: 'src/parse.c:120' });

test('patterns', () => {
	assert.ok(passes('RUN', 'prerunner'));
	assert.ok(!passes('"run"', 'runs'));
	assert.ok(passes('"run"', 'run'));
	assert.ok(passes('std::*get', 'std::map::get'));
	assert.ok(!passes('std::*get', 'std::map::get_all'));
	assert.ok(!passes('ab*ba', 'aba'), 'the parts of a glob do not overlap');
	assert.ok(passes('*::read*(int)', 'x::read_all(int)'));
	assert.ok(passes('/^r.n$/', 'run'));
	assert.ok(!passes('/^r.n$/', 'RUN'));
	assert.ok(passes('/^r.n$/i', 'RUN'));
	assert.ok(passes('^R.N$', 'run', '', true));
	assert.ok(passes('image:libc*', 'x', '/usr/lib/libc.so.6'));
	assert.ok(!passes('image:libc*', 'libc', '/usr/bin/app'));
	assert.ok(passes('image:/usr/lib*', 'x', '/usr/lib/libc.so.6'));
	assert.ok(passes('file:parse.c', 'x'));
	assert.ok(passes('a.b', 'a.b') && !passes('a.b', 'axb'), 'plain text is no expression');
	assert.throws(() => testOf('/(/'), SyntaxError);
	assert.match(queryOf('(', true).error, /regular expression/i);
	assert.equal(queryOf('', true).test, null);
});

const nested = modelOf(answerOf(['all', 0,
	['visit', 1, ['visit', 2, ['leaf', 4]], ['other', 3, ['visit', 5]]],
	['other', 10, ['leaf', 20]]]), 'all', null);

test('a match inside of a match is counted once', () => {
	const matches = matchesOf(nested, testOf('visit'))!;
	assert.equal(matches.count, 3);
	assert.equal(matches.total(nested.tree.total, 0), 15);
	const inside = nested.tree.nodeAt(2, 30);
	assert.equal(nested.labels.name[nested.tree.label[inside]!], 'other');
	assert.equal(matches.total(nested.tree.total, inside), nested.tree.total[inside], 'all of it is in a match');
	assert.equal(matches.byWidth().length, 1);
	assert.equal(matchesOf(nested, null), null);
});

test('the sum of a search is that of all leaves below a match', () => {
	const model = modelOf(madeAnswer(20000), 'all', null);
	const { tree, labels } = model;
	const passed = testOf('lock');
	const matches = matchesOf(model, passed)!;
	const inside = new Uint8Array(tree.size);
	let sum = 0;
	for (let node = 1; node < tree.size; node++) {
		const label = tree.label[node]!;
		inside[node] = Number(inside[tree.parent[node]!] ||
			passed({ name: labels.name[label]!, image: '', place: '' }));
		if (inside[node])
			sum += tree.self[node]!;
	}
	assert.equal(matches.total(tree.total, 0), sum);
	assert.ok(matches.count > 100);
	const level = tree.levelStart[3]!;
	assert.equal(matches.any(level, level), false);
});

test('any() knows ranges of nodes', () => {
	const hits = new Uint8Array(nested.labels.size);
	hits[nested.labels.name.indexOf('leaf')] = 1;
	const matches = new Matches(nested.tree, hits);
	const at = nested.tree.levelStart[2]!;
	assert.equal(matches.any(0, at), false);
	assert.equal(matches.any(at, nested.tree.size), true);
});

test('the table', () => {
	const answer = madeAnswer(5000, { isDiff: true });
	const functions = functionsOf(answer);
	const rows = rowsOf(functions, answer.sum.total, answer.before!.total);
	const bySelf = shownRows(rows, 'self', null, null);
	assert.equal(bySelf.length, functions.length);
	for (let i = 1; i < bySelf.length; i++)
		assert.ok(bySelf[i - 1]!.self >= bySelf[i]!.self);
	const byChange = shownRows(rows, 'change', null, null);
	assert.ok(Math.abs(byChange[0]!.change) >= Math.abs(byChange[1]!.change));
	const byName = shownRows(rows, 'name', testOf('lock'), testOf('image:libc*'));
	assert.ok(byName.length > 10 && byName.length < rows.length);
	assert.ok(byName.every(({ name, image }) => name.includes('lock') && !image.includes('libc.')));
	assert.ok(byName[0]!.name < byName[1]!.name);
	assert.equal(rows.reduce((sum, row) => sum + row.self, 0), answer.sum.total - answer.nodes.self[0]!);
});

test('only the rows of the window are made', () => {
	assert.deepEqual(inWindow(20000, 20, 0, 400), [0, 30]);
	assert.deepEqual(inWindow(20000, 20, 4000, 400), [190, 230]);
	assert.deepEqual(inWindow(5, 20, 0, 400), [0, 5]);
	assert.deepEqual(inWindow(5, 20, 90000, 400), [5, 5], 'after the list has become shorter');
});

test('languages', () => {
	const of = (name: string, kind = 'native') => languageOf(kind, name);
	assert.equal(of('malloc'), 'c');
	assert.equal(of('__libc_start_main@GLIBC_2.34'), 'c');
	assert.equal(of('handle.constprop.0'), 'c');
	assert.equal(of('std::vector<int>::push_back(int&&)'), 'c++');
	assert.equal(of('<alloc::vec::Vec<T> as core::ops::Drop>::drop'), 'c++');
	assert.equal(of('runtime.mallocgc'), 'go');
	assert.equal(of('net/http.(*conn).serve'), 'go');
	assert.equal(of('main.main.func1'), 'go');
	assert.equal(of('[libfoo.so+0x12]'), 'unknown');
	assert.equal(of('do_sys_open', 'kernel'), 'kernel');
	assert.equal(of('handler', 'python'), 'python');
	assert.equal(of('worker (12)', 'group'), 'group');
	assert.equal(of('[truncated: no rule]', 'mark'), 'unknown');
	assert.equal(of('x', 'ruby'), 'unknown');
});
