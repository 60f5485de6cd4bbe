// SPDX-License-Identifier: GPL-2.0
// A function whose calls stand in several lines: "node node_lines.js SECONDS". What a line calls stands in it.
'use strict';

let sum = 0;

function spin(count) {
	let value = sum | 0;
	for (let i = 0; i < count; i++)
		value = (Math.imul(value, 31) + i) | 0;
	sum = value;
	return value;
}

function first(count) {
	return spin(count);
}

function second(count) {
	return spin(count);
}

function calls(count) {
	return Math.max(
		first(
			count),
		second(count),
		first(count) - second(
			count) -
		second(count)
	);
}

// until V8 has optimized what it will
for (let i = 0; i < 5000; i++)
	calls(500);
process.stdout.write('ready\n');
const end = Date.now() + 1000 * Number(process.argv[2]);
while (Date.now() < end)
	calls(500);
