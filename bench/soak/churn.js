// SPDX-License-Identifier: Apache-2.0
// churn.js SECONDS: makes functions, runs them and lets go of them. leaf_N is called by mid_N, that by top_N only.
"use strict";

const source = `
function leaf_N(count, step) {
	let total = 0;
	for (let i = 0; i < count; i++)
		total += (i % 7) * step;
	return total;
}
function mid_N(count, step) { const result = leaf_N(count, step); return result + 1; }
function top_N(count, step) { const result = mid_N(count, step); return result + 1; }
return top_N;
`;

function drive(number, count) {
	const top = new Function(source.replace(/_N/g, `_${number}`))();
	let result = 0;
	// compiled for small integers, then another kind of number comes: it is compiled anew
	for (let i = 0; i < 20; i++)
		result = top(count, 1);
	if (Math.abs(top(count, 0.5) - ((result - 2) / 2 + 2)) > 1e-6)
		throw new Error("a wrong result");
	return result;
}

const end = Date.now() + Number(process.argv[2]) * 1000;
let expected = 2;
for (let i = 0; i < 3000; i++)
	expected += i % 7;
while (Date.now() < end)
	if (drive(Math.floor(Math.random() * 100000), 3000) !== expected)
		throw new Error("a wrong result");
