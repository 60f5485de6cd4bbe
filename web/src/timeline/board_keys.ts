// SPDX-License-Identifier: Apache-2.0
// The keys of the timeline (text/timeline_en.ts lists them).
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../parts/keys';
import { usePage } from '../state/page';
import { Motion } from './input';
import { besideOf, type Row } from './lanes';
import { lanesOf } from './packs';
import { ROW } from './sizes';
import type { Actions } from './use_actions';
import type { Stretch } from './time';
import type { Area, View } from './view';
import { widened } from './viewport';

/** What the keys do with what is chosen. */
export interface Chosen {
	chosen: { lane: string; at: number } | null;
	/** ns since the origin; null: not known */
	range: Stretch | null;
	/** Chooses what is before (-1) or behind (1) it. */
	beside(direction: 1 | -1): void;
	/** It is of a thread, whose lane can be pinned and hidden. */
	isOfThread: boolean;
}

interface Board {
	view: View | null;
	rows: Row[];
	area: Area | null;
	/** The chosen slice, or what is chosen of a stream of a device. */
	chosen: Chosen;
	actions: Actions;
	scroller: { current: HTMLDivElement | null };
}

export function useBoardKeys({ view, rows, area, chosen: picked, actions, scroller }: Board): void {
	const { link } = usePage();
	const motion = useRef<Motion | null>(null);
	useEffect(() => {
		motion.current = view && new Motion(view);
		return () => motion.current?.close();
	}, [view]);
	const press = (key: string) => () => motion.current?.press(key);
	const chosen = link.timeline.lane;
	/** The lane above or below the chosen one; the first in sight, if there is none. */
	const step = (by: 1 | -1) => (): void | false => {
		if (!view)
			return false;
		const lanes = rows.flatMap((row, i) => (besideOf(row) === 'stream' ? [{ key: row.key, i, first: 0, last: view.whole.to }] :
			lanesOf(row).map(({ key, row: { first, last } }) => ({ key, i, first, last }))));
		const at = lanes.findIndex(({ key }) => key === chosen);
		const next = at < 0 ? lanes.find(({ i }) => i >= view.rowsInSight()[0]) : lanes[at + by];
		if (!next)
			return undefined;
		const moment = picked.chosen?.at ?? (view.range.from + view.range.to) / 2;
		actions.choose(next.key, Math.min(Math.max(moment, next.first), Math.max(next.last - 1, next.first)));
		const top = next.i * ROW, place = scroller.current!;
		if (top < place.scrollTop || top + ROW > place.scrollTop + place.clientHeight)
			place.scrollTop = top - place.clientHeight / 2;
		return undefined;
	};

	useKeys({
		w: press('w'), a: press('a'), s: press('s'), d: press('d'),
		f: () => view?.jump(view.whole),
		u: () => view?.back(),
		m: () => {
			const range = area?.range ?? picked.range;
			if (range)
				view?.jump(area ? range : widened(range));
		},
		t: () => view ? actions.setArea({ range: view.range, lanes: [] }) : false,
		ArrowUp: step(-1), ArrowDown: step(1),
		',': () => picked.beside(-1), '.': () => picked.beside(1),
		p: () => chosen && picked.isOfThread ? actions.pin(chosen) : false,
		h: () => chosen && picked.isOfThread ? actions.hide(chosen) : false,
		'/': () => document.querySelector<HTMLElement>('.tl-tools input')?.focus(),
		Enter: () => {
			const panel = document.querySelector<HTMLElement>('.tl-panel');
			if (!panel)
				return false;
			panel.focus();
			return undefined;
		},
		Escape: () => {
			if (!area && !chosen)
				return false;
			if (area)
				actions.setArea(null);
			else
				actions.choose('', 0);
			// what had the focus is no longer there
			if (document.activeElement?.closest('.tl-panel'))
				scroller.current?.focus();
			return undefined;
		},
	});
}
