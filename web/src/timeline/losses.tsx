// SPDX-License-Identifier: Apache-2.0
// What is missing in the picture: losses, and films that there was no time for.
import { Losses } from '../parts/losses';
import { Missing } from '../parts/missing';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import type { LanesAnswer } from './answers';

export function SumOfLosses({ answer: { sum } }: { answer: LanesAnswer }) {
	const { status } = usePage();
	return <div class="sum tl-sum">
		<Losses sum={sum} event={slicesEvent(status)} />
		<Missing sum={sum} />
	</div>;
}
