// SPDX-License-Identifier: Apache-2.0
// The chosen frame, and what can be done with it.
import { useState } from 'preact/hooks';
import { copyText } from '../parts/copy';
import { flameText as words } from '../text/flame';
import type { FunctionName } from './contract';
import type { Facts } from './facts';

interface FrameBarProps {
	facts: Facts | null;
	node: number; // -1: none
	zoomed: number;
	/** Null: there is none of what is shown. */
	onFocus: ((name: FunctionName) => void) | null;
	onSandwich: ((name: FunctionName) => void) | null;
	onHide(name: FunctionName): void;
	onDetails: (() => void) | null;
}

function CopyButton({ name }: { name: string }) {
	const [said, setSaid] = useState('');

	async function copy(): Promise<void> {
		setSaid(await copyText(name) ? words.copied : words.notCopied);
		setTimeout(() => setSaid(''), 1200);
	}
	return <button title={`${words.copyHint} (c)`} onClick={copy}>{said || words.copy}</button>;
}

export function FrameBar({ facts, node, zoomed, onFocus, onSandwich, onHide, onDetails }: FrameBarProps) {
	if (!facts || node < 0)
		return <div class="flame-bar"><span class="flame-about">{words.hint}</span></div>;
	const label = facts.tree.label[node]!;
	const name = facts.name(node);
	const frame = facts.labels.functionName(label);

	return (
		<div class="flame-bar">
			<span class="flame-about"><b><bdi>{name.slice(0, 300)}</bdi></b> {facts.line(node, zoomed)}</span>
			<span class="flame-actions">
				<CopyButton key={name} name={name} />
				{facts.labels.isFunction(label) && <>
					{onFocus && <button title={`${words.focusHint} (f)`} onClick={() => onFocus(frame)}>{words.focus}</button>}
					{onSandwich && <button title={`${words.sandwichHint} (s)`} onClick={() => onSandwich(frame)}>
						{words.sandwich}
					</button>}
					<button title={`${words.hideHint} (h)`} onClick={() => onHide(frame)}>{words.hide}</button>
				</>}
				{onDetails && <button title={words.detailsHint} onClick={onDetails}>{words.details}</button>}
			</span>
		</div>
	);
}
