// SPDX-License-Identifier: Apache-2.0
// A button that opens something below it: closed by Escape, and by a click anywhere else.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface DropdownProps {
	label: ComponentChildren;
	name: string;
	class?: string;
	title?: string;
	/** What is inside; close() closes it. */
	children: (close: () => void) => ComponentChildren;
}

export function Dropdown({ label, name, class: extra = '', title, children }: DropdownProps) {
	const [isOpen, setOpen] = useState(false);
	const box = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);
	const close = () => {
		setOpen(false);
		button.current?.focus();
	};

	useEffect(() => {
		if (!isOpen)
			return undefined;
		box.current?.querySelector<HTMLElement>('.dropped :is(button, input, select, a)')?.focus();
		const outside = (event: Event) => {
			if (!box.current?.contains(event.target as Node))
				setOpen(false);
		};
		document.addEventListener('pointerdown', outside);
		document.addEventListener('focusin', outside);
		return () => {
			document.removeEventListener('pointerdown', outside);
			document.removeEventListener('focusin', outside);
		};
	}, [isOpen]);

	const onKeyDown = (event: KeyboardEvent) => {
		if (isOpen && event.key === 'Escape') {
			event.preventDefault();
			close();
		}
	};
	return <div class={`dropdown ${extra}`} ref={box} onKeyDown={onKeyDown}>
		<button type="button" ref={button} id={name} title={title} aria-haspopup="true" aria-expanded={isOpen}
			onClick={() => setOpen(!isOpen)}>{label}<span class="caret" aria-hidden="true" /></button>
		{isOpen && <div class="dropped">{children(close)}</div>}
	</div>;
}

export interface MenuItem {
	key: string;
	label: string;
	onPick(): void;
}

/** The arrows go through the items. */
function moveFocus(event: KeyboardEvent): void {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!step)
		return;
	event.preventDefault();
	const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=menuitem]')];
	const at = items.indexOf(document.activeElement as HTMLElement);
	items[(at + step + items.length) % items.length]?.focus();
}

export function Menu({ items, ...button }: Omit<DropdownProps, 'children'> & { items: MenuItem[] }) {
	return <Dropdown {...button}>{(close) =>
		<div class="menu" role="menu" aria-labelledby={button.name} onKeyDown={moveFocus}>
			{items.map((item) => <button type="button" role="menuitem" key={item.key} data-key={item.key}
				onClick={() => {
					close();
					item.onPick();
				}}>{item.label}</button>)}
		</div>
	}</Dropdown>;
}
