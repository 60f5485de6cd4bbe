// SPDX-License-Identifier: Apache-2.0
// What the page has of a browser and node has not, as far as unit tests need it.
const kept = new Map<string, string>();

Object.defineProperty(globalThis, 'localStorage', { configurable: true, value: {
	getItem: (name: string) => kept.get(name) ?? null,
	setItem: (name: string, value: string) => kept.set(name, value),
} });
Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { languages: ['en'] } });
