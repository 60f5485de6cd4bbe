// SPDX-License-Identifier: Apache-2.0
// Text for other programs. A page that came over plain HTTP has no clipboard but the one of a selected text.

function copySelected(text: string): boolean {
	const field = document.createElement('textarea');
	const focused = document.activeElement;
	field.value = text;
	field.setAttribute('readonly', '');
	field.className = 'copied';
	// within a dialog, what is outside cannot take the focus
	(document.querySelector('dialog[open]') ?? document.body).append(field);
	field.select();
	try {
		return document.execCommand('copy');
	} catch {
		return false;
	} finally {
		field.remove();
		if (focused instanceof HTMLElement)
			focused.focus();
	}
}

/** Puts a text where it can be pasted; whether the browser allowed it. */
export async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return copySelected(text); // also where there is no clipboard
	}
}
