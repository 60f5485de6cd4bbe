// SPDX-License-Identifier: Apache-2.0
// Deployments and new versions on the timeline: lines through all lanes, and their words above them.
import type { Mark } from '../api/answers';
import { clockOf } from '../state/range';
import { type Marks, MoreMarks, wordsOf } from '../parts/marks';
import { text } from '../text/text';
import type { Origin, Stretch } from './time';

const NEAR = 6; // px: marks that are nearer share a line

export interface MarkGroup {
	/** pixels */
	at: number;
	/** to the next one, or to the end */
	room: number;
	marks: Mark[];
}

/** The marks in sight, in the order of their time; neighbours that are too near are one. */
export function markGroups(marks: Mark[], range: Stretch, width: number, origin: Origin): MarkGroup[] {
	const perPixel = (range.to - range.from) / Math.max(width, 1), groups: MarkGroup[] = [];
	for (const mark of marks) {
		const ns = origin.nsOf(mark.time.toFixed(3));
		if (!(ns >= range.from && ns < range.to))
			continue;
		const at = Math.round((ns - range.from) / perPixel), last = groups[groups.length - 1];
		if (last && at - last.at < NEAR)
			last.marks.push(mark);
		else
			groups.push({ at, room: 0, marks: [mark] });
	}
	groups.forEach((group, i) => {
		group.room = (groups[i + 1]?.at ?? width) - group.at;
	});
	return groups;
}

const allOf = ({ marks }: MarkGroup) => marks.map((mark) => `${clockOf(mark.time)} ${wordsOf(mark)}`).join('\n');

/** Above the lanes: what the lines are of. */
export function MarkWords({ marks: { marks, others }, groups }: { marks: Marks; groups: MarkGroup[] }) {
	if (!marks.length)
		return null;
	return <div class="tl-marks-words">
		{groups.map((group) => <span key={group.at} title={allOf(group)}
			style={{ transform: `translateX(${group.at}px)`, maxWidth: `${group.room}px` }}>
			{group.marks.length > 1 ? text.chart.marks(String(group.marks.length), wordsOf(group.marks[0]!)) : wordsOf(group.marks[0]!)}
		</span>)}
		<ul class="unseen marks" aria-label={text.chart.marked}>
			{marks.map((mark, i) => <li key={i}>{clockOf(mark.time)} {wordsOf(mark)}</li>)}
		</ul>
		<MoreMarks others={others} />
	</div>;
}

/** Through the lanes. */
export function MarkLines({ groups }: { groups: MarkGroup[] }) {
	return <div class="tl-marks" aria-hidden="true">
		{groups.map((group) => <i key={group.at} class={group.marks.every(({ derived }) => derived) ? 'derived' : ''}
			style={{ transform: `translateX(${group.at}px)` }} />)}
	</div>;
}
