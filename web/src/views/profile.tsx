// SPDX-License-Identifier: Apache-2.0
// Where the time of what was picked went: table, flame graph, or both.
import { useState } from 'preact/hooks';
import type { FlameAnswer, HeatAnswer, SandwichAnswer, TimelineAnswer } from '../api/answers';
import { askOf, profileAsk } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FlameState } from '../flame/contract';
import { FlamePanel } from '../flame/FlamePanel';
import { count, formatOf, safe } from '../format';
import { LockTable, type LocksAnswer } from '../locks/table';
import { AskBar, Chip } from '../parts/ask_bar';
import { Chart } from '../parts/chart';
import { Details, exactly, useDetails } from '../parts/details';
import { ExportMenu } from '../parts/export_menu';
import { FineChoice } from '../parts/fine';
import { HeatMap } from '../parts/heat_map';
import { Answers } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { SumLine } from '../parts/sum_line';
import { ToLink } from '../parts/to_link';
import { useSearch } from '../parts/use_search';
import { WaitClasses } from '../parts/wait_classes';
import { shapeFor, slicesEvent, typeOf, typesOf, waitsEvent } from '../state/events';
import { stepsOfPage, usePage } from '../state/page';
import { rangeOf, spanOf, withBothEnds } from '../state/range';
import { text } from '../text/text';
import { timelineText } from '../text/timeline';
import { NO_TIMELINE } from '../timeline/link';

const NODES = 20_000;
const NODES_MOST = 200_000;
const FUNCTIONS = 1000;
const HEAT_MOST = 3600; // seconds
const NARROW = 640; // px: a phone, on which the graph is to come soon

