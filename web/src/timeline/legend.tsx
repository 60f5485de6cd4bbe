// SPDX-License-Identifier: Apache-2.0
// The key: a bar in the colour and the height of each family of classes, with words.
import type { Theme } from '../flame/contract';
import { timelineText as words } from '../text/timeline';
import { colourOf, FAMILIES, heightOf } from './classes';

export function Legend({ theme }: { theme: Theme }) {
	return <ul class="tl-legend" aria-label={words.legend}>
		{FAMILIES.map((family) => <li key={family}>
			<i class={family === 'hole' ? 'hatched' : ''} style={{ '--colour': colourOf(theme, family),
				'--height': `${Math.round(heightOf(family) * 12)}px` }} />
			{words.families[family]}</li>)}
	</ul>;
}
