// SPDX-License-Identifier: Apache-2.0
// The language of the page: what the user chose, or the browser's.
import { en, type Text } from './en';
import { zh } from './zh';

export const LANGUAGES: Record<string, Text> = { en, zh };
const KEY = 'stackcam.language';

function preferred(): string {
	const kept = localStorage.getItem(KEY);
	const wanted = kept ? [kept] : navigator.languages;
	return wanted.map((name) => name.slice(0, 2)).find((name) => Object.hasOwn(LANGUAGES, name)) ?? 'en';
}

export const language = preferred();

/** The words of the page. They change only when the page is loaded anew. */
export const text: Text = LANGUAGES[language]!;

export function setLanguage(name: string): void {
	localStorage.setItem(KEY, name);
	location.reload();
}
