// SPDX-License-Identifier: Apache-2.0
// The lanes of devices' streams: one answer over all of the time tells which there are, and tiles the rest.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { askOf, getJson } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { usePage } from '../state/page';
import type { DevicesAnswer, LanesAnswer, StreamRow } from './answers';
import { DeviceWorks } from './devices';
import { ofThreads } from './lanes';
import { levelOf, Tiles } from './tiles';
import type { Origin, Stretch } from './time';

const PIXELS = 1024; // of the first answer

export interface Devices {
	/** Those that ran something. */
	all: StreamRow[];
	/** There was no room for all in the first answer. */
	isCut: boolean;
	tiles: Tiles;
	works: DeviceWorks;
}

export function useDevices(answer: LanesAnswer, origin: Origin, onChange: (failure?: unknown) => void): Devices {
	const { link, status } = usePage();
	const { filters } = link, areThere = !!status?.devices;
	const changed = useRef(onChange);
	changed.current = onChange;
	const ask = (range: Stretch, pixel: number) => askOf('gpu-lanes',
		{ from: origin.wordOf(range.from), to: origin.wordOf(range.to) }, ofThreads(filters), { pixel });
	const level = levelOf(answer.length / PIXELS);
	const whole = { from: 0, to: answer.length };
	const first = useAnswer<DevicesAnswer>(areThere ? 'timeline/devices' : null, ask(whole, 2 ** level)).answer;
	const made = useMemo(() => {
		const works = new DeviceWorks();
		const tiles = new Tiles(origin, (range, pixel, _, signal) =>
			getJson<DevicesAnswer>('timeline/devices', ask(range, pixel), signal).then((devices) => works.unpack(devices)),
		answer.length, (failure) => changed.current(failure));
		const there = first ? works.unpack(first) : null;
		if (there)
			tiles.take(level, whole, new Map([...there.lanes].map(([key, unpack]) => [key, unpack(origin.offsetOf(there.base))])));
		return { all: first?.streams ?? [], isCut: !!first?.cut, tiles, works };
	}, [answer, first]);
	useEffect(() => () => made.tiles.close(), [made]);
	return made;
}
