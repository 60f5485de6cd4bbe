// SPDX-License-Identifier: Apache-2.0
// Totals over time, the rows stacked on each other. Dragging selects a range.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { EventType, TimelineAnswer, TimelineRow } from '../api/answers';
import type { Theme } from '../flame/contract';
import { safe } from '../format';
import { coloursOf, type NameColours } from '../state/colours';
import { allCpusOf, usePage } from '../state/page';
import { clockOf, dayOf, lengthText, type Span } from '../state/range';
import { zone } from '../state/zone';
import { text } from '../text/text';
import { Flags, type Place } from './flags';
import { MoreMarks, useMarks } from './marks';
import { Missing } from './missing';
import { howFilmed, isThin, type Rate, ratesOf, rateOf, untilOf } from './units';

/** Those that have a name, the largest first, then all others as one. */
export function foldRows(rows: TimelineRow[]): TimelineRow[] {
	const named = rows.filter((row) => row.name !== '');
	const rest = rows.filter((row) => row.name === '' && row.total > 0);
	return [...named, ...rest];
}

interface Drawing {
	/** Moments, then for each row its sum with all rows below; the topmost row is drawn first. */
	data: uPlot.AlignedData;
	rates: number[][];
}

function drawingOf(answer: TimelineAnswer, rows: TimelineRow[], event: EventType): Drawing {
	const rates = rows.map((row) => ratesOf(answer, row, event));
	const steps = rates[0]?.length ?? 0;
	const moments = Array.from({ length: steps }, (_, i) => answer.sum.from + i * answer.step);
	const stacked: (number | null)[][] = [];
	let below: number[] = Array(steps).fill(0);
	for (const rate of rates) {
		below = below.map((value, i) => value + rate[i]!);
		stacked.unshift(below.map((value, i) => (isThin(answer, event, i) ? null : value)));
	}
	if (steps) { // where the last step ends
		moments.push(answer.sum.to);
		for (const line of stacked)
			line.push(line[steps - 1] ?? null);
	}
	return { data: [moments, ...stacked], rates };
}

/** Words of the marks below: as exact as they are apart, the day where a new one begins. */
function momentText(splits: number[], apart: number): string[] {
	let day = '';
	return splits.map((moment) => {
		const isNewDay = dayOf(moment) !== day;
		day = dayOf(moment);
		if (apart >= 86400)
			return day.slice(5);
		if (apart < 1)
			return clockOf(moment) + (moment % 1).toFixed(2).slice(1);
		return isNewDay && moment !== splits[0] ? day.slice(5) : clockOf(moment, apart < 60);
	});
}

const WORDS_LONG = 15; // s: of less, moments have parts of seconds

