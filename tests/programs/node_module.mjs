// SPDX-License-Identifier: GPL-2.0
// A module whose own code has the loop: V8 replaces that code while it runs, and makes what it calls a part of it.
import process from 'process';

function hot(count) {
	let value = 0;
	for (let i = 0; i < count; i++)
		value = (Math.imul(value, 31) + i) | 0;
	return value;
}

process.stdout.write('ready\n');
let sum = 0;
const end = Date.now() + 30000;
while (Date.now() < end)
	sum += hot(10000);
