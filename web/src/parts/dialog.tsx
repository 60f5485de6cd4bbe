// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { KeyText } from '../text/flame_en';

/** isForm: its first field takes the focus. */
export function Dialog({ id, title, isForm, onClose, children }: {
	id: string; title: string; isForm?: boolean; onClose(): void; children: ComponentChildren;
}) {
	const dialog = useRef<HTMLDialogElement>(null);
	const heading = useRef<HTMLHeadingElement>(null);
	useEffect(() => {
		dialog.current!.showModal();
		if (!isForm)
			heading.current!.focus();
	}, []);
	return <dialog id={id} ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}
		onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
		<h2 id={`${id}-title`} tabIndex={-1} ref={heading}>{title}</h2>
		{children}
	</dialog>;
}

export function KeyList({ title, keys }: { title: string; keys: KeyText[] }) {
	return <section>
		<h3>{title}</h3>
		<dl>{keys.map(([names, what]) => <>
			<dt>{names.split('  ').map((name) => <kbd>{name}</kbd>)}</dt>
			<dd>{what}</dd>
		</>)}</dl>
	</section>;
}
