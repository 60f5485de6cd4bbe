// SPDX-License-Identifier: Apache-2.0
// An answer of the server as part of what is shown.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AskError, getJson } from './client';

export interface Asked<T> {
	/** The last good answer, which stays until there is another one; of another event: null, as null is for none yet. */
	answer: T | null;
	/** It answers the question before: of another time, or with other filters. */
	isOld: boolean;
	error: AskError | null;
	isLoading: boolean;
	again(): void;
}

interface State<T> {
	answer: T | null;
	/** What was asked for it. */
	question: string | null;
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

/** Whether two questions are of the same event: values of one mean nothing in the words of another. */
function isOfSameEvent(a: string, b: string): boolean {
	const eventOf = (question: string) => new URLSearchParams(question.slice(question.indexOf('?') + 1)).get('event');
	return eventOf(a) === eventOf(b);
}

/**
 * Asks now and whenever the question changes; a question that is still open is dropped then. Asks the same again
 * with each beat, unless the last time is still open: a slow server is not asked more than it can answer.
 * A null path asks nothing.
 */
export function useAnswer<T>(path: string | null, query: URLSearchParams, beat = 0): Asked<T> {
	const [state, setState] = useState<State<T>>({ answer: null, question: null, error: null, isLoading: path !== null });
	const open = useRef<AbortController | null>(null);
	const question = path === null ? null : `${path}?${query}`;

	const ask = () => {
		const control = new AbortController();
		open.current = control;
		setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
		getJson<T>(path!, query, control.signal).then((answer) => {
			setState({ answer, question, error: null, isLoading: false });
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
			setState({ answer: null, question, error: null, isLoading: false });
		else
			ask();
		return () => open.current?.abort();
	}, [question]);
	useLayoutEffect(() => {
		if (beat && question !== null && !open.current)
			ask();
	}, [beat]);
	// by what is asked now, which the state hears of only after it was drawn
	const isOld = state.answer !== null && state.question !== question;
	const fits = !isOld || (question !== null && isOfSameEvent(state.question!, question));
	return { answer: fits ? state.answer : null, isOld: isOld && fits, error: state.error,
		isLoading: state.isLoading || (isOld && question !== null && !state.error), again: ask };
}
