// SPDX-License-Identifier: Apache-2.0
// Lines that threads logged: marks on their lanes, and a list beside, which finds text.
import { useMemo } from 'preact/hooks';
import { askOf } from '../api/client';
import { type Asked, useAnswer } from '../api/use_answer';
import { count, safe } from '../format';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer, LogLine, LogsAnswer } from './answers';
import { laneKey, ofThreads, type Row } from './lanes';
import { placesOfLanes } from './packs';
import { ROW } from './sizes';
import { exactly, type Origin, type Stretch } from './time';
import { useRest } from './use_rest';

const LIMIT = 2000; // lines of an answer
const CHARACTERS = 400; // of each
const LISTED = 200;
const MARKS = 500;
const NEAR = 4; // pixels: marks as near as that are one
const ROW_MOST = 40; // marks of a row: where there would be more, they are further apart

export interface Logs {
	asked: Asked<LogsAnswer>;
	/** Whether the films have any. */
	areThere: boolean;
	lines: readonly LogLine[];
	/** ns since the origin */
	timeOf(line: LogLine): number;
	left: number;
}

/** All of the time is asked for once: where that has room for all lines, nothing more is asked. */
export function useLogs(answer: LanesAnswer, origin: Origin, range: Stretch, find: string): Logs {
	const { link, status } = usePage();
	const rested = useRest(range), wanted = useRest(find);
	const ask = (time: Stretch, text: string) => askOf(slicesEvent(status), { from: origin.wordOf(time.from), to: origin.wordOf(time.to) },
		ofThreads(link.filters), { limit: LIMIT, characters: CHARACTERS, find: text });
	const whole = { from: 0, to: answer.length };
	const all = useAnswer<LogsAnswer>('timeline/logs', ask(whole, ''));
	const areThere = !!all.answer && (all.answer.lines.length > 0 || all.answer.left > 0);
	const needsMore = areThere && (all.answer!.left > 0 || wanted !== '');
	const some = useAnswer<LogsAnswer>(needsMore ? 'timeline/logs' : null, ask(rested, wanted));
	const asked = needsMore ? some : all;
	const offset = asked.answer ? origin.offsetOf(asked.answer.base) : 0;
	return { asked, areThere, lines: asked.answer?.lines ?? [], timeOf: (line) => offset + line.time, left: asked.answer?.left ?? 0 };
}

interface Mark {
	key: string;
	lane: string;
	at: number;
	x: number;
	y: number;
	lines: LogLine[];
}

/** Of the lines in sight, by row: those that are nearer than that many pixels are one. */
function marksBy(near: (row: number) => number, logs: Logs, places: Map<string, number>, range: Stretch, width: number): Map<number, Mark[]> {
	const perPixel = (range.to - range.from) / Math.max(width, 1), rows = new Map<number, Mark[]>();
	for (const line of logs.lines) {
		const lane = laneKey(line), place = places.get(lane), at = logs.timeOf(line);
		if (place === undefined || at < range.from || at >= range.to)
			continue;
		const x = Math.round((at - range.from) / perPixel), row = rows.get(place) ?? [], before = row.at(-1);
		if (before && x - before.x < near(place))
			before.lines.push(line);
		else
			row.push({ key: `${lane} ${at}`, lane, at, x, y: 0, lines: [line] });
		rows.set(place, row);
	}
	return rows;
}

function marksOf(logs: Logs, rows: readonly Row[], offset: number, range: Stretch, width: number): Mark[] {
	const places = placesOfLanes(rows);
	const each = marksBy(() => NEAR, logs, places, range, width);
	const isCrowded = (place: number) => each.get(place)!.length > ROW_MOST;
	const marks = marksBy((place) => (isCrowded(place) ? width / ROW_MOST : NEAR), logs, places, range, width);
	return [...marks].flatMap(([place, all]) => all.map((mark) => ({ ...mark, y: place * ROW - offset }))).slice(0, MARKS);
}

const textOf = (line: LogLine) => safe(line.text) + (line.cut ? ' …' : '');

const titleOf = (lines: readonly LogLine[]) => lines.slice(0, 8).map(textOf).join('\n') +
	(lines.length > 8 ? `\n${words.logs.more(count(lines.length - 8))}` : '');

/** On the lanes in sight. */
export function LogMarks({ logs, rows, offset, range, width, choose }: {
	logs: Logs; rows: readonly Row[]; offset: number; range: Stretch; width: number; choose(lane: string, moment: number): void;
}) {
	const marks = useMemo(() => marksOf(logs, rows, offset, range, width), [logs.lines, rows, offset, range, width]);
	return <div class="tl-logs-marks">
		{marks.map(({ key, lane, at, x, y, lines }) => <button type="button" key={key} tabIndex={-1}
			class={lines.some(({ level }) => isBad(level)) ? 'bad' : ''} style={{ transform: `translate(${x - 3}px, ${y}px)` }}
			onPointerEnter={({ currentTarget }) => {
				currentTarget.title = titleOf(lines); // of hundreds of marks that move, few are pointed at
			}} aria-label={words.logs.mark(String(lines.length))} onClick={() => choose(lane, at)} />)}
	</div>;
}

function isBad(level: string): boolean {
	return ['emergency', 'alert', 'critical', 'error'].includes(level);
}

export function LogRow({ line, at, choose }: { line: LogLine; at: string; choose?: () => void }) {
	const by = line.matched === 'writer' ? '' : words.logs.matched[line.matched]?.(String(line.writer)) ?? '';
	return <li class={isBad(line.level) ? 'bad' : ''}>
		{choose ? <button type="button" class="quiet mono" onClick={choose}>{at}</button> : <span class="mono hint">{at}</span>}
		<span class="hint"> {safe(line.comm)} {line.tid}{by && `, ${by}`} {words.logs.kinds[line.kind] ?? line.kind}{line.stream && line.kind === 'file' && ` ${safe(line.stream)}`} {line.level} </span>
		<span class="mono">{textOf(line)}</span>
		{line.cut && <i class="hint"> {words.logs.cut(count(line.size))}</i>}
	</li>;
}

/** What is in sight; the field finds text there. */
export function LogList({ logs, range, origin, isWall, find, onFind, choose }: {
	logs: Logs; range: Stretch; origin: Origin; isWall: boolean; find: string; onFind(text: string): void;
	choose(lane: string, moment: number): void;
}) {
	const shown = logs.lines.filter((line) => logs.timeOf(line) >= range.from && logs.timeOf(line) < range.to);
	return <details class="tl-logs" id="logs">
		<summary>{words.logs.title(count(shown.length))}{logs.left > 0 && ` ${words.logs.left(count(logs.left))}`}</summary>
		<input type="search" name="t-log-find" value={find} placeholder={words.logs.find} aria-label={words.logs.find} autocomplete="off"
			spellcheck={false} onInput={(event) => onFind(event.currentTarget.value)}
			onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()} />
		<ol>{shown.slice(0, LISTED).map((line, i) => <LogRow key={i} line={line} at={isWall ? origin.wallOf(logs.timeOf(line)) : exactly(logs.timeOf(line))}
			choose={() => choose(laneKey(line), logs.timeOf(line))} />)}</ol>
		{shown.length > LISTED && <p class="hint">{words.logs.more(count(shown.length - LISTED))}</p>}
	</details>;
}
