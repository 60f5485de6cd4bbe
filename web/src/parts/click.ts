// SPDX-License-Identifier: Apache-2.0
/** Whether a click on a link is for this page, not for another tab or window. */
export function isHere(click: MouseEvent): boolean {
	return !(click.ctrlKey || click.metaKey || click.shiftKey || click.button);
}
