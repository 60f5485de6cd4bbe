// SPDX-License-Identifier: Apache-2.0
// The slice that is chosen: what the server knows about it, the arrow of who woke it, and the slices beside it.
import { useMemo } from 'preact/hooks';
import { askOf } from '../api/client';
import { type Asked, useAnswer } from '../api/use_answer';
import { slicesEvent } from '../state/events';
import { NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import type { LaneRow, LanesAnswer, SliceAnswer } from './answers';
import { familyOf } from './classes';
import { laneKey } from './lanes';
import type { Origin, Stretch } from './time';
import type { Arrow } from './view';

export interface ChosenSlice {
	asked: Asked<SliceAnswer>;
	lane: LaneRow | null;
	chosen: { lane: string; at: number } | null;
	/** ns since the origin; null: not known yet */
	range: Stretch | null;
	/** When its thread was woken, if it was. */
	wokenAt: number;
	arrows: Arrow[];
	/** Chooses the slice before (-1) or behind (1). */
	beside(direction: 1 | -1): void;
}

export function useSlice(answer: LanesAnswer, origin: Origin): ChosenSlice {
	const { link, go, status } = usePage();
	const { lane: key, at: word } = link.timeline;
	const at = origin.nsOf(word);
	const lane = useMemo(() => answer.lanes.find((row) => laneKey(row) === key) ?? null, [answer, key]);
	const asked = useAnswer<SliceAnswer>(lane && !Number.isNaN(at) ? 'timeline/slice' : null,
		askOf(slicesEvent(status), { from: '', to: '' }, { ...NO_LINK.filters, host: link.filters.host },
			{ lane_pid: lane?.pid, lane_tid: lane?.tid, lane_goroutine: lane?.goroutine ? 1 : undefined, at: word }));
	const slice = asked.answer?.slice;
	const offset = asked.answer ? origin.offsetOf(asked.answer.base) : 0;
	const range = useMemo(() => (slice ? { from: offset + slice.start, to: offset + slice.end } : null), [slice, offset]);
	// a wait ends when its thread is woken; time in the run queue begins then
	const wokenAt = !range || !slice ? 0 : familyOf(slice.name) === 'ready' ? range.from : range.to;
	const arrows = useMemo((): Arrow[] => (slice?.waker && slice.context === 'thread' ?
		[{ from: laneKey({ ...slice.waker, goroutine: slice.waker_goroutine }), to: key, at: wokenAt }] : []), [slice, key, wokenAt]);
	const chosen = useMemo(() => (lane && !Number.isNaN(at) ? { lane: key, at } : null), [lane, key, at]);
	return {
		asked, lane, chosen, range, wokenAt, arrows,
		beside: (direction) => {
			if (!range)
				return;
			const moment = direction < 0 ? range.from - 1 : range.to;
			if (moment >= 0 && moment < answer.length)
				go({ timeline: { ...link.timeline, at: origin.wordOf(moment) } }, false);
		},
	};
}
