// SPDX-License-Identifier: Apache-2.0
// A link to another view: followed in the page, or opened beside it as browsers do.
import type { ComponentChildren } from 'preact';
import { type Link, writeLink } from '../state/link';
import { usePage } from '../state/page';
import { isHere } from './click';

export function ToLink({ to, children, ...rest }: { to: Link; children: ComponentChildren; class?: string; id?: string; title?: string }) {
	const { go } = usePage();
	return <a {...rest} href={writeLink(to) || '?'} onClick={(click) => {
		if (!isHere(click))
			return;
		click.preventDefault();
		click.stopPropagation(); // of a row that can be pressed, too
		go(to);
	}}>{children}</a>;
}
