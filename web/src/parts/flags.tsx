// SPDX-License-Identifier: Apache-2.0
// Marks above a chart: small flags, which say their words when they are pointed at and lead on when they are pressed.
import { useState } from 'preact/hooks';
import type { Mark } from '../api/answers';
import { count } from '../format';
import { slicesEvent } from '../state/events';
import { sideOf } from '../state/link';
import { usePage } from '../state/page';
import { clockOf, rangeOf, type Span } from '../state/range';
import { text } from '../text/text';
import { linkToKept } from './kept';
import { isKept, wordsOf } from './marks';
import { ToLink } from './to_link';

const NEAR = 12; // px: marks that are nearer share a flag
const SAID = 6; // of a flag
const BESIDE_LEAST = 60, BESIDE_MOST = 600; // s on each side of a mark that is compared

/** Where a chart draws, in pixels of its box. */
export interface Place {
	left: number;
	top: number;
	width: number;
	height: number;
}

interface Flag {
	at: number;
	marks: Mark[];
}

export function flagsOf(marks: readonly Mark[], { from, to }: Span, width: number): Flag[] {
	const flags: Flag[] = [];
	for (const mark of [...marks].sort((a, b) => a.time - b.time)) {
		const at = (mark.time - from) / (to - from) * width, last = flags[flags.length - 1];
		if (last && at - last.at < NEAR)
			last.marks.push(mark);
		else
			flags.push({ at, marks: [mark] });
	}
	return flags;
}

/** What was kept stands out, then what someone marked. */
const kindOf = (marks: Mark[]) => (marks.some(isKept) ? 'kept' : marks.every(({ derived }) => derived) ? 'derived' : 'said');

const saidOf = (mark: Mark) => `${clockOf(mark.time)} ${wordsOf(mark)}`;

function linesOf(marks: Mark[]): string[] {
	const more = marks.length - SAID;
	return [...marks.slice(0, SAID).map(saidOf), ...(more > 0 ? [text.chart.moreOfFlag(count(more))] : [])];
}

/** As long before a mark as after it: what it changed. */
export function besideMark({ time }: Mark, end: number): { now: Span; before: Span } {
	const length = Math.min(Math.max(end - time, BESIDE_LEAST), BESIDE_MOST);
	return { now: { from: time, to: time + length }, before: { from: time - length, to: time } };
}

export function Flags({ marks, span, place }: { marks: readonly Mark[]; span: Span; place: Place }) {
	const [picked, pick] = useState(0); // the moment of the flag's first mark
	const flags = flagsOf(marks, span, place.width), open = flags.find((flag) => flag.marks[0]!.time === picked);
	return <>
		<div class="flags" role="group" aria-label={text.chart.marked} style={{
			left: `${place.left}px`, top: `${place.top}px`, width: `${place.width}px`, '--high': `${place.height}px` }}>
			{flags.map((flag) => {
				const { at, marks: these } = flag, lines = linesOf(these);
				return <button type="button" key={these[0]!.time} style={{ left: `${at}px` }}
					class={`flag ${kindOf(these)} ${at > place.width / 2 ? 'at-end' : ''}`} aria-expanded={flag === open}
					aria-label={lines.join('\n')} onClick={() => pick(flag === open ? 0 : these[0]!.time)}>
					<span class="words">{lines.map((line, i) => <span key={i}>{line}</span>)}</span>
				</button>;
			})}
		</div>
		{open && <FlagPanel marks={open.marks} end={span.to} />}
	</>;
}

/** What a flag leads to. */
function FlagPanel({ marks, end }: { marks: Mark[]; end: number }) {
	const { link, status } = usePage();
	return <ul class="flag-panel" aria-label={text.chart.marked}>
		{marks.map((mark, i) => {
			const { now, before } = besideMark(mark, end);
			return <li key={i}>
				<time>{clockOf(mark.time)}</time> <span class="words">{wordsOf(mark)}</span>
				<ToLink class="button" to={{ ...link, view: 'compare', isLive: false, range: rangeOf(now),
					before: sideOf(rangeOf(before), link.filters) }} title={text.compare.beforeMarkHint}>{text.compare.beforeMark}</ToLink>
				{slicesEvent(status) && <ToLink class="button" to={linkToKept(mark)}>{text.views.timeline}</ToLink>}
			</li>;
		})}
	</ul>;
}