function colourOf(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** What may still come stands on a ground of its own. */
function drawComing(plot: uPlot, { sum }: TimelineAnswer): void {
	const from = plot.valToPos(untilOf(sum), 'x', true), to = plot.valToPos(sum.to, 'x', true);
	const { top, height } = plot.bbox;
	if (to - from < 1)
		return;
	plot.ctx.fillStyle = colourOf('--raised');
	plot.ctx.fillRect(from, top, to - from, height);
}

/** What was not filmed stands on the same ground: that little is known is not the same as nothing. */
function drawUnfilmed(plot: uPlot, answer: TimelineAnswer, event: EventType): void {
	const { from, to } = answer.sum, { top, height } = plot.bbox;
	plot.ctx.fillStyle = colourOf('--raised');
	answer.filmed.forEach((_, i) => {
		if (howFilmed(answer, i) !== 'nothing' && !isThin(answer, event, i))
			return;
		const left = plot.valToPos(from + i * answer.step, 'x', true);
		const right = plot.valToPos(Math.min(from + (i + 1) * answer.step, to), 'x', true);
		plot.ctx.fillRect(left, top, right - left + 1, height);
	});
}

/** What is chosen of a longer time. */
function drawMarked(plot: uPlot, span: Span | null): void {
	if (!span)
		return;
	const at = (moment: number) => plot.valToPos(Math.min(Math.max(moment, plot.scales.x!.min!), plot.scales.x!.max!), 'x', true);
	const from = at(span.from), to = Math.max(at(span.to), from + 2);
	const { top, height } = plot.bbox;
	plot.ctx.fillStyle = `color-mix(in srgb, ${colourOf('--accent')} 16%, ${colourOf('--ground')})`;
	plot.ctx.fillRect(from, top, to - from, height);
	plot.ctx.fillStyle = colourOf('--accent');
	plot.ctx.fillRect(from, top, 2, height);
	plot.ctx.fillRect(to - 2, top, 2, height);
}

const AXIS_LEAST = 54, AXIS_MORE = 14; // pixels; the tick, and room beside it

/** As wide as the longest of its labels, so that none is cut. */
function axisWidth({ ctx }: uPlot, labels: string[] | null, font: string): number {
	ctx.save();
	ctx.font = font;
	const widest = Math.max(0, ...(labels ?? []).map((label) => ctx.measureText(label).width));
	ctx.restore();
	return Math.max(AXIS_LEAST, Math.ceil(widest) + AXIS_MORE);
}

interface Events {
	onSelect(span: Span): void;
	onCursor(index: number | null): void;
	onPlace(place: Place): void;
}

/** A line at what all CPUs of the machine can give, where it is in the picture. */
function drawAll(plot: uPlot, all: number): void {
	const at = Math.round(plot.valToPos(all, 'y', true));
	if (!all || at < plot.bbox.top) // it is above what is drawn
		return;
	const { ctx, bbox } = plot, ratio = devicePixelRatio || 1;
	ctx.save();
	ctx.strokeStyle = colourOf('--muted');
	ctx.lineWidth = ratio;
	ctx.setLineDash([6 * ratio, 4 * ratio]);
	ctx.beginPath();
	ctx.moveTo(bbox.left, at + 0.5);
	ctx.lineTo(bbox.left + bbox.width, at + 0.5);
	ctx.stroke();
	ctx.restore();
}

function placeOf({ bbox }: uPlot): Place {
	const ratio = devicePixelRatio || 1;
	return { left: bbox.left / ratio, top: bbox.top / ratio, width: bbox.width / ratio, height: bbox.height / ratio };
}

/** Whole minutes for long ranges: those the server has at hand. */
function rounded({ from, to }: Span): Span {
	const grain = to - from >= 300 ? 60 : 1;
	return { from: Math.floor(from / grain) * grain, to: Math.ceil(to / grain) * grain };
}

function plotOptions(rows: TimelineRow[], colours: NameColours, rate: Rate, width: number, height: number,
	shown: { current: Shown }, events: { current: Events }): uPlot.Options {
	const [muted, line] = [colourOf('--muted'), colourOf('--line')];
	const font = '11px system-ui, sans-serif';
	const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, size: 4 } };
	const stepped = uPlot.paths.stepped!({ align: 1 });

	return {
		width,
		height,
		padding: [8, 28, 0, 0],
		legend: { show: false },
		...(zone === 'utc' && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }),
		cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
		scales: {
			x: { time: true, range: (_, from, to) => [from, to] },
			y: { range: (_, __, most) => [0, Math.max(topOf(most, shown.current.all) * 1.05, 1e-9)] },
		},
		axes: [
			{ ...axis, space: (_, __, from, to) => (to - from < WORDS_LONG ? 96 : 70), size: 24,
				values: (_, splits, __, ___, apart) => momentText(splits, apart) },
			{ ...axis, space: 28, size: (plot, labels) => axisWidth(plot, labels, font),
				values: (_, splits) => splits.map((value) => (value ? rate.mark(value) : '0')) },
		],
		series: [{}, ...rows.map((row) => {
			const colour = rows.length === 1 ? colourOf('--single') :
				colours(row.name);
			return { fill: colour, stroke: colourOf('--ground'), width: 0.5, paths: stepped,
				points: { show: false } };
		}).reverse()],
		hooks: {
			drawClear: [(plot) => {
				drawComing(plot, shown.current.answer);
				drawUnfilmed(plot, shown.current.answer, shown.current.event);
				drawMarked(plot, shown.current.marked);
			}],
			draw: [(plot) => {
				drawAll(plot, shown.current.all);
				events.current.onPlace(placeOf(plot));
			}],
			setSelect: [(plot) => {
				if (plot.select.width < 3)
					return;
				const at = (left: number) => plot.posToVal(left, 'x');
				const span = { from: at(plot.select.left), to: at(plot.select.left + plot.select.width) };
				plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				events.current.onSelect(rounded(span));
			}],
			setCursor: [(plot) => events.current.onCursor(plot.cursor.idx ?? null)],
		},
	};
}

interface Shown {
	answer: TimelineAnswer;
	event: EventType;
	marked: Span | null;
	/** What all CPUs of the machine can give, as the values are; 0: not known, or of other values. */
	all: number;
}

const FAR = 4; // times what is drawn: so much room above it would leave nothing to see

/** The top of the picture: with the line of all CPUs, if that is near. */
function topOf(most: number, all: number): number {
	return all && all <= most * FAR ? Math.max(most, all) : most;
}

