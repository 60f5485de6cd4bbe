// SPDX-License-Identifier: Apache-2.0
// What the machine did, above the lanes: a strip for each gauge, over the time in sight. Words beside say the same.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { Theme } from '../flame/contract';
import { count, formatOf, safe } from '../format';
import { slicesEvent } from '../state/events';
import { NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { Gauge, LanesAnswer, MachineAnswer } from './answers';
import { colourOf, type Family } from './classes';
import { scaleOf } from './scale';
import type { Origin, Stretch } from './time';
import { useRest } from './use_rest';

const HEIGHT = 20;
const STEP_PIXELS = 2;
const STEPS_MAX = 2000;
/** In own.folded: it is folded, or shown where that is not usual. */
export const MACHINE = 'machine';

const FAMILIES: Record<string, Family> = { cpu: 'run', 'run-queue': 'ready', disk: 'storage', network: 'network', pressure: 'lock', memory: 'idle' };

/** A value as its gauge has it: a number of CPUs, a part of the time, an amount, or one a second. */
export function gaugeText({ group, name, unit, level }: Gauge, value: number): string {
	if (group === 'cpu')
		return words.machine.cpus((value / 1e9).toFixed(2));
	// ns of each second
	if (group === 'pressure' || name === 'busy')
		return `${(value / 1e7).toFixed(1)}%`;
	const whole = formatOf(unit)(value), text = value < 10 && whole === count(value) ? value.toFixed(1) : whole;
	return level ? text : words.machine.perSecond(text);
}

export function gaugeName({ group, name, object }: Gauge): string {
	return `${words.machine.groups[group] ?? safe(group)} ${words.machine.names[name] ?? safe(name)}${object && ` ${safe(object)}`}`;
}

function draw(canvas: HTMLCanvasElement, answer: MachineAnswer, gauge: Gauge, offset: number, range: Stretch, width: number, theme: Theme, most: number): void {
	const ratio = devicePixelRatio || 1, ctx = canvas.getContext('2d')!;
	const scale = width / Math.max(range.to - range.from, 1);
	canvas.width = Math.round(width * ratio);
	canvas.height = HEIGHT * ratio;
	ctx.scale(ratio, ratio);
	gauge.values.forEach((value, i) => {
		const x = (offset + i * answer.step - range.from) * scale, wide = answer.step * scale;
		if (x + wide < 0 || x > width)
			return;
		// what is not known is not drawn as zero
		ctx.fillStyle = colourOf(theme, value === null ? 'hole' : FAMILIES[gauge.group] ?? 'other');
		const height = value === null ? 2 : value / most * (HEIGHT - 3);
		ctx.globalAlpha = value === null ? 0.5 : 1;
		ctx.fillRect(x, HEIGHT - 1 - height, wide + 0.5, height);
	});
}

function Strip({ answer, gauge, most, offset, range, width, theme }: {
	answer: MachineAnswer; gauge: Gauge; most: number; offset: number; range: Stretch; width: number; theme: Theme;
}) {
	const canvas = useRef<HTMLCanvasElement>(null);
	useEffect(() => {
		if (width > 0)
			draw(canvas.current!, answer, gauge, offset, range, width, theme, most);
	}, [answer, gauge, offset, range, width, theme, most]);
	const said = words.machine.said(gaugeText(gauge, gauge.average), gaugeText(gauge, gauge.least), gaugeText(gauge, gauge.most));
	const title = safe(gauge.title);
	return <li title={`${title}\n${said}`}>
		<span class="name">{gaugeName(gauge)}<i class="hint">{gaugeText(gauge, gauge.average)}</i></span>
		<canvas ref={canvas} role="img" aria-label={`${title}: ${said}`} style={{ width: `${width}px`, height: `${HEIGHT}px` }} />
	</li>;
}

/** The threads that disks worked for, most first. */
function DiskThreads({ answer }: { answer: MachineAnswer }) {
	const bytes = formatOf('bytes'), ns = formatOf('ns');
	const most = [...answer.threads].sort((a, b) => b.bytes - a.bytes).slice(0, 5);
	if (!most.length)
		return null;
	return <p class="hint" id="disk-threads">{words.machine.disks}{' '}
		{most.map((thread, i) => <span key={i}>{i > 0 && ', '}{safe(thread.comm) || words.machine.unknown} {thread.tid || ''}{' '}
			{words.machine.did(thread.write, bytes(thread.bytes), safe(thread.object), ns(thread.longest))}</span>)}
		{answer.threads.length > most.length && ` ${words.machine.more(count(answer.threads.length - most.length))}`}</p>;
}

export function Machine({ answer: lanes, range, width, origin, isFolded, onFold }: {
	answer: LanesAnswer; range: Stretch; width: number; origin: Origin; isFolded: boolean; onFold(): void;
}) {
	const { link, status, theme } = usePage();
	const rested = useRest(range);
	const steps = Math.max(1, Math.min(STEPS_MAX, Math.floor(width / STEP_PIXELS)));
	const { answer } = useAnswer<MachineAnswer>(isFolded || width <= 0 ? null : 'timeline/machine', askOf(slicesEvent(status),
		{ from: origin.wordOf(rested.from), to: origin.wordOf(rested.to) }, { ...NO_LINK.filters, host: lanes.lanes[0]?.host ?? link.filters.host }, { steps }));
	// what did nothing in this time is left out, but for what is always there
	const gauges = useMemo(() => answer?.gauges.filter(({ most }) => most > 0) ?? [], [answer]);
	if (!isFolded && answer && !gauges.length)
		return null;
	return <div class="tl-machine">
		<button type="button" class="quiet" id="fold-machine" aria-expanded={!isFolded} title={words.machine.fold} onClick={onFold}>
			{isFolded ? '▸' : '▾'} {words.machine.title}</button>
		{!isFolded && answer && <ul aria-label={words.machine.title}>
			{gauges.map((gauge) => <Strip key={`${gauge.group} ${gauge.name} ${gauge.object}`} answer={answer} gauge={gauge} most={scaleOf(gauge, gauges)}
				offset={origin.offsetOf(answer.base)} range={range} width={width} theme={theme} />)}
		</ul>}
		{!isFolded && answer && <DiskThreads answer={answer} />}
		{!isFolded && answer?.notes.map((note) => <p class="hint" key={note}>{safe(note)}</p>)}
	</div>;
}
