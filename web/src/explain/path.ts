// SPDX-License-Identifier: Apache-2.0
// What an explanation leads to: its deepest causes, and all threads that it speaks of.
import { laneKey } from '../timeline/lanes';
import type { ExplainedPart, ExplainedThread, Explanation } from './answers';

/** Of one cause, all that it took. */
export interface Cause {
	kind: string;
	words: string;
	thread: ExplainedThread;
	duration: number;
}

/** The parts that no other part is behind, in their order: they add up to what all parts do. */
export function deepestOf(parts: readonly ExplainedPart[]): ExplainedPart[] {
	return parts.flatMap((part) => (part.parts.length ? deepestOf(part.parts) : [part]));
}

/** Those of a kind, words and thread as one, the longest first. */
export function causesOf(parts: readonly ExplainedPart[]): Cause[] {
	const causes = new Map<string, Cause>();
	for (const { kind, words, thread, duration } of deepestOf(parts)) {
		const key = `${kind}\n${words}\n${laneKey(thread)}`, known = causes.get(key);
		if (known)
			known.duration += duration;
		else
			causes.set(key, { kind, words, thread, duration });
	}
	return [...causes.values()].sort((a, b) => b.duration - a.duration);
}

/** Its own thread, then those of its parts and who held and woke, each once. */
export function threadsOf(of: Explanation): ExplainedThread[] {
	const threads = new Map<string, ExplainedThread>();
	const add = (thread: ExplainedThread | null) => {
		if (thread?.tid && !threads.has(laneKey(thread)))
			threads.set(laneKey(thread), thread);
	};
	const walk = (parts: readonly ExplainedPart[]) => parts.forEach((part) => {
		add(part.thread);
		add(part.holder);
		add(part.waker);
		walk(part.parts);
	});
	add(of);
	walk(of.parts);
	return [...threads.values()];
}
