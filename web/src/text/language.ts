// SPDX-License-Identifier: Apache-2.0
// The language of the page: what the user chose, or the browser's.
const LANGUAGES = ['en', 'zh'] as const;
const KEY = 'stackcam.language';

export type Language = typeof LANGUAGES[number];

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
	return wanted.map((name) => LANGUAGES.find((known) => known === name.slice(0, 2))).find(Boolean) ?? 'en';
}

export const language = preferred();

export function setLanguage(name: string): void {
	localStorage.setItem(KEY, name);
	location.reload();
}
