// SPDX-License-Identifier: Apache-2.0
// The states of an area: how often, how long, and the flame graphs of that time and those threads.
import { useAnswer } from '../api/use_answer';
import { askOf } from '../api/client';
import { count, formatOf, percent, quantile } from '../format';
import { Answers } from '../parts/notice';
import { ToLink } from '../parts/to_link';
import { slicesEvent, typesOf } from '../state/events';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { StatesAnswer } from './answers';
import { className, colourOf, familyOf, heightOf } from './classes';
import { ofThreads } from './lanes';
import { exactly, type Origin } from './time';
import type { Area } from './view';

const NOTE_MAX = 500; // characters

export function AreaPanel({ area, origin, onZoom, onNote, onClose }: {
	area: Area; origin: Origin; onZoom(): void; onNote(words: string): void; onClose(): void;
}) {
	const { link, status, theme } = usePage();
	const range = { from: origin.wordOf(area.range.from), to: origin.wordOf(area.range.to) };
	const asked = useAnswer<StatesAnswer>('timeline/states',
		askOf(slicesEvent(status), range, ofThreads(link.filters), { lanes: area.lanes.join(',') }));
	const { answer } = asked;
	const whole = answer?.states.reduce((sum, row) => sum + row.sum, 0) ?? 0;
	const ns = formatOf('ns');

	return <section class="tl-panel" id="area-panel" tabIndex={-1} aria-label={words.area.title}>
		<header><h2>{words.area.title}</h2>
			<span class="row">
				<FlameLinks range={range} lanes={area.lanes} />
				<button type="button" id="zoom-area" onClick={onZoom}>{words.area.zoom}</button>
				<button type="button" class="quiet icon" id="close-area" aria-label={words.area.close} title={words.area.close}
					onClick={onClose}>×</button>
			</span></header>
		<label class="choice area-note"><span>{words.area.note}</span>
			<input name="area-note" value={link.timeline.areaNote.slice(0, NOTE_MAX)} maxLength={NOTE_MAX} placeholder={words.area.noteHint} autocomplete="off"
				onInput={(event) => onNote(event.currentTarget.value)} /></label>
		<Answers asked={[asked]}>{answer && <>
			<p class="hint">{words.area.of(count(answer.lanes), exactly(area.range.to - area.range.from))}</p>
			<div class="wide" tabIndex={0} role="group" aria-label={words.area.title}><table class="numbers tl-states" id="states">
				<thead><tr><th>{words.area.state}</th>
					{(['count', 'sum', 'share', 'p50', 'p99', 'longest'] as const).map((name) => <th key={name}>{words.area[name]}</th>)}
				</tr></thead>
				<tbody>{[...answer.states].sort((a, b) => b.sum - a.sum).map((row) => {
					const name = answer.classes[row.class] ?? '', family = familyOf(name);
					return <tr key={row.class}>
						<td class="text"><i class="tl-swatch" style={{ '--colour': colourOf(theme, family),
							'--height': `${Math.round(heightOf(family) * 12)}px` }} />{className(name)}</td>
						<td>{count(row.count)}</td><td>{ns(row.sum)}</td><td>{percent(row.sum, whole)}</td>
						<td>{quantile(row.p50, row.longest)}</td><td>{quantile(row.p99, row.longest)}</td><td>{ns(row.longest)}</td>
					</tr>;
				})}
				<tr class="whole"><td class="text">{words.area.whole}</td>
					<td>{count(answer.states.reduce((sum, row) => sum + row.count, 0))}</td><td>{ns(whole)}</td><td /><td /><td /><td /></tr>
				</tbody>
			</table></div></>}
		</Answers>
	</section>;
}

/** Links to the flame graphs of a time, of some threads or all. */
export function FlameLinks({ range, lanes }: { range: { from: string; to: string }; lanes: readonly string[] }) {
	const { link, status } = usePage();
	const slices = slicesEvent(status), types = typesOf(status);
	const areGoroutines = lanes.some((lane) => lane.includes('.g'));
	const tids = lanes.map((lane) => lane.slice(lane.indexOf('.') + 1).replace('g', '')).join(',');
	const events = types.filter(({ calls, requests, slices: isOfSlices }) => !calls && !requests && !isOfSlices);
	const onCpu = areGoroutines ? undefined : events.find(({ usual }) => usual);
	// without waits of their own, those of the slices stand for them: a turn's time off the CPU, by its stack
	const beside = types.find(({ name, slices: isOfSlices }) => isOfSlices && name !== slices)?.name;
	const offCpu = areGoroutines ? beside ?? slices : events.find(({ interval }) => interval)?.name ?? slices;
	const linkTo = (event: string) => ({ ...link, view: 'profile' as const, event, range, isLive: false,
		filters: tids ? { ...link.filters, tid: tids } : link.filters });
	const open = (event: string, label: string, id: string) => <ToLink class="button" id={id} to={linkTo(event)}>{label}</ToLink>;
	return <>
		{onCpu && open(onCpu.name, words.area.onCpu, 'area-on-cpu')}
		{open(offCpu, words.area.offCpu, 'area-off-cpu')}
	</>;
}
