// SPDX-License-Identifier: Apache-2.0
// The language of the page: what the user chose, or the browser's.
/** Each by its own name. */
export const LANGUAGES = { en: 'English', zh: '中文' };
const KEY = 'stackcam.language';

export type Language = keyof typeof LANGUAGES;

const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name);

/** A page that was opened from a file may not be allowed to keep anything. */
function kept(): string | null {
	try {
		return localStorage.getItem(KEY);
	} catch {
		return null;
	}
}

function preferred(): Language {
	const chosen = kept();
	const wanted = chosen ? [chosen] : navigator.languages;
	return wanted.map((name) => name.slice(0, 2)).find(isLanguage) ?? 'en';
}

export const language = preferred();

export function setLanguage(name: string): void {
	localStorage.setItem(KEY, name);
	location.reload();
}
