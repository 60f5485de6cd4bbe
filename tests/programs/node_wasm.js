// SPDX-License-Identifier: GPL-2.0
// Functions of WebAssembly that call each other and JavaScript: "node node_wasm.js SECONDS". The module, as
// wat2wasm --debug-names makes it:
//
//	(module $sums
//	  (import "env" "called" (func $called (param i32) (result i32)))
//	  (func $leaf (param $n i32) (result i32) (local $s i32)
//	    (loop $l
//	      (local.set $s (i32.add (i32.mul (local.get $s) (i32.const 31)) (local.get $n)))
//	      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
//	      (br_if $l (local.get $n)))
//	    (local.get $s))
//	  (func (param $n i32) (result i32)
//	    (i32.add (call $leaf (local.get $n)) (i32.const 1)))
//	  (func (export "outer") (param $n i32) (result i32)
//	    (i32.add (call 2 (local.get $n)) (call 2 (i32.const 1000))))
//	  (func $back (export "through") (param $n i32) (result i32)
//	    (i32.add (call $called (local.get $n)) (i32.const 1))))
'use strict';

const MODULE =
	'AGFzbQEAAAABBgFgAX8BfwIOAQNlbnYGY2FsbGVkAAADBQQAAAAABxMCBW91dGVyAAMHdGhyb3VnaAAECkEEHgEBfwNA' +
	'IAFBH2wgAGohASAAQQFrIQAgAA0ACyABCwkAIAAQAUEBagsMACAAEAJB6AcQAmoLCQAgABAAQQFqCwA/BG5hbWUABQRz' +
	'dW1zARUDAAZjYWxsZWQBBGxlYWYEBGJhY2sCGgUAAAECAAFuAQFzAgEAAW4DAQABbgQBAAFu';

function inJavaScript(count) {
	let value = 0;
	for (let i = 0; i < count; i++)
		value = (Math.imul(value, 31) + i) | 0;
	return value;
}

const module_ = new WebAssembly.Module(Buffer.from(MODULE, 'base64'));
const { exports: wasm } = new WebAssembly.Instance(module_, { env: { called: inJavaScript } });

function work(turns) {
	let value = 0;
	for (let i = 0; i < turns; i++)
		value ^= wasm.outer(100000) ^ wasm.through(50000);
	return value;
}

work(10);
process.stdout.write('ready\n');
const end = Date.now() + 1000 * Number(process.argv[2]);
while (Date.now() < end)
	work(10);
