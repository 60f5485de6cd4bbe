// SPDX-License-Identifier: Apache-2.0
// The keys of the timeline (text/timeline_en.ts lists them).
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../parts/keys';
import { usePage } from '../state/page';
import { Motion } from './input';
import type { Row } from './lanes';
import { lanesOf } from './packs';
import { ROW } from './sizes';
import type { Actions } from './use_actions';
import type { ChosenSlice } from './use_slice';
import type { Area, View } from './view';
import { widened } from './viewport';

interface Board {
	view: View | null;
	rows: Row[];
	area: Area | null;
	slice: ChosenSlice;
	actions: Actions;
	scroller: { current: HTMLDivElement | null };
}

export function useBoardKeys({ view, rows, area, slice, actions, scroller }: Board): void {
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
		const lanes = rows.flatMap((row, i) => lanesOf(row).map(({ key, row: { first, last } }) => ({ key, i, first, last })));
		const at = lanes.findIndex(({ key }) => key === chosen);
		const next = at < 0 ? lanes.find(({ i }) => i >= view.rowsInSight()[0]) : lanes[at + by];
		if (!next)
			return undefined;
		const moment = slice.chosen?.at ?? (view.range.from + view.range.to) / 2;
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
			const range = area?.range ?? slice.range;
			if (range)
				view?.jump(area ? range : widened(range));
		},
		t: () => view ? actions.setArea({ range: view.range, lanes: [] }) : false,
		ArrowUp: step(-1), ArrowDown: step(1),
		',': () => slice.beside(-1), '.': () => slice.beside(1),
		p: () => chosen ? actions.pin(chosen) : false,
		h: () => chosen ? actions.hide(chosen) : false,
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
