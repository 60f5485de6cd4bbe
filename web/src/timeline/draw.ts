// SPDX-License-Identifier: Apache-2.0
// What stands above the painted lanes: words in wide slices, what is chosen, the area, arrows, and the line of a moment.
import type { Theme } from '../flame/contract';
import { count, safe } from '../format';
import { className, familyOf } from './classes';
import type { BesideLook } from './cpus';
import { besideOf, laneOf, type Row } from './lanes';
import { extentOf, goesOn } from './extent';
import { lanesOf, rowAt } from './packs';
import { firstAfter, type Runs } from './runs';
import { ROW, STRIP } from './sizes';
import type { Part } from './tiles';
import type { Stretch } from './time';
import type { Area, Arrow, Beside } from './view';

const WIDE = 46; // pixels, from which a slice has room for a word
const WORD = 6.2; // pixels of a letter

/** Colours that do not come from classes, and the classes' words. */
export interface Ink {
	/** of words on a class's colour; '': its bars are low, and the words stand on the ground above them */
	on: string[];
	words: string[];
	text: string;
	accent: string;
	muted: string;
	line: string;
}

export function inkOf(theme: Theme, classes: readonly string[]): Ink {
	const style = getComputedStyle(document.documentElement);
	const read = (name: string) => style.getPropertyValue(name).trim();
	return {
		on: classes.map((name) => (['run', 'ready'].includes(familyOf(name)) ? (theme === 'light' ? '#000000' : '#0b0d10') : '')),
		words: classes.map(className),
		text: read('--ink'), accent: read('--accent'), muted: read('--muted'), line: read('--line'),
	};
}

/** What drawing asks of the view. */
interface Sight {
	range: Stretch;
	width: number;
	height: number;
	scrollTop: number;
	hovered: { x: number; y: number } | null;
	drawn: { from: { x: number; y: number }; to: { x: number; y: number } } | null;
	xOf(moment: number): number;
	rowsInSight(): [number, number];
}

interface Drawn {
	rows: Row[];
	chosen: { lane: string; at: number } | null;
	area: Area | null;
	arrows: readonly Arrow[];
	beside: Record<'cpu' | 'stream', Beside>;
}

type Context = CanvasRenderingContext2D;

export function drawOver(ctx: Context, sight: Sight, shown: Drawn, ink: Ink, partsOf: (row: Row) => Part[]): void {
	const [first, end] = sight.rowsInSight();
	ctx.font = '10px system-ui, sans-serif';
	ctx.textBaseline = 'middle';
	for (let i = first; i < end; i++) {
		const row = shown.rows[i]!;
		const top = i * ROW - sight.scrollTop;
		if (!laneOf(row)) {
			ctx.fillStyle = ink.line;
			ctx.fillRect(0, top + ROW - 1, sight.width, 1);
			continue;
		}
		const parts = partsOf(row), which = besideOf(row);
		for (const [k, part] of parts.entries())
			drawWords(ctx, sight, part, parts[k - 1], top + ROW / 2, which ? ofBeside(shown.beside[which].look, ink) : ofClass(ink));
		if (!parts.length && row.kind !== 'pack') // nothing is here yet
			drawWaiting(ctx, sight, top, ink);
		if (shown.chosen && (which ? row.key === shown.chosen.lane :
			lanesOf(rowAt(row, shown.chosen.at)).some(({ key }) => key === shown.chosen!.lane)))
			drawChosen(ctx, sight, partsOf(rowAt(row, shown.chosen.at)), shown.chosen.at, top, ink);
	}
	drawArea(ctx, sight, shown, ink);
	for (const arrow of shown.arrows)
		drawArrow(ctx, sight, shown.rows, arrow, ink);
	drawMoment(ctx, sight, ink);
}

/** What stands in a run, and its colour on the run's own; '': it stands above a low bar. */
interface Words {
	of(runs: Runs, i: number): string;
	on(runs: Runs, i: number): string;
	above: string;
}

function ofClass(ink: Ink): Words {
	return { of: (runs, i) => ink.words[runs.class[i]!] ?? '', on: (runs, i) => ink.on[runs.class[i]!] ?? '', above: ink.text };
}

function ofBeside({ names, ink, isAbove }: BesideLook, { text }: Ink): Words {
	const numberOf = (runs: Runs, i: number) => runs.thread?.[i] ?? 0;
	return { of: (runs, i) => safe(names[numberOf(runs, i)] ?? ''), on: (runs, i) => (isAbove?.[numberOf(runs, i)] ? '' : ink), above: text };
}

