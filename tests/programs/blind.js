// SPDX-License-Identifier: Apache-2.0
// blind.js MODULE SECONDS: functions that end in code without unwind information.
"use strict";

const { spin } = require(process.argv[2]);

function inner() {
	spin();
}

function outer() {
	inner();
}

function byForEach(until) {
	while (Date.now() < until)
		[1].forEach(outer);
}

console.log("ready");
byForEach(Date.now() + 1000 * process.argv[3]);
