// SPDX-License-Identifier: Apache-2.0
import { useMemo } from 'preact/hooks';
import { flameText as words } from '../text/flame';
import type { Colours } from './colours';
import type { Model } from './model';

/** What the colours mean, and what hatched is. */
export function Legend({ model, colours }: { model: Model; colours: Colours }) {
	const { colouring } = colours;
	const isChange = colouring === 'change';
	const meanings = useMemo(() => colours.legend(), [colours]);
	const hasGuess = useMemo(() => model.tree.guess.includes(1), [model]);
	const known: Record<string, string> = colouring === 'language' ? words.languages : words.kinds;

	return (
		<div class={`flame-legend${isChange ? ' flame-scale' : ''}`} aria-label={words.legend}>
			{meanings.map(({ fill, key, isWord }) => (
				<span key={key}>
					<i style={{ backgroundColor: fill }} />{isWord ? known[key] ?? key : key}
				</span>
			))}
			{isChange && <span>{words.scale}</span>}
			{hasGuess && <span><i class="flame-hatched" />{words.guess}</span>}
		</div>
	);
}
