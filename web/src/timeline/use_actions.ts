// SPDX-License-Identifier: Apache-2.0
// What changes the address of the timeline: so each can be shared, and gone back from.
import { useRef } from 'preact/hooks';
import { LIST_MAX } from '../state/link';
import { usePage } from '../state/page';
import type { LaneOrder } from './lanes';
import type { TimelineLink } from './link';
import type { Origin, Stretch } from './time';
import type { Area } from './view';

export interface Actions {
	/** What is in sight now. */
	note(range: Stretch, whole: Stretch): void;
	/** A lane, and the moment of its slice; '': none. */
	choose(lane: string, moment: number): void;
	setArea(area: Area | null): void;
	/** Words of the area, for those who open its link. */
	noteArea(words: string): void;
	fold(process: string): void;
	pin(lane: string): void;
	hide(key: string): void;
	showHidden(): void;
	order(by: LaneOrder): void;
	find(what: string): void;
	findLog(text: string): void;
	setWall(isWall: boolean): void;
	setApart(isApart: boolean): void;
}

function toggled(list: readonly string[], entry: string): string[] {
	return list.includes(entry) ? list.filter((other) => other !== entry) : [...list, entry].slice(-LIST_MAX);
}

export function useActions(origin: Origin): Actions {
	const { link, go } = usePage();
	const now = useRef(link.timeline);
	now.current = link.timeline;
	const change = (part: Partial<TimelineLink>, isStep = false) => go({ timeline: { ...now.current, ...part } }, isStep);
	return {
		note: (range, whole) => change(range.from <= whole.from && range.to >= whole.to ? { from: '', to: '' } :
			{ from: origin.wordOf(range.from), to: origin.wordOf(range.to) }),
		choose: (lane, moment) => change({ lane, at: lane && origin.wordOf(Math.floor(moment)) }),
		setArea: (area) => change(area ? { areaFrom: origin.wordOf(area.range.from), areaTo: origin.wordOf(area.range.to),
			// more than an address holds: all of the list
			areaLanes: area.lanes.length <= LIST_MAX ? area.lanes : [], areaNote: '' } : { areaFrom: '', areaTo: '', areaLanes: [], areaNote: '' }),
		noteArea: (areaNote) => change({ areaNote }),
		fold: (process) => change({ folded: toggled(now.current.folded, process) }),
		pin: (lane) => change({ pinned: toggled(now.current.pinned, lane) }),
		hide: (key) => change({ hidden: toggled(now.current.hidden, key) }),
		showHidden: () => change({ hidden: [] }),
		order: (order) => change({ order }),
		find: (find) => change({ find }),
		findLog: (text) => change({ logFind: text }, true),
		setWall: (isWall) => change({ isWall }),
		setApart: (isApart) => change({ isApart }),
	};
}
