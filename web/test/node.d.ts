// SPDX-License-Identifier: Apache-2.0
// As much of node as the unit tests use; its own types would be one more package.
declare module 'node:test' {
	export default function test(name: string, body: () => void): void;
}
declare module 'node:assert/strict' {
	const assert: {
		ok(value: unknown, message?: string): void;
		equal(actual: unknown, expected: unknown, message?: string): void;
		deepEqual(actual: unknown, expected: unknown, message?: string): void;
		match(actual: string, expected: RegExp): void;
		throws(body: () => void, error: unknown): void;
	};
	export default assert;
}
