// SPDX-License-Identifier: Apache-2.0
// An answer of the server as part of what is shown.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AskError, getJson } from './client';

export interface Asked<T> {
	/** The last good answer, which stays until there is another one; null: none yet. */
	answer: T | null;
	error: AskError | null;
	isLoading: boolean;
	again(): void;
}

interface State<T> {
	answer: T | null;
	error: AskError | null;
	isLoading: boolean;
}

/** Hears of each failure that an answer had ("failure"): 401 opens the prompt for a token. */
export class Failure extends Event {
	constructor(readonly error: AskError) {
		super('failure');
	}
}
export const failures = new EventTarget();

/**
 * Asks now and whenever the question changes; a question that is still open is dropped then. Asks the same again
 * with each beat, unless the last time is still open: a slow server is not asked more than it can answer.
 * A null path asks nothing.
 */
export function useAnswer<T>(path: string | null, query: URLSearchParams, beat = 0): Asked<T> {
	const [state, setState] = useState<State<T>>({ answer: null, error: null, isLoading: path !== null });
	const open = useRef<AbortController | null>(null);
	const question = path === null ? null : `${path}?${query}`;

	const ask = () => {
		const control = new AbortController();
		open.current = control;
		setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
		getJson<T>(path!, query, control.signal).then((answer) => {
			setState({ answer, error: null, isLoading: false });
		}, (failure) => {
			if (control.signal.aborted)
				return;
			const error = failure instanceof AskError ? failure : new AskError(-1, String(failure));
			setState((before) => ({ ...before, error, isLoading: false }));
			failures.dispatchEvent(new Failure(error));
		}).finally(() => {
			if (open.current === control)
				open.current = null;
		});
	};
	// of the layout: other effects wait until something was painted, which a question need not
	useLayoutEffect(() => {
		open.current?.abort();
		if (question === null)
			setState({ answer: null, error: null, isLoading: false });
		else
			ask();
		return () => open.current?.abort();
	}, [question]);
	useLayoutEffect(() => {
		if (beat && question !== null && !open.current)
			ask();
	}, [beat]);
	return { ...state, again: ask };
}
