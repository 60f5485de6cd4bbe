// SPDX-License-Identifier: Apache-2.0

/** In a table whose rows can be chosen, the arrows go from row to row. */
export function moveRow(event: KeyboardEvent): void {
	const row = event.currentTarget as HTMLElement;
	const rows = row.parentElement!.children;
	const next = event.key === 'ArrowDown' ? row.nextElementSibling :
		event.key === 'ArrowUp' ? row.previousElementSibling :
			event.key === 'Home' ? rows[0] : event.key === 'End' ? rows[rows.length - 1] : null;
	if (!(next instanceof HTMLElement))
		return;
	event.preventDefault();
	event.stopPropagation();
	next.focus();
}
