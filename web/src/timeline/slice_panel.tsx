// SPDX-License-Identifier: Apache-2.0
// All that is known of one slice: what it was, and what shows it.
import type { ComponentChildren } from 'preact';
import type { Asked } from '../api/use_answer';
import { safe } from '../format';
import { Answers } from '../parts/notice';
import { timelineText as words } from '../text/timeline';
import { FlameLinks } from './area_panel';
import type { LaneRow, SliceAnswer } from './answers';
import { className } from './classes';
import { laneKey } from './lanes';
import { LogRow, type Logs } from './logs';
import { exactly, type Origin } from './time';

const LOGGED = 50; // lines of a slice

type Slice = NonNullable<SliceAnswer['slice']>;

export interface SliceActions {
	close(): void;
	previous(): void;
	next(): void;
	zoom(): void;
	toWaker(lane: string): void;
	/** To what the holder of the lock did as the wait began. */
	toHolder(lane: string): void;
	/** To the thread that a goroutine ran on. */
	toThread(lane: string): void;
}

export function SlicePanel({ asked, lane, logs, origin, isWall, actions }: {
	asked: Asked<SliceAnswer>; lane: LaneRow; logs: Logs; origin: Origin; isWall: boolean; actions: SliceActions;
}) {
	const { answer } = asked;
	const slice = answer?.slice ?? null;
	return <section class="tl-panel" id="slice-panel" tabIndex={-1} aria-label={words.slice.title}>
		<header><h2>{slice ? className(slice.name) : words.slice.title}</h2>
			<span class="row">
				<button type="button" class="quiet icon" id="slice-before" title={words.slice.previous} aria-label={words.slice.previous}
					onClick={actions.previous}>‹</button>
				<button type="button" class="quiet icon" id="slice-behind" title={words.slice.next} aria-label={words.slice.next}
					onClick={actions.next}>›</button>
				<button type="button" class="quiet icon" id="close-slice" title={words.slice.close} aria-label={words.slice.close}
					onClick={actions.close}>×</button>
			</span></header>
		<Answers asked={[asked]}>
			{answer && !slice && <p class="hint">{words.slice.none}</p>}
			{answer && slice && <Known slice={slice} offset={origin.offsetOf(answer.base)} lane={lane} logs={logs} origin={origin}
				isWall={isWall} actions={actions} />}
		</Answers>
	</section>;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
	return children ? <><dt>{name}</dt><dd>{children}</dd></> : null;
}

function Known({ slice, offset, lane, logs, origin, isWall, actions }: {
	slice: Slice; offset: number; lane: LaneRow; logs: Logs; origin: Origin; isWall: boolean; actions: SliceActions;
}) {
	const start = offset + slice.start, end = offset + slice.end;
	const moment = (ns: number) => (isWall ? origin.wallOf(ns) : exactly(ns));
	const { waker, holder } = slice;
	const kinds: Record<string, string> = { goroutine: words.slice.goroutine, task: words.slice.task, 'virtual thread': words.slice.virtualThread };
	const logged = logs.lines.filter((line) => laneKey(line) === laneKey(lane) && logs.timeOf(line) >= start && logs.timeOf(line) < end);
	return <div class="tl-known"><div>
		<dl>
			<Fact name={words.slice.why}>{slice.words !== slice.name && safe(slice.words)}</Fact>
			<Fact name={words.slice.length}><b>{exactly(end - start)}</b></Fact>
			<Fact name={words.slice.start}>{moment(start)}{slice.open_start && <i class="hint"> {words.slice.openStart}</i>}</Fact>
			<Fact name={words.slice.end}>{moment(end)}{slice.open_end && <i class="hint"> {words.slice.openEnd}</i>}</Fact>
			<Fact name={kinds[lane.kind] ?? words.slice.thread}>{safe(lane.comm)} {!lane.goroutine && lane.tid}</Fact>
			<Fact name={words.slice.on}>{slice.on && <>{safe(slice.on.comm)} {slice.on.tid}{' '}
				<button type="button" class="quiet" id="to-thread" onClick={() => actions.toThread(laneKey(slice.on!))}>{words.slice.toThread}</button></>}</Fact>
			<Fact name={words.slice.process}>{safe(lane.process)} {lane.pid}</Fact>
			<Fact name={words.slice.cpu}>{slice.cpu === null ? '' : String(slice.cpu)}</Fact>
			<Fact name={lane.goroutine ? words.slice.reason : words.slice.call}>{slice.call && <span class="mono">{safe(slice.call)}{!lane.goroutine && `(${slice.arguments.map(safe).join(', ')})`}</span>}</Fact>
			<Fact name={words.slice.descriptor}>{safe(slice.descriptor)}</Fact>
			<Fact name={words.slice.object}>{slice.object ? <span class="mono">{safe(slice.object)}</span>
				: slice.object_unknown && <i class="hint">{words.slice.unknown} {safe(slice.object_unknown)}</i>}</Fact>
			<Fact name={words.slice.works}>{slice.works.length > 0 && <ul class="tl-works">{slice.works.map((work, i) =>
				<li key={i}><span class="mono">{safe(work.name)}</span> {words.slice.onStream(work.stream, work.device, exactly(work.duration))}</li>)}</ul>}</Fact>
			<Fact name={words.slice.ready}>{slice.ready_object && <span class="mono">{safe(slice.ready_object)}</span>}</Fact>
			<Fact name={words.slice.state}>{slice.state && <>{safe(slice.state)}{slice.iowait && `, ${words.slice.iowait}`}</>}</Fact>
			<Fact name={words.slice.holder}>{holder && <>{safe(holder.comm)} {holder.tid}, {words.slice.sure[slice.holder_sure] ?? safe(slice.holder_sure)}{' '}
				<button type="button" class="quiet" id="to-holder" onClick={() => actions.toHolder(laneKey(holder))}>{words.slice.toHolder}</button></>}</Fact>
			<Fact name={words.slice.waker}>{waker && <>{safe(waker.comm)} {!slice.waker_goroutine && waker.tid}{' '}
				<button type="button" class="quiet" id="to-waker" onClick={() => actions.toWaker(laneKey({ ...waker, goroutine: slice.waker_goroutine }))}>{words.slice.toWaker}</button></>}</Fact>
			<Fact name={words.slice.context}>{waker && slice.context && (words.slice.contexts[slice.context] ?? safe(slice.context))}</Fact>
		</dl>
		<div class="row">
			<button type="button" id="zoom-slice" onClick={actions.zoom}>{words.slice.zoom}</button>
			<FlameLinks range={{ from: origin.wordOf(start), to: origin.wordOf(end) }} lanes={[laneKey(lane)]} />
		</div>
		{logged.length > 0 && <><h3>{words.logs.inSlice}</h3>
			<ol class="tl-logs-list">{logged.slice(0, LOGGED).map((line, i) => <LogRow key={i} line={line} at={moment(logs.timeOf(line))} />)}</ol></>}
		</div>
		{slice.stack.length > 0 && <div><h3>{words.slice.stack}</h3>
			<ol class="tl-stack mono">{slice.stack.map((frame, i) => <li key={i} title={`${safe(frame.name)}\n${safe(frame.image)}`}>
				{safe(frame.name)}{frame.is_guess && <i class="mark" title={words.slice.guess}> ?</i>}</li>)}</ol></div>}
	</div>;
}