function drawWords(ctx: Context, sight: Sight, part: Part, before: Part | undefined, middle: number, words: Words): void {
	const { runs, clip } = part;
	const least = WIDE * (sight.range.to - sight.range.from) / Math.max(sight.width, 1);
	const until = Math.min(clip.to, sight.range.to), since = Math.max(clip.from, sight.range.from);
	for (let i = firstAfter(runs, since); i < runs.count && runs.start[i]! < until; i++) {
		if (runs.end[i]! - runs.start[i]! < least)
			continue;
		// in the first of the tiles that it is in, so that it stands there once
		if (clip.from > sight.range.from && (runs.start[i]! < clip.from || goesOn(part, i, before)))
			continue;
		const left = Math.max(sight.xOf(runs.start[i]!), 0), right = Math.min(sight.xOf(runs.end[i]!), sight.width);
		const word = words.of(runs, i) + (runs.slices[i]! > 1 ? ` \u00d7 ${count(runs.slices[i]!)}` : ''), on = words.on(runs, i);
		const room = Math.floor((right - left - 8) / WORD);
		if (room < 3)
			continue;
		ctx.fillStyle = on || words.above;
		ctx.fillText(word.length <= room ? word : `${word.slice(0, room - 1)}\u2026`, left + 4, on ? middle : middle - 3);
	}
}

function drawWaiting(ctx: Context, sight: Sight, top: number, ink: Ink): void {
	ctx.fillStyle = ink.line;
	for (let x = 2; x < sight.width; x += 12)
		ctx.fillRect(x, top + ROW / 2, 4, 1);
}

function drawChosen(ctx: Context, sight: Sight, parts: Part[], at: number, top: number, ink: Ink): void {
	const extent = extentOf(parts, at);
	if (!extent)
		return;
	const left = Math.max(sight.xOf(extent.from), -2), right = Math.min(sight.xOf(extent.to), sight.width + 2);
	ctx.strokeStyle = ink.text;
	ctx.lineWidth = 2;
	ctx.strokeRect(left, top + 2, Math.max(right - left, 2), STRIP + 2);
}

function drawArea(ctx: Context, sight: Sight, { rows, area }: Drawn, ink: Ink): void {
	ctx.fillStyle = ink.accent;
	if (sight.drawn) {
		const { from, to } = sight.drawn;
		ctx.globalAlpha = 0.25;
		ctx.fillRect(Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y) || ROW);
		ctx.globalAlpha = 1;
		return;
	}
	if (!area)
		return;
	const left = Math.max(sight.xOf(area.range.from), -2), right = Math.min(sight.xOf(area.range.to), sight.width + 2);
	const [first, end] = sight.rowsInSight();
	ctx.globalAlpha = 0.18;
	for (let i = first; i < end && right > left; i++) {
		const row = rows[i]!;
		if (lanesOf(row).some(({ key }) => !area.lanes.length || area.lanes.includes(key)))
			ctx.fillRect(left, i * ROW - sight.scrollTop, right - left, ROW);
	}
	ctx.globalAlpha = 1;
	for (const x of [left, right])
		ctx.fillRect(x - 0.5, 0, 1, sight.height);
}

/** From the waker's lane to that of the woken one, or from a launch to what it launched; where one is out of sight, from the edge. */
function drawArrow(ctx: Context, sight: Sight, rows: Row[], { from, to, at, until = at }: Arrow, ink: Ink): void {
	const x1 = sight.xOf(at), x = sight.xOf(until);
	const rowOf = (lane: string) => rows.findIndex((row) => (besideOf(row) ? row.key === lane : lanesOf(row).some(({ key }) => key === lane)));
	const start = rowOf(from), target = rowOf(to);
	if (x < 0 || x1 > sight.width || target < 0)
		return;
	const yOf = (row: number) => row * ROW - sight.scrollTop + ROW / 2;
	const y1 = start < 0 ? -4 : yOf(start), y2 = yOf(target);
	ctx.strokeStyle = ctx.fillStyle = ink.text;
	ctx.lineWidth = 1.5;
	ctx.setLineDash(start < 0 ? [4, 3] : []);
	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.lineTo(x, y2);
	ctx.stroke();
	ctx.setLineDash([]);
	const direction = y2 >= y1 ? 1 : -1;
	ctx.beginPath();
	ctx.moveTo(x, y2);
	ctx.lineTo(x - 4, y2 - 7 * direction);
	ctx.lineTo(x + 4, y2 - 7 * direction);
	ctx.fill();
}

function drawMoment(ctx: Context, sight: Sight, ink: Ink): void {
	if (!sight.hovered || sight.drawn)
		return;
	ctx.fillStyle = ink.muted;
	ctx.fillRect(Math.round(sight.hovered.x), 0, 1, sight.height);
}
