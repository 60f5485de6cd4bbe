// SPDX-License-Identifier: Apache-2.0
// The keyboard. What is on the page says which keys it takes; the last that came takes precedence.
import { useEffect, useRef } from 'preact/hooks';

/** By KeyboardEvent.key: "?", "ArrowUp", "Escape". Returns false if the key was none of its. */
export type Keys = Record<string, (event: KeyboardEvent) => void | false>;

const taken: { current: Keys }[] = [];

/** Of a part of the page, for as long as it is there. */
export function useKeys(keys: Keys): void {
	const entry = useRef(keys);
	entry.current = keys;
	useEffect(() => {
		taken.push(entry);
		return () => void taken.splice(taken.indexOf(entry), 1);
	}, []);
}

/** Where keys are text. */
function isTyping(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select');
}

/** Whether the element itself does something with the key. */
function isOwn(target: EventTarget | null, key: string): boolean {
	return (key === 'Enter' || key === ' ') && target instanceof HTMLElement &&
		target.matches('button, a, summary, [role=menuitem], tr[tabindex], li[tabindex]');
}

function onKey(event: KeyboardEvent): void {
	if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
		return;
	if (isTyping(event.target) || isOwn(event.target, event.key) || document.querySelector('dialog[open]'))
		return;
	for (let i = taken.length - 1; i >= 0; i--) {
		const keys = taken[i]!.current;
		if (Object.hasOwn(keys, event.key) && keys[event.key]!(event) !== false) {
			event.preventDefault();
			return;
		}
	}
}

export function listenToKeys(): void {
	document.addEventListener('keydown', onKey);
}
