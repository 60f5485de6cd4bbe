// SPDX-License-Identifier: Apache-2.0
// Deployments and new versions on a timeline: as lines, with their words as far as there is room.
import type uPlot from 'uplot';
import type { Mark, MarksAnswer } from '../api/answers';
import { useAnswer } from '../api/use_answer';
import { count, safe } from '../format';
import { usePage } from '../state/page';
import type { Span } from '../state/range';
import { text } from '../text/text';

const BUILD_SHOWN = 8; // digits of a build id
const NEAR = 6; // px: lines that are nearer share their words
const FONT = '11px system-ui, sans-serif';
const WORDS_HIGH = 16; // px, with the ground that they stand on
const WORDS_LEAST = 24; // px of room
const ROWS = 2; // of words: neighbours have more room
const LINES = 6; // that the picture bears: where there are more, those of new versions are flags at its top
const FLAG = 5; // px

const isBuild = (version: string) => /^[0-9a-f]{16,}$/.test(version);

/** "shop 1.2: faster checkout", "new version a1b2c3d4 of shop" */
export function wordsOf({ service, version, text: said, derived }: Mark): string {
	const short = safe(isBuild(version) ? version.slice(0, BUILD_SHOWN) : version);
	if (derived)
		return text.chart.newVersion(short, safe(service));
	return [[safe(service), short].filter(Boolean).join(' '), safe(said)].filter(Boolean).join(': ');
}

export interface Marks {
	marks: Mark[];
	/** Earlier ones, of which the server sent none: it sends the latest 200. */
	others: number;
}

/** The marks of a time (unix seconds), of the service that is looked at, and of one host or of that which is looked at. */
export function useMarks({ from, to }: Span, ofHost = ''): Marks {
	const { link: { filters: { service, host } } } = usePage();
	const query = new URLSearchParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)) });
	if (service)
		query.set('service', service);
	if (host || ofHost)
		query.set('host', host || ofHost);
	const { answer } = useAnswer<MarksAnswer>('marks', query);
	return { marks: answer?.marks.filter(({ time }) => time >= from && time <= to) ?? [], others: answer?.others ?? 0 };
}

/** Says that there are more marks than are drawn. */
export function MoreMarks({ others }: { others: number }) {
	return others > 0 ? <p class="hint more-marks">{text.chart.moreMarks(count(others))}</p> : null;
}

/** Those whose line is so near to a place that it is pointed at. */
export function marksAt(plot: uPlot | null, marks: Mark[], left: number | null): Mark[] {
	return plot && left !== null && left >= 0 ?
		marks.filter(({ time }) => Math.abs(plot.valToPos(time, 'x') - left) <= NEAR) : [];
}

interface Group {
	at: number;
	marks: Mark[];
}

function groupsOf(plot: uPlot, marks: Mark[]): Group[] {
	const groups: Group[] = [];
	for (const mark of marks) {
		const at = plot.valToPos(mark.time, 'x', true), last = groups[groups.length - 1];
		if (last && at - last.at < NEAR * devicePixelRatio)
			last.marks.push(mark);
		else
			groups.push({ at, marks: [mark] });
	}
	return groups;
}

/** As much of the words as fits, or ''. */
function fitted(context: CanvasRenderingContext2D, words: string, width: number): string {
	if (context.measureText(words).width <= width)
		return words;
	for (let length = words.length - 1; length > 2; length--) {
		const part = `${words.slice(0, length)}…`;
		if (context.measureText(part).width <= width)
			return part;
	}
	return '';
}

const isDerived = ({ marks }: Group) => marks.every(({ derived }) => derived);

function drawFlag(context: CanvasRenderingContext2D, at: number, top: number, size: number, ink: string): void {
	context.fillStyle = ink;
	context.beginPath();
	context.moveTo(at - size, top);
	context.lineTo(at + size, top);
	context.lineTo(at, top + 1.5 * size);
	context.fill();
}

/** The lines above all else that is drawn, and their words at the top. */
export function drawMarks(plot: uPlot, marks: Mark[], ink: string, ground: string): void {
	const { ctx: context, bbox } = plot, scale = devicePixelRatio;
	const all = groupsOf(plot, marks), isCrowded = all.length > LINES;
	const flags = all.filter((group) => isCrowded && isDerived(group)), groups = all.filter((group) => !flags.includes(group));
	const above = flags.length ? 2 * FLAG * scale : 0;
	context.save();
	context.font = FONT.replace(/^\d+/, (size) => String(Number(size) * scale));
	context.textBaseline = 'top';
	context.textAlign = 'left';
	for (const { at } of flags)
		drawFlag(context, at, bbox.top, FLAG * scale, ink);
	groups.forEach((group, i) => {
		const { at, marks: these } = group;
		const end = groups[i + ROWS]?.at ?? bbox.left + bbox.width, room = end - at - 8 * scale;
		const top = bbox.top + above + (i % ROWS) * WORDS_HIGH * scale;
		context.strokeStyle = ink;
		context.lineWidth = scale;
		context.setLineDash(isDerived(group) ? [3 * scale, 3 * scale] : []);
		context.beginPath();
		const line = Math.round(at) + (scale % 2) / 2; // whole pixels
		context.moveTo(line, bbox.top);
		context.lineTo(line, bbox.top + bbox.height);
		context.stroke();
		const whole = these.length > 1 ? text.chart.marks(String(these.length), wordsOf(these[0]!)) : wordsOf(these[0]!);
		// near the end they stand before their line, if no others do
		const isBefore = i < ROWS && at - bbox.left > room && context.measureText(whole).width > room;
		const words = isBefore ? fitted(context, whole, at - bbox.left - 8 * scale) :
			room < WORDS_LEAST * scale ? '' : fitted(context, whole, room);
		if (!words)
			return;
		const width = context.measureText(words).width + 6 * scale;
		const left = isBefore ? at - width - scale : at + scale;
		context.fillStyle = ground;
		context.globalAlpha = 0.8;
		context.fillRect(left, top, width, WORDS_HIGH * scale);
		context.globalAlpha = 1;
		context.fillStyle = ink;
		context.fillText(words, left + 3 * scale, top + 2 * scale);
	});
	context.restore();
}
