// SPDX-License-Identifier: Apache-2.0
// What is stored of V8: a function called by a builtin (sort), recursion, a method, an arrow function.
"use strict";

function busy(count) {
	let total = 0;
	for (let i = 0; i < count; i++)
		total += i * count % 7;
	return total;
}

function descend(level, count) {
	if (level)
		return descend(level - 1, count) + 1;
	return [3, 1, 2].sort((a, b) => busy(count) < 0 ? 0 : a - b)[0];
}

class Worker {
	turn(count) {
		return [1, 2].map((i) => descend(4, count + i));
	}
}

for (;;)
	new Worker().turn(20000);