export function Profile() {
	const page = usePage(), { link, range: all, span, beat, theme, go, status, event } = page;
	const canHeat = !!span && span.to - span.from <= HEAT_MOST;
	const isHeat = link.isHeat && canHeat;
	const range = isHeat && link.part.from ? withBothEnds(link.part, all.to) : all;
	const steps = stepsOfPage(page);
	const [nodes, setNodes] = useState(NODES);
	const [frame, showFrame] = useDetails();
	const { sandwich } = link.flame;
	const timeline = useAnswer<TimelineAnswer>('timeline',
		askOf(link.event, all, link.filters, { group: 'none', steps }), beat);
	const heat = useAnswer<HeatAnswer>(isHeat ? 'heat' : null, askOf(link.event, all, link.filters), beat);
	const linkBeside = { ...link, event: link.other, shape: shapeFor(status, link.other, link.shape) };
	const beside = useAnswer<FlameAnswer>(link.other ? 'flame' : null, profileAsk(linkBeside, range,
		{ nodes, functions: 1, limit: FUNCTIONS }), beat);
	const flame = useAnswer<FlameAnswer>('flame', profileAsk(link, range, { nodes, functions: 1, limit: FUNCTIONS,
		sort: link.flame.sort === 'total' ? 'total' : 'self' }), beat);
	const around = useAnswer<SandwichAnswer>(sandwich && 'sandwich', profileAsk(link, range,
		{ name: sandwich?.name, image: sandwich?.image, nodes }), beat);
	const locks = useAnswer<LocksAnswer>(event.locks ? 'locks' : null, askOf(link.event, range, link.filters), beat);
	const { answer } = flame;
	const hasCutFunctions = (answer?.functions?.length ?? 0) >= FUNCTIONS;
	const searched = useSearch(!!answer && (answer.hidden > 0 || hasCutFunctions), profileAsk(link, range), link.flame, FUNCTIONS, beat);
	const searchedBeside = useSearch((beside.answer?.hidden ?? 0) > 0, profileAsk(linkBeside, range), link.flame, FUNCTIONS, beat);
	const others = typesOf(status).filter(({ name, calls }) => !calls && name !== link.event);
	// of two events that one may have nothing of, such as a request that slept, what there is is shown
	const sides = !answer ? [] : [{ title: link.other ? safe(event.title) : '', answer, searched, event },
		...(link.other && beside.answer ? [{ title: safe(typeOf(status, link.other).title), answer: beside.answer,
			searched: searchedBeside, event: typeOf(status, link.other) }] : [])];
	const filled = sides.filter((side) => side.answer.sum.total > 0);
	const panes = sides.length > 1 && filled.length > 0 ? filled : sides.slice(0, 1);
	// the same time and threads, slice by slice
	const toTimeline = { view: 'timeline' as const, range, isLive: false, timeline: NO_TIMELINE };
	const change = (part: Partial<FlameState>, isStep = false) =>
		go({ flame: { ...link.flame, ...part } }, isStep);

	return <main id="content" class="profile">
		<h2 class="unseen">{text.views.profile}</h2>
		<AskBar hasShape />
		{link.ofRequest && <div class="row" id="of-request">
			<Chip label={text.profile.ofRequest(link.ofRequest)} onRemove={() => go({ ofRequest: '' })} />
			{answer?.request && answer.request.not_linked.length > 0 &&
				<span class="hint not-linked" title={timelineText.notLinkedWhy(safe(answer.request.not_linked.join(', ')))}>{timelineText.notLinked}</span>}
			{answer?.request && answer.request.shared > 0 && <span class="hint">{text.profile.shared(count(answer.request.shared))}</span>}
			{answer?.request && answer.request.not_known > 0 && <span class="hint">{text.profile.notKnown(formatOf('ns')(answer.request.not_known))}</span>}
		</div>}
		<Answers asked={[flame, timeline, around, heat, beside, locks]} isSilent={link.isLive}>
			{answer && (filled.length === 0 && range === all ? !beside.isLoading && <NothingFilmed sum={answer.sum} /> : <>
				<div class="row spread">
					{sides.length < 2 ? <SumLine sum={answer.sum} /> : <div>{sides.map((side) => side.answer.sum.total > 0 ?
						<SumLine key={side.event.name} sum={side.answer.sum} event={side.event} name={side.title} /> :
						<p key={side.event.name} class="hint">{text.profile.nothingOf(side.title)}</p>)}</div>}
					{slicesEvent(status) && <ToLink class="button" id="profile-timeline" title={timelineText.toTimelineHint}
						to={{ ...link, ...toTimeline }}>{timelineText.toTimeline}</ToLink>}
					<ExportMenu ask={profileAsk(link, range)} />
				</div>
				<div class="row heat-choice">
					<div class="segments" role="group">
						<button type="button" id="as-chart" aria-pressed={!isHeat}
							onClick={() => go({ isHeat: false })}>{text.heat.chart}</button>
						<button type="button" id="as-heat" aria-pressed={isHeat} disabled={!canHeat}
							title={canHeat ? '' : text.heat.tooLong}
							onClick={() => go({ isHeat: true })}>{text.heat.show}</button>
					</div>
					{isHeat && link.part.from && <button type="button" id="whole-range" class="quiet"
						onClick={() => go({ part: { from: '', to: '' } })}>{text.heat.whole}</button>}
					{others.length > 0 && <label class="choice"><span>{text.heat.beside}</span>
						<select name="other" value={link.other} onChange={(change) => go({ other: change.currentTarget.value })}>
							<option value="">{text.heat.nothing}</option>
							{others.map(({ name, title }) => <option key={name} value={name}>{safe(title)}</option>)}
						</select></label>}
				</div>
				{isHeat && heat.answer && <HeatMap answer={heat.answer} theme={theme}
					part={spanOf(withBothEnds(link.part, all.to), Date.now() / 1000)} onPart={(part) => go({ part: rangeOf(part), isLive: false,
						...(all.to === 'now' && span ? { range: rangeOf(span) } : {}) })} />}
				{!isHeat && timeline.answer && <Chart answer={timeline.answer} theme={theme} height={innerWidth > NARROW ? 130 : 96}
					onSelect={(span) => go({ range: rangeOf(span), isLive: false })}><FineChoice /></Chart>}
				{event.name === waitsEvent(status) && <WaitClasses range={range} beat={beat} />}
				{event.locks && locks.answer && <LockTable answer={locks.answer} />}
				{filled.length === 0 ? <NothingFilmed sum={answer.sum} /> :
				<div class="graph-area">
					<FlamePanel panes={panes} functions={panes[0]!.answer.functions ?? null}
						searched={panes.map((side) => side.searched)} searchedFunctions={panes[0]!.searched}
						sandwich={around.answer} state={link.flame} theme={theme} onState={change}
						onDetails={showFrame}
						onFocus={({ name }) => go({ filters: { ...link.filters, focus: exactly(name) } })} />
					{frame && <Details frame={frame} unit={(panes[frame.pane] ?? panes[0]!).answer.unit} whole={timeline.answer} steps={steps}
						onClose={() => showFrame(null)} />}
				</div>}
				{answer.hidden > 0 && <p class="hint">{text.profile.pruned(count(answer.hidden))}{' '}
					{nodes < NODES_MOST && <button type="button" class="quiet" id="more-nodes"
						onClick={() => setNodes(NODES_MOST)}>{text.profile.showAll}</button>}</p>}
			</>)}
		</Answers>
	</main>;
}
