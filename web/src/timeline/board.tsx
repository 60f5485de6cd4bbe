// SPDX-License-Identifier: Apache-2.0
// The timeline itself: tools, the strip of the whole time, the ruler, names and lanes, and the panels beside them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { askOf, getJson } from '../api/client';
import { count, safe } from '../format';
import { useMarks } from '../parts/marks';
import { SumOfLosses } from './losses';
import { slicesEvent } from '../state/events';
import { isFiltered } from '../state/link';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer, SlicesAnswer } from './answers';
import { AreaPanel } from './area_panel';
import { type Chosen, useBoardKeys } from './board_keys';
import { cpuRowsOf, type CpuThreads } from './cpus';
import { deviceRowsOf, type DeviceWorks } from './devices';
import { listenToPointers } from './input';
import { laneKey, ofThreads, rowsOf } from './lanes';
import { Legend } from './legend';
import { LogList, LogMarks, useLogs } from './logs';
import { Machine, MACHINE } from './machine';
import { MarkLines, MarkWords, markGroups } from './marks';
import { Minimap } from './minimap';
import { Names } from './names';
import { lanesOf, livesOf } from './packs';
import { isOfSlices, queryOf } from './query';
import { Ruler } from './ruler';
import { unpackRuns } from './runs';
import { ROW } from './sizes';
import { SlicePanel } from './slice_panel';
import { StreamPanel } from './stream_panel';
import { type LaneKey, type TileAnswer, Tiles } from './tiles';
import { Origin, type Stretch } from './time';
import { Tip } from './tip';
import { SpanBars, useSpans } from './spans';
import { Tools } from './tools';
import { useActions } from './use_actions';
import { useCpus } from './use_cpus';
import { useDevices } from './use_devices';
import { useSlice } from './use_slice';
import { useStream } from './use_stream';
import { useView } from './use_view';
import type { Area, Arrow, Hit } from './view';
import { widened } from './viewport';

function useTiles(answer: LanesAnswer, level: number, origin: Origin, onChange: (failure?: unknown) => void): Tiles {
	const { link, status } = usePage();
	const event = slicesEvent(status);
	const { filters } = link;
	const changed = useRef(onChange);
	changed.current = onChange;
	const tiles = useMemo(() => new Tiles(origin, (range: Stretch, pixel: number, lanes: LaneKey[], signal: AbortSignal) =>
		getJson<SlicesAnswer>('timeline/slices', askOf(event, { from: origin.wordOf(range.from), to: origin.wordOf(range.to) },
			ofThreads(filters), { lanes: lanes.join(','), pixel }), signal).then(tileOf), answer.length,
		(failure) => changed.current(failure)), [answer, event]);
	useMemo(() => {
		if (level < 0)
			return;
		const shown = answer.lanes.filter(({ runs }) => runs);
		tiles.take(level, { from: 0, to: answer.length },
			new Map(shown.map((row) => [laneKey(row), unpackRuns(row.runs!, 0)])));
	}, [tiles]);
	useEffect(() => () => tiles.close(), [tiles]);
	return tiles;
}

function tileOf({ base, cut, lanes }: SlicesAnswer): TileAnswer {
	return { base, cut, lanes: new Map(lanes.map((lane) => [laneKey(lane), (offset: number) => unpackRuns(lane.runs, offset)])) };
}

/** What the address says is in sight; all, if it says nothing that fits. */
function startOf(origin: Origin, whole: Stretch, from: string, to: string): Stretch {
	const start = { from: origin.nsOf(from), to: origin.nsOf(to) };
	return start.to > start.from && start.from < whole.to && start.to > whole.from ? start : whole;
}

/** The slice that was pointed at; of a CPU's lane that of the thread, if it ran alone there. */
function chooseAt({ row, runs, run, moment }: Hit, threads: CpuThreads, choose: (lane: LaneKey, moment: number) => void): void {
	const thread = row.kind === 'cpu' && runs && run >= 0 ? threads.all[runs.thread?.[run] ?? -1] : undefined;
	if (row.kind === 'lane')
		choose(row.lane.key, moment);
	else if (row.kind === 'stream')
		choose(row.key, moment);
	else if (thread)
		choose(laneKey(thread), moment);
}

/** From the launch of what a device's stream ran to its begin; null: nothing is there, or its launch is not known. */
function launchAt({ row, runs, run }: Hit, works: DeviceWorks): Arrow | null {
	const work = row.kind === 'stream' ? works.workOf(runs, run) : null;
	const begin = work ? runs!.start[run]! : 0;
	return work?.launcher && work.since && begin >= work.since ?
		{ from: laneKey(work.launcher), to: row.key, at: begin - work.since, until: begin } : null;
}

