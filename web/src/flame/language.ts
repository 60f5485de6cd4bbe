// SPDX-License-Identifier: Apache-2.0
// In which language a frame was written. Runtimes say so; of native code the name tells what it can.

/** In the order of the palette (palette.ts). */
export const LANGUAGES = ['group', 'c', 'kernel', 'go', 'unknown', 'python', 'java', 'lua', 'javascript',
	'c++'] as const;
export type Language = (typeof LANGUAGES)[number];

const BY_KIND: Record<string, Language> = {
	group: 'group',
	label: 'group',
	kernel: 'kernel',
	python: 'python',
	java: 'java',
	lua: 'lua',
	javascript: 'javascript',
};

// "main.(*Server).Serve", "runtime.mallocgc", "net/http.(*conn).serve": a package, a dot, a name
const GO = /^(?:[\w.~-]+\/)*[\w~-]+\.(?:\(\*?\w|\w)/;
const IDENTIFIER = /^[A-Za-z_]\w*(?:@@?[\w.]+)?(?:\.(?:part|isra|constprop|cold|lto_priv|llvm)[.\d]*)*$/;

export function languageOf(kind: string, name: string): Language {
	if (kind !== 'native')
		return BY_KIND[kind] ?? 'unknown';
	if (name.includes('::') || /^(?:operator|void|bool|int|auto) |\(.*\)(?: const)?$/.test(name) &&
		!GO.test(name))
		return 'c++'; // or Rust
	if (IDENTIFIER.test(name))
		return 'c';
	return GO.test(name) ? 'go' : 'unknown';
}
