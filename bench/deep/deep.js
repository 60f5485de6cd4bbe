// SPDX-License-Identifier: Apache-2.0
// deep.js DEPTH SECONDS: works below so many functions, by pieces; in the end prints when each began and how long it took, in ns.
"use strict";

const depth = Number(process.argv[2]);
let source = `function f0(turns) {
	let total = 0;
	for (let i = 0; i < turns; i++)
		total = (total + i * 7) % 1000003;
	return total;
}
`;
for (let i = 1; i < depth; i++)
	source += `function f${i}(turns) { const result = f${i - 1}(turns); return result; }\n`;
const top = new Function(`${source}return f${depth - 1};`)();
let now = process.hrtime.bigint();
const pieces = [];
const end = now + BigInt(Math.round(Number(process.argv[3]) * 1e9));
while (now < end) {
	top(200000);
	const then = now;
	now = process.hrtime.bigint();
	pieces.push(`${then} ${now - then}`);
}
console.log(pieces.join("\n"));
