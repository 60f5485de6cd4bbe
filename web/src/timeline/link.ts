// SPDX-License-Identifier: Apache-2.0
// What of the timeline stands in the address.
import { LANE_ORDERS, type LaneOrder } from './lanes';

/** Moments as the API has them: unix seconds with up to nine digits behind the point. */
export interface TimelineLink {
	/** '': all of the range */
	from: string;
	to: string;
	order: LaneOrder;
	find: string;
	pinned: string[];
	hidden: string[];
	folded: string[];
	/** Each thread has a row of its own. */
	isApart: boolean;
	/** The slice of a lane at a moment; lane '': none. */
	lane: string;
	at: string;
	/** An area; '': none. lanes: none for all in the list */
	areaFrom: string;
	areaTo: string;
	areaLanes: string[];
	/** Words that someone wrote about the area. */
	areaNote: string;
	/** Text that lines of logs must have. */
	logFind: string;
	/** Moments are written as times of day. */
	isWall: boolean;
}

export const NO_TIMELINE: TimelineLink = {
	from: '', to: '', order: 'busy', find: '', pinned: [], hidden: [], folded: [], isApart: false, lane: '', at: '',
	areaFrom: '', areaTo: '', areaLanes: [], areaNote: '', logFind: '', isWall: false,
};

/** What state/link.ts reads and writes addresses with. */
interface Address {
	text(name: string, value: string): string;
	word<T extends string>(name: string, value: T, words: readonly T[]): T;
	flag(name: string, value: boolean): boolean;
	list(name: string, value: string[]): string[];
}

export function describeTimeline(at: Address, link: TimelineLink): TimelineLink {
	return {
		from: at.text('t_from', link.from),
		to: at.text('t_to', link.to),
		order: at.word('lanes', link.order, LANE_ORDERS),
		find: at.text('t_find', link.find),
		pinned: at.list('pin', link.pinned),
		hidden: at.list('hide_lane', link.hidden),
		folded: at.list('fold', link.folded),
		isApart: at.flag('apart', link.isApart),
		lane: at.text('lane', link.lane),
		at: at.text('at', link.at),
		areaFrom: at.text('area_from', link.areaFrom),
		areaTo: at.text('area_to', link.areaTo),
		areaLanes: at.list('area_lane', link.areaLanes),
		areaNote: at.text('area_note', link.areaNote),
		logFind: at.text('log_find', link.logFind),
		isWall: at.flag('wall', link.isWall),
	};
}
