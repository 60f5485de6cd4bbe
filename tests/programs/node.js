// SPDX-License-Identifier: GPL-2.0
// JavaScript whose truth is known: "node node.js MODE SECONDS" says "ready" and works. What is called
// busy_… takes the time that its name says, all else next to none.
'use strict';

const crypto = require('crypto');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

let sum = 0;

function turns(count) {
	let value = sum | 0;
	for (let i = 0; i < count; i++)
		value = (Math.imul(value, 31) + i) | 0;
	return value;
}

// Each has a loop of its own: one that they shared would be one function to whoever looks at the leaf. They look at the
// CPU time of the process, since what a turn costs differs between functions as V8 compiles them one after the other, and
// who is interrupted has not worked meanwhile. No round is as long as the one before, so that rounds don't fall in step
// with the sampling: with 1.3 ms each, some runs had a third of the samples in busy10() that it should have.
let unit = 0;

function worked() {
	const { user, system } = process.cpuUsage();
	return user + system;
}

function busy70() {
	const end = worked() + 7 * unit;
	let value = sum | 0;
	do {
		for (let i = 0; i < 500; i++)
			value = (Math.imul(value, 31) + i) | 0;
	} while (worked() < end);
	sum += value;
}

function busy20() {
	const end = worked() + 2 * unit;
	let value = sum | 0;
	do {
		for (let i = 0; i < 500; i++)
			value = (Math.imul(value, 31) + i) | 0;
	} while (worked() < end);
	sum += value;
}

function busy10() {
	const end = worked() + unit;
	let value = sum | 0;
	do {
		for (let i = 0; i < 500; i++)
			value = (Math.imul(value, 31) + i) | 0;
	} while (worked() < end);
	sum += value;
}

function split() {
	unit = 100 + 200 * Math.random();
	busy70();
	busy20();
	busy10();
}

function descend(depth) {
	return depth > 0 ? descend(depth - 1) + 1 : turns(50000);
}

function recursion() {
	sum += descend(499);
}

function byValue(a, b) {
	sum += turns(50);
	return a - b;
}

function reviver(key, value) {
	sum += turns(300);
	return value;
}

function callbacks() {
	const values = [];
	for (let i = 0; i < 500; i++)
		values.push((i * 7919) % 1009);
	values.sort(byValue);
	JSON.parse(JSON.stringify({ values }), reviver);
}

function native() {
	crypto.pbkdf2Sync('password', 'salt', 2000, 64, 'sha512');
}

class Thrower {
	constructor(depth) {
		this.depth = depth;
	}

	fall(depth) {
		if (depth === 0)
			throw new Error('fallen');
		turns(200);
		this.fall(depth - 1);
	}

	static caught(depth) {
		try {
			new Thrower(depth).fall(depth);
		} catch (error) {
			sum += error.message.length + turns(200);
		} finally {
			sum++;
		}
	}
}

function exceptions() {
	for (let i = 0; i < 20; i++)
		Thrower.caught(20);
}

function garbage() {
	let kept = [];
	for (let i = 0; i < 20000; i++) {
		kept.push({ number: i, values: [i, i + 1], text: 'text ' + i, later: () => i });
		if (kept.length > 5000)
			kept = [];
	}
	sum += kept.length;
}

// New functions all the time: those that were filmed are gone soon.
function fleeting() {
	for (let i = 0; i < 20; i++)
		sum += new Function('n', `let s = 0; for (let i = 0; i < n; i++) s = (s + i * ${sum & 1023}) | 0; return s`)(20000);
}

const small = (value) => (Math.imul(value, 31) + 7) | 0;

// Small functions that TurboFan makes a part of this one; V8 is told nothing about where it is then.
function inlining() {
	let value = sum | 0;
	for (let i = 0; i < 100000; i++)
		value = small(value);
	sum += value;
}

async function step(depth) {
	await null;
	sum += turns(20000);
	if (depth > 0)
		await step(depth - 1);
}

function* generate(count) {
	for (let i = 0; i < count; i++)
		yield turns(2000);
}

async function asynchronous() {
	await step(5);
	for (const value of generate(10))
		sum += value;
	await Promise.all([step(1), step(2)]);
}

function inWorker() {
	sum += turns(50000);
}

function expressions() {
	const text = 'aaaabbbbcccc'.repeat(200);
	sum += text.replace(/(b+)(c+)/g, '$2$1').length;
}

const modes = {
	split, recursion, callbacks, native, exceptions, garbage, fleeting, inlining, asynchronous,
	inWorker, expressions,
};

async function work(mode, seconds) {
	const end = Date.now() + seconds * 1000;
	while (Date.now() < end)
		await modes[mode]();
}

// All of them by turns; prints what part of the time each took by the kernel's account.
async function all(seconds) {
	const end = Date.now() + seconds * 1000;
	const spent = {};
	while (Date.now() < end)
		for (const mode in modes) {
			const before = process.cpuUsage();
			await modes[mode]();
			const used = process.cpuUsage(before);
			spent[mode] = (spent[mode] || 0) + used.user + used.system;
		}
	process.stdout.write(`${JSON.stringify(spent)}\n`);
}

if (!isMainThread) {
	parentPort.postMessage('ready');
	work('inWorker', workerData);
} else {
	const [mode, seconds] = [process.argv[2], Number(process.argv[3])];
	const ready = () => process.stdout.write('ready\n');
	if (mode === 'workers') {
		let waiting = 3;
		for (let i = 0; i < 3; i++)
			new Worker(__filename, { workerData: seconds }).on('message', () => --waiting || ready());
	} else {
		ready();
	}
	if (mode === 'all')
		all(seconds);
	else if (mode !== 'workers')
		work(mode, seconds);
}
