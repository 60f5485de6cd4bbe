// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the user chose, or the system's.
import { useEffect, useState } from 'preact/hooks';
import type { Theme } from '../flame/contract';

const KEY = 'stackcam.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function current(): Theme {
	const kept = localStorage.getItem(KEY);
	return kept === 'light' || kept === 'dark' ? kept : system.matches ? 'dark' : 'light';
}

export function showTheme(theme: Theme = current()): Theme {
	document.documentElement.classList.toggle('dark', theme === 'dark');
	return theme;
}

/** The theme, and what changes it to the other. */
export function useTheme(): [Theme, () => void] {
	const [theme, setTheme] = useState(current);

	useEffect(() => {
		const follow = () => setTheme(showTheme());
		system.addEventListener('change', follow);
		return () => system.removeEventListener('change', follow);
	}, []);
	return [theme, () => {
		const other = theme === 'dark' ? 'light' : 'dark';
		// the system's own needs no keeping, and is followed again
		if ((other === 'dark') === system.matches)
			localStorage.removeItem(KEY);
		else
			localStorage.setItem(KEY, other);
		setTheme(showTheme(other));
	}];
}
