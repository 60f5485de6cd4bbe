// SPDX-License-Identifier: Apache-2.0
// The moment of a stream of a device that is chosen: what ran then, and what beside it, as far as it is in sight.
import { usePage } from '../state/page';
import type { StreamRow } from './answers';
import type { Chosen } from './board_keys';
import { streamKey, type Work } from './devices';
import type { Origin } from './time';
import type { Actions } from './use_actions';
import type { Devices } from './use_devices';
import type { Hit, View } from './view';

export interface ChosenStream extends Chosen {
	/** null: none is chosen */
	row: StreamRow | null;
	hit: Hit | null;
	work: Work | null;
}

export function useStream(view: View | null, devices: Devices, origin: Origin, actions: Actions): ChosenStream {
	const { link } = usePage();
	const { lane, at: word } = link.timeline, at = origin.nsOf(word);
	const row = devices.all.find((stream) => streamKey(stream) === lane) ?? null;
	const isChosen = !!row && !Number.isNaN(at);
	const hit = isChosen ? view?.hitOf(lane, at) ?? null : null;
	return {
		row: isChosen ? row : null, hit, work: hit ? devices.works.workOf(hit.runs, hit.run) : null,
		chosen: isChosen ? { lane, at } : null, range: hit?.extent ?? null, isOfThread: false,
		beside: (direction) => {
			const next = isChosen ? view?.beside(lane, at, direction) ?? null : null;
			if (next !== null)
				actions.choose(lane, Math.ceil(next));
		},
	};
}
