// SPDX-License-Identifier: Apache-2.0
// What the pointer is at.
import { count, formatOf, percent, safe } from '../format';
import { timelineText as words } from '../text/timeline';
import { className } from './classes';
import { exactly, type Origin } from './time';
import type { CpuThreads } from './cpus';
import type { DeviceWorks, Work } from './devices';
import { isOfCpus, isOfDevices, type Row } from './lanes';
import type { Hit } from './view';

const AWAY = 14; // pixels from the pointer

export function Tip({ hit, x, y, classes, threads, works, origin, isWall }: {
	hit: Hit; x: number; y: number; classes: readonly string[]; threads: CpuThreads; works: DeviceWorks; origin: Origin; isWall: boolean;
}) {
	const { row, runs, run, moment, extent } = hit;
	const thread = row.kind === 'cpu' && runs && run >= 0 ? threads.all[runs.thread?.[run] ?? -1] : undefined;
	const work = row.kind === 'stream' ? works.workOf(runs, run) : null;
	const momentOf = (at: number) => (isWall ? origin.wallOf(at) : exactly(at));
	const isRight = x > innerWidth / 2, isLow = y > innerHeight / 2;
	const style = {
		[isRight ? 'right' : 'left']: `${(isRight ? innerWidth - x : x) + AWAY}px`,
		[isLow ? 'bottom' : 'top']: `${(isLow ? innerHeight - y : y) + AWAY}px`,
	};
	return <div class="tl-tip" role="tooltip" style={style}>
		<div><RowName row={row} /></div>
		<div class="hint">{momentOf(moment)}</div>
		{work && extent && <WorkFacts work={work} count={runs!.slices[run]!} part={runs!.part[run]!} length={extent.to - extent.from}
			launched={work.since ? momentOf(runs!.start[run]! - work.since) : ''} />}
		{row.kind === 'stream' && runs && !extent && <div>{words.idle}</div>}
		{row.kind !== 'stream' && runs && extent && <>
			<div><b>{thread ? safe(thread.comm) : className(classes[runs.class[run]!] ?? '')}</b> {thread && `${thread.tid} `}{extent.isMore && `${words.atLeast} `}{exactly(extent.to - extent.from)}</div>
			{runs.slices[run]! > 1 && <div class="hint">{words.merged(count(runs.slices[run]!), percent(runs.part[run]!, 1))}<br />
				{words.mergedHint}</div>}
		</>}
	</div>;
}

/** A kernel or copy, or several that are too short to be drawn; launched: when, '': not known. */
export function WorkFacts({ work, count: works, part, length, launched }: { work: Work; count: number; part: number; length: number; launched: string }) {
	const { name, busy, bytes: copied, launcher, since } = work;
	const title = safe(name.name) || words.workKinds[name.kind];
	if (name.kind === 'unknown')
		return <div><b>{words.workKinds.unknown}</b> {exactly(length)}</div>;
	return <>
		<div><b>{title}</b> {works > 1 ? '' : exactly(busy)}</div>
		{works > 1 && <div class="hint">{words.works(count(works), percent(part, 1))}<br />{words.worksBusy(exactly(busy), exactly(length))}</div>}
		{copied > 0 && <div>{words.copied(formatOf('bytes')(copied))}</div>}
		{works === 1 && <div class="hint">{launcher ? words.launchedBy(`${safe(launcher.comm)} ${launcher.tid}`, launched, exactly(since)) : words.launchUnknown}</div>}
	</>;
}

function RowName({ row }: { row: Row }) {
	if (isOfCpus(row))
		return <b>{row.kind === 'cpu' ? words.cpu(String(row.cpu)) : words.cpus}</b>;
	if (isOfDevices(row))
		return row.stream ? <><b>{words.stream(row.stream.device, row.stream.stream)}</b> {safe(row.stream.process)} {row.stream.pid}</> : <b>{words.devices}</b>;
	if (row.kind === 'pack')
		return <b>{words.packOf(count(row.lanes.length))}</b>;
	const { comm, tid, process, pid } = row.lane.row;
	return <><b>{safe(row.kind === 'process' ? process : comm)}</b> {row.kind === 'process' ? pid : tid}</>;
}