/** level: of the runs that came with the answer; -1: none did. */
export function Board({ answer, level }: { answer: LanesAnswer; level: number }) {
	const { link, theme, status } = usePage();
	const own = link.timeline;
	const origin = useMemo(() => new Origin(BigInt(answer.base)), [answer.base]);
	const isAll = !!status?.one_film && !link.range.from && !isFiltered(link.filters);
	const whole = useMemo(() => (isAll ? livesOf(answer.lanes, answer.length) : { from: 0, to: answer.length }), [answer, isAll]);
	const [failure, setFailure] = useState('');
	const [isCut, setIsCut] = useState(false);
	const [threads, setThreads] = useState(0); // that the lanes of CPUs named
	const [kernels, setKernels] = useState(0); // and those of devices
	const [launch, setLaunch] = useState<Arrow | null>(null); // of what was chosen there
	const [hit, setHit] = useState<{ hit: Hit; x: number; y: number } | null>(null);
	const actions = useActions(origin);
	const placed = useView(whole, startOf(origin, whole, own.from, own.to), (range) => actions.note(range, whole));
	const { view } = placed;
	const onNew = (error?: unknown) => {
		if (error)
			setFailure(words.failed(safe(String((error as Error).message ?? error))));
		setIsCut(tiles.isCut || cpus.tiles.isCut || devices.tiles.isCut);
		setThreads(cpus.threads.all.length);
		setKernels(devices.works.names.length);
		view?.wake();
	};
	const tiles = useTiles(answer, level, origin, onNew);
	const cpus = useCpus(answer, origin, onNew);
	const devices = useDevices(answer, origin, onNew);
	const rows = useMemo(() => [...cpuRowsOf(cpus.all, own.folded), ...deviceRowsOf(devices.all, own.folded), ...rowsOf(answer.lanes, answer.classes, own, answer.length)],
		[answer, cpus.all, devices.all, own.order, own.find, own.pinned, own.hidden, own.folded, own.isApart]);
	const area: Area | null = useMemo(() => {
		const range = { from: origin.nsOf(own.areaFrom), to: origin.nsOf(own.areaTo) };
		return range.to > range.from ? { range, lanes: own.areaLanes } : null;
	}, [own.areaFrom, own.areaTo, own.areaLanes, origin]);
	const query = useMemo(() => {
		const wanted = queryOf(own.find);
		return isOfSlices(wanted) ? wanted : null;
	}, [own.find]);
	const slice = useSlice(answer, origin);
	const stream = useStream(view, devices, origin, actions);
	const picked: Chosen = stream.row ? stream : { ...slice, isOfThread: !!slice.lane };
	const logs = useLogs(answer, origin, placed.range, own.logFind);
	const spans = useSpans(answer, origin, placed.range);
	const pointed = useRef({ choose: (_: Hit) => {}, area: (_: Area) => {} });
	pointed.current = {
		choose: (at) => {
			const found = launchAt(at, devices.works);
			if (found)
				return choose(found);
			setLaunch(null);
			chooseAt(at, cpus.threads, actions.choose);
			return undefined;
		},
		area: actions.setArea,
	};
	const cpuLook = useMemo(() => cpus.threads.lookOf(theme, slice.chosen?.lane ?? ''), [cpus, threads, theme, slice.chosen?.lane]);
	const deviceLook = useMemo(() => devices.works.lookOf(theme), [devices, kernels, theme]);
	const launched = stream.hit && launchAt(stream.hit, devices.works);
	// as long as its slice is the chosen one
	const arrows = useMemo(() => (launched ? [launched] :
		launch && slice.chosen?.lane === launch.from && Math.floor(launch.at) === slice.chosen.at ?
			[...slice.arrows, launch] : slice.arrows), [launch, launched?.at, launched?.to, slice.chosen, slice.arrows]);
	const choose = (found: Arrow) => {
		setLaunch(found);
		actions.choose(found.from, found.at);
	};

	useEffect(() => {
		view?.show({ rows, classes: answer.classes, tiles, theme, chosen: picked.chosen, area, arrows, query,
			beside: { cpu: { tiles: cpus.tiles, look: cpuLook }, stream: { tiles: devices.tiles, look: deviceLook } } });
	}, [view, rows, tiles, cpus, cpuLook, devices, deviceLook, theme, picked.chosen?.lane, picked.chosen?.at, area, arrows]);
	useEffect(() => {
		if (!view)
			return undefined;
		return listenToPointers(view, placed.scroller.current!, {
			hover: (next, x, y) => setHit(next && { hit: next, x, y }),
			choose: (at) => pointed.current.choose(at),
			area: (from, to) => pointed.current.area({ range: { from: view.momentOf(Math.max(Math.min(from.x, to.x), 0)),
				to: view.momentOf(Math.min(Math.max(from.x, to.x), view.width)) }, lanes: view.lanesBetween(from.y, to.y) }),
		});
	}, [view]);
	// what is pointed at goes with the lanes, and with their time
	useEffect(() => setHit((now) => {
		const at = now && view?.hovered, there = at ? view!.hitAt(at.x, at.y) : null;
		return now && there ? { ...now, hit: there } : null;
	}), [view, rows, placed.range, placed.first, placed.offset, cpus.all, devices.all]);
	useBoardKeys({ view, rows, area, chosen: picked, actions, scroller: placed.scroller });

	const begin = Number(origin.base / 1_000_000n) / 1e3;
	const marks = useMarks({ from: begin, to: begin + answer.length / 1e9 }, answer.lanes[0]?.host);
	const groups = markGroups(marks.marks, placed.range, placed.width, origin);
	const inSight = rows.slice(placed.first, placed.first + placed.count);
	const shown = rows.reduce((sum, row) => sum + (row.key.startsWith('pinned ') ? 0 : lanesOf(row).length), 0);
	return <div class="tl">
		<Tools answer={answer} isCut={isCut || devices.isCut} view={view} area={area} range={placed.range} actions={actions} />
		<Legend theme={theme} />
		<SumOfLosses answer={answer} />
		{failure && <p class="warn" role="alert">{failure} <button type="button" class="quiet" onClick={() => {
			setFailure('');
			view?.again();
		}}>↻</button></p>}
		<div class="tl-grid">
			<div class="tl-corner hint">{words.threads(count(shown), count(answer.threads))}
				{(own.isApart || rows.some(({ kind }) => kind === 'pack')) && <label class="tick" title={words.sharedHint}>
					<input type="checkbox" id="shared" checked={!own.isApart} onChange={() => actions.setApart(!own.isApart)} />{words.shared}</label>}</div>
			<div class="tl-above">
				<Minimap answer={answer} view={view} theme={theme} width={placed.width} />
				<Ruler range={placed.range} width={placed.width} origin={origin} isWall={own.isWall} />
				<MarkWords marks={marks} groups={groups} />
			</div>
			<Machine answer={answer} range={placed.range} width={placed.width} origin={origin} isFolded={own.folded.includes(MACHINE)}
				onFold={() => actions.fold(MACHINE)} />
			<div class="tl-scroll" ref={placed.scroller} tabIndex={0} role="group" aria-label={words.name}>
				<div class="tl-sizer" style={{ height: `${Math.max(rows.length * ROW, 1)}px` }}>
					<div class="tl-window" style={{ height: `${placed.height}px` }}>
						<Names rows={inSight} first={placed.first} offset={placed.offset} chosen={own.lane} folded={own.folded}
							actions={{ fold: actions.fold, pin: actions.pin, hide: actions.hide,
								choose: (lane) => actions.choose(lane, (placed.range.from + placed.range.to) / 2) }} />
						<div class="tl-lanes">
							<canvas ref={placed.canvas} id="lanes" role="img"
								aria-label={words.canvas(count(shown), `${origin.wallOf(placed.range.from)} \u2013 ${origin.wallOf(placed.range.to)}`)}
								style={{ width: `${placed.width}px`, height: `${placed.height}px` }} />
							<MarkLines groups={groups} />
							{logs.areThere && <LogMarks logs={logs} rows={inSight} offset={placed.offset} range={placed.range} width={placed.width}
								choose={actions.choose} />}
							{spans.spans.length > 0 && <SpanBars spans={spans} origin={origin} rows={inSight} offset={placed.offset} range={placed.range}
								width={placed.width} choose={actions.choose} />}
						</div>
					</div>
				</div>
			</div>
		</div>
		{hit && <Tip {...hit} classes={answer.classes} threads={cpus.threads} works={devices.works} origin={origin} isWall={own.isWall} />}
		{area && <AreaPanel area={area} origin={origin} onZoom={() => view?.jump(area.range)} onNote={actions.noteArea}
			onClose={() => actions.setArea(null)} />}
		{slice.lane && !area && <SlicePanel asked={slice.asked} lane={slice.lane} logs={logs} origin={origin} isWall={own.isWall} actions={{
			close: () => actions.choose('', 0),
			previous: () => slice.beside(-1),
			next: () => slice.beside(1),
			zoom: () => slice.range && view?.jump(widened(slice.range)),
			toWaker: (lane) => slice.range && actions.choose(lane, slice.wokenAt - 1),
			toHolder: (lane) => slice.range && actions.choose(lane, Math.max(slice.range.from, 0)),
			toThread: (lane) => slice.range && actions.choose(lane, Math.max(slice.range.from, 0)),
		}} />}
		{stream.row && !area && <StreamPanel stream={stream.row} hit={stream.hit} work={stream.work} origin={origin} isWall={own.isWall} actions={{
			close: () => actions.choose('', 0),
			previous: () => stream.beside(-1),
			next: () => stream.beside(1),
			zoom: () => stream.range && view?.jump(widened(stream.range)),
			toThread: () => launched && choose(launched),
		}} />}
		{logs.areThere && <LogList logs={logs} range={placed.range} origin={origin} isWall={own.isWall} find={own.logFind}
			onFind={actions.findLog} choose={actions.choose} />}
	</div>;
}
