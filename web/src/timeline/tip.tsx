// SPDX-License-Identifier: Apache-2.0
// What the pointer is at.
import { count, percent, safe } from '../format';
import { timelineText as words } from '../text/timeline';
import { className } from './classes';
import { exactly, type Origin } from './time';
import type { CpuThreads } from './cpus';
import { isOfCpus, type Row } from './lanes';
import type { Hit } from './view';

const AWAY = 14; // pixels from the pointer

export function Tip({ hit, x, y, classes, threads, origin, isWall }: {
	hit: Hit; x: number; y: number; classes: readonly string[]; threads: CpuThreads; origin: Origin; isWall: boolean;
}) {
	const { row, runs, run, moment, extent } = hit;
	const thread = row.kind === 'cpu' && runs && run >= 0 ? threads.all[runs.thread?.[run] ?? -1] : undefined;
	const isRight = x > innerWidth / 2, isLow = y > innerHeight / 2;
	const style = {
		[isRight ? 'right' : 'left']: `${(isRight ? innerWidth - x : x) + AWAY}px`,
		[isLow ? 'bottom' : 'top']: `${(isLow ? innerHeight - y : y) + AWAY}px`,
	};
	return <div class="tl-tip" role="tooltip" style={style}>
		<div><RowName row={row} /></div>
		<div class="hint">{isWall ? origin.wallOf(moment) : exactly(moment)}</div>
		{runs && extent && <>
			<div><b>{thread ? safe(thread.comm) : className(classes[runs.class[run]!] ?? '')}</b> {thread && `${thread.tid} `}{extent.isMore && `${words.atLeast} `}{exactly(extent.to - extent.from)}</div>
			{runs.slices[run]! > 1 && <div class="hint">{words.merged(count(runs.slices[run]!), percent(runs.part[run]!, 1))}<br />
				{words.mergedHint}</div>}
		</>}
	</div>;
}

function RowName({ row }: { row: Row }) {
	if (isOfCpus(row))
		return <b>{row.kind === 'cpu' ? words.cpu(String(row.cpu)) : words.cpus}</b>;
	if (row.kind === 'pack')
		return <b>{words.packOf(count(row.lanes.length))}</b>;
	const { comm, tid, process, pid } = row.lane.row;
	return <><b>{safe(row.kind === 'process' ? process : comm)}</b> {row.kind === 'process' ? pid : tid}</>;
}
