// SPDX-License-Identifier: Apache-2.0
// What a user writes to mean functions, in the search and in the list of hidden frames.

interface Named {
	name: string;
	image: string;
	/** "src/parse.c:120", or nothing */
	place: string;
}

export type Test = (frame: Named) => boolean;

/** What "quoted" means: exactly this name. */
export function quoted(name: string): string {
	return `"${name}"`;
}

/** The name that a pattern means exactly; '' where it means more. */
export function unquoted(pattern: string): string {
	return /^"(.+)"$/s.exec(pattern)?.[1] ?? '';
}

function textTest(wanted: string, isRegex: boolean): (text: string) => boolean {
	const slashed = /^\/(.+)\/(i?)$/.exec(wanted);

	if (slashed || isRegex) {
		const pattern = new RegExp(slashed?.[1] ?? wanted, slashed ? slashed[2] : 'i');
		return (text) => pattern.test(text);
	}
	const exactly = unquoted(wanted);
	if (exactly)
		return (text) => text === exactly;
	const lower = wanted.toLowerCase();
	if (wanted.includes('*')) {
		const parts = lower.split('*');
		return (text) => hasParts(text.toLowerCase(), parts);
	}
	return (text) => text.toLowerCase().includes(lower);
}

/** "a*b": the whole text begins with a and ends with b. */
function hasParts(text: string, parts: string[]): boolean {
	const last = parts[parts.length - 1]!;
	let at = parts[0]!.length;

	if (!text.startsWith(parts[0]!) || !text.endsWith(last))
		return false;
	for (const part of parts.slice(1, -1)) {
		const found = text.indexOf(part, at);
		if (found < 0)
			return false;
		at = found + part.length;
	}
	return at + last.length <= text.length;
}

const afterSlash = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/**
 * The test that a pattern stands for. Plain text is found anywhere in the name in any case; "in
 * quotes" is the whole name; with a * it is a glob of the whole name; /between slashes/ is a regular
 * expression; image: and file: look there instead (a glob of an image also fits its file name).
 * Throws SyntaxError for a wrong regular expression.
 */
export function testOf(pattern: string, isRegex = false): Test {
	const prefix = /^(image|file):/.exec(pattern)?.[1];
	const test = textTest(prefix ? pattern.slice(prefix.length + 1) : pattern, isRegex);

	if (prefix === 'image')
		return ({ image }) => test(image) || test(afterSlash(image));
	if (prefix === 'file')
		return ({ place }) => place !== '' && test(place);
	return ({ name }) => test(name);
}
