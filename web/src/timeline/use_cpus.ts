// SPDX-License-Identifier: Apache-2.0
// The lanes of CPUs: one answer over all of the time tells which there are, and tiles the rest.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { askOf, getJson } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import type { CpusAnswer, LanesAnswer } from './answers';
import { CpuThreads } from './cpus';
import { ofThreads } from './lanes';
import { levelOf, Tiles } from './tiles';
import type { Origin, Stretch } from './time';

const PIXELS = 1024; // of the first answer

export interface Cpus {
	/** Numbers of those that ran something. */
	all: number[];
	tiles: Tiles;
	threads: CpuThreads;
}

export function useCpus(answer: LanesAnswer, origin: Origin, onChange: (failure?: unknown) => void): Cpus {
	const { link, status } = usePage();
	const event = slicesEvent(status), { filters } = link;
	const changed = useRef(onChange);
	changed.current = onChange;
	const ask = (range: Stretch, pixel: number) => askOf(event,
		{ from: origin.wordOf(range.from), to: origin.wordOf(range.to) }, ofThreads(filters), { pixel });
	const level = levelOf(answer.length / PIXELS);
	const whole = { from: 0, to: answer.length };
	const first = useAnswer<CpusAnswer>('timeline/cpus', ask(whole, 2 ** level)).answer;
	const made = useMemo(() => {
		const threads = new CpuThreads();
		const tiles = new Tiles(origin, (range, pixel, _, signal) =>
			getJson<CpusAnswer>('timeline/cpus', ask(range, pixel), signal).then((cpus) => threads.unpack(cpus)),
		answer.length, (failure) => changed.current(failure));
		const there = first ? threads.unpack(first) : null;
		if (there)
			tiles.take(level, whole, new Map([...there.lanes].map(([key, unpack]) => [key, unpack(origin.offsetOf(there.base))])));
		return { all: first?.cpus.map(({ cpu }) => cpu) ?? [], tiles, threads };
	}, [answer, event, first]);
	useEffect(() => () => made.tiles.close(), [made]);
	return made;
}
