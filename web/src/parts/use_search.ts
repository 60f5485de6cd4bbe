// SPDX-License-Identifier: Apache-2.0
// The page has the largest frames of a profile: what the others have of a search, the server says.
import { useEffect, useState } from 'preact/hooks';
import type { SearchAnswer } from '../api/answers';
import { withSearch } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FlameState, Searched } from '../flame/contract';
import { queryOf } from '../flame/search';

const SETTLES = 250; // ms without another letter

/** A text once nothing was typed for a moment. */
function useSettled(text: string): string {
	const [settled, setSettled] = useState(text);
	useEffect(() => {
		const timer = setTimeout(setSettled, SETTLES, text);
		return () => clearTimeout(timer);
	}, [text]);
	return settled;
}

/**
 * isPart: the page has not all of the profile; ask: what the profile was asked with; functions: how many are listed at
 * most. Null: there is no search, or the page has all.
 */
export function useSearch(isPart: boolean, ask: URLSearchParams, flame: FlameState, functions: number, beat: number): Searched | null {
	const isSettled = useSettled(flame.search) === flame.search;
	const isMeant = isPart && queryOf(flame.search, flame.isRegex).test !== null;
	const { answer, isOld, error } = useAnswer<SearchAnswer>(isMeant && isSettled ? 'search' : null,
		withSearch(ask, flame, functions), beat);

	return isMeant ? { answer: isOld ? null : answer, error: error?.message ?? '' } : null;
}