export interface ChartProps {
	answer: TimelineAnswer;
	theme: Theme;
	height: number;
	/** Of what the rows are names. */
	what?: string;
	/** Where it is a part of the time that is looked at. */
	marked?: Span | null;
	/** What stands beside the hint. */
	children?: ComponentChildren;
	onSelect(span: Span): void;
}

export function Chart({ answer, theme, height, what = '', marked = null, onSelect, children }: ChartProps) {
	const page = usePage(), { event } = page;
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const [index, setIndex] = useState<number | null>(null);
	const [place, setPlace] = useState<Place | null>(null);
	const onPlace = (next: Place) => setPlace((now) => (JSON.stringify(now) === JSON.stringify(next) ? now : next));
	const events = useRef<Events>({ onSelect, onCursor: setIndex, onPlace });
	events.current = { onSelect, onCursor: setIndex, onPlace };
	const { marks, others } = useMarks(answer.sum);
	const cpus = allCpusOf(page), all = cpus * event.rate_scale;
	const shown = useRef<Shown>({ answer, event, marked, all });
	shown.current = { answer, event, marked, all };

	const rows = useMemo(() => foldRows(answer.rows), [answer]);
	const drawing = useMemo(() => drawingOf(answer, rows, event), [answer, rows, event.name]);
	const rate = rateOf(event);
	const colours = useMemo(() => coloursOf(theme, what, answer.rows.map(({ name }) => name)), [answer, theme, what]);
	const look = `${rows.map(({ name }) => colours(name)).join()} ${theme} ${event.name} ${height} ${all}`;

	useEffect(() => {
		const place = box.current!;
		const made = new uPlot(plotOptions(rows, colours, rate, place.clientWidth, height, shown, events),
			drawing.data, place);
		plot.current = made;
		const observer = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height }));
		observer.observe(place);
		return () => {
			observer.disconnect();
			made.destroy();
		};
	}, [look]);
	useEffect(() => plot.current?.setData(drawing.data), [drawing]);
	const isNew = useRef(true); // a plot that was just made draws itself
	useEffect(() => {
		if (!isNew.current)
			plot.current?.redraw();
		isNew.current = false;
	}, [marked?.from, marked?.to]);

	const steps = drawing.rates[0]?.length ?? 0;
	return <figure class="chart" aria-label={text.chart.name(rate.name)}>
		<div class="row spread">
			<Readout answer={answer} rows={rows} rates={drawing.rates} rate={rate} colours={colours}
				index={index !== null && steps ? Math.min(index, steps - 1) : null} cpus={cpus} />
			{children}
		</div>
		<div class="plotted">
			<div class="plot" ref={box} />
			{place && marks.length > 0 && <Flags marks={marks} span={answer.sum} place={place} />}
		</div>
		<MoreMarks others={others} />
	</figure>;
}

interface ReadoutProps {
	answer: TimelineAnswer;
	rows: TimelineRow[];
	rates: number[][];
	rate: Rate;
	colours: NameColours;
	index: number | null;
	/** Of the machine; 0: not known. */
	cpus: number;
}

const NAMED = 12; // of the rows at a moment

/** The numbers below the pointer, largest first; without one, what the chart is of. */
function Readout({ answer, rows, rates, rate, colours, index, cpus }: ReadoutProps) {
	if (index === null)
		return <figcaption><b>{rate.name}</b> {cpus > 0 && <span>{text.chart.allCpus(String(cpus))}</span>} <span class="hint">{text.chart.hint}</span>{' '}
			{answer.sum.films_unread > 0 && <Missing sum={answer.sum} />}</figcaption>;
	const at = rates.map((row) => row[index] ?? 0);
	const moment = answer.sum.from + index * answer.step, filmed = howFilmed(answer, index);
	const largest = at.map((value, i) => [value, i] as const).filter(([value]) => value > 0).sort((a, b) => b[0] - a[0]).slice(0, NAMED);
	return <figcaption>
		<b>{clockOf(moment, answer.step < 60 || moment % 60 !== 0)}</b>
		<span>{text.chart.total} <b>{rate.format(at.reduce((sum, value) => sum + value, 0))}</b></span>
		{filmed === 'nothing' && <span class="hint">{text.chart.notFilmed}</span>}
		{filmed === 'part' && <span class="hint">{text.chart.partFilmed(lengthText(answer.filmed[index]!))}</span>}
		{rows.length > 1 && largest.map(([value, i]) => <span key={i}>
			<i class="swatch" style={{ background: colours(rows[i]!.name) }} />
			{safe(rows[i]!.name) || text.chart.others} <b>{rate.short(value)}</b>
		</span>)}
	</figcaption>;
}
