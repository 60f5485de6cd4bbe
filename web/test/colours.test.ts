// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Mark } from '../src/api/answers';
import { besideMark, flagsOf } from '../src/parts/flags';
import { coloursOf, paleOf, placesOf } from '../src/state/colours';
import { canBeFine, stepsOf } from '../src/state/range';

const NAMES = Array.from({ length: 40 }, (_, i) => `service-${i}`);

test('the colour of a name does not depend on its rank', () => {
	const forward = placesOf(NAMES, new Map()), backward = placesOf([...NAMES].reverse(), new Map());
	assert.deepEqual([...forward].sort(), [...backward].sort());
	assert.equal(new Set(forward.values()).size, NAMES.length);
});

test('what comes later takes nobody\'s colour', () => {
	const places = placesOf(NAMES.slice(0, 20), new Map()), before = new Map(places);
	placesOf(NAMES, places);
	for (const [name, place] of before)
		assert.equal(places.get(name), place);
	assert.equal(new Set(places.values()).size, NAMES.length);
});

test('there are more names than colours', () => {
	const many = Array.from({ length: 300 }, (_, i) => `job-${i}`), places = placesOf(many, new Map());
	assert.equal(places.size, 300);
	assert.equal(new Set(places.values()).size, 72);
	placesOf(NAMES, places); // those that are shown no more make room
	assert.equal(places.size, NAMES.length);
	assert.equal(new Set(places.values()).size, NAMES.length);
});

test('a name that the chart has among all others has their colour', () => {
	coloursOf('light', 'host', ['a', 'b']);
	const later = coloursOf('light', 'host', ['a']);
	assert.equal(later('b'), later(''));
	assert.ok(later('a') !== later(''));
});

test('each name has a colour, all others have one more, and themes have their own', () => {
	const light = coloursOf('light', 'service', NAMES), dark = coloursOf('dark', 'service', NAMES);
	assert.equal(new Set([...NAMES, ''].map(light)).size, NAMES.length + 1);
	assert.ok(light('service-1') !== dark('service-1'));
	assert.equal(light('service-1'), coloursOf('light', 'service', ['service-1'])('service-1'));
	assert.equal(paleOf('light', 'nginx'), paleOf('light', 'nginx'));
});

test('charts of up to an hour have steps of seconds', () => {
	const hour = { from: 1000, to: 4600 };
	assert.equal(3600 / stepsOf(hour), 15);
	assert.equal(stepsOf(hour, true), 61);
	assert.ok(canBeFine(hour) && !canBeFine({ from: 0, to: 7200 }));
	assert.equal(stepsOf({ from: 0, to: 7200 }), 121);
	assert.equal(stepsOf({ from: 0, to: 300 }), 240);
});

const markAt = (time: number): Mark => ({ time, host: 'h', service: 's', version: '1', text: 'x', derived: false });

test('marks that are near share a flag', () => {
	const flags = flagsOf([markAt(50), markAt(10), markAt(10.5)], { from: 0, to: 100 }, 1000);
	assert.deepEqual(flags.map(({ at, marks }) => [at, marks.length]), [[100, 2], [500, 1]]);
});

test('a mark is compared with as much time before it', () => {
	assert.deepEqual(besideMark(markAt(1000), 1300), { now: { from: 1000, to: 1300 }, before: { from: 700, to: 1000 } });
	assert.deepEqual(besideMark(markAt(1000), 9000).before, { from: 400, to: 1000 });
	assert.deepEqual(besideMark(markAt(1000), 1001).now, { from: 1000, to: 1060 });
});
