// SPDX-License-Identifier: Apache-2.0
// What a stream of a device ran at the chosen moment.
import { safe } from '../format';
import { timelineText as words } from '../text/timeline';
import type { StreamRow } from './answers';
import type { Work } from './devices';
import { exactly, type Origin } from './time';
import { WorkFacts } from './tip';
import type { Hit } from './view';

export interface StreamActions {
	close(): void;
	previous(): void;
	next(): void;
	zoom(): void;
	/** To the thread that launched it, at that moment. */
	toThread(): void;
}

/** hit: null: its lane is folded; work: null: nothing ran then, or it is not here yet. */
export function StreamPanel({ stream, hit, work, origin, isWall, actions }: {
	stream: StreamRow; hit: Hit | null; work: Work | null; origin: Origin; isWall: boolean; actions: StreamActions;
}) {
	const momentOf = (at: number) => (isWall ? origin.wallOf(at) : exactly(at));
	const extent = hit?.extent ?? null, runs = hit?.runs ?? null;
	const launched = work && runs && work.since ? runs.start[hit!.run]! - work.since : null;
	return <section class="tl-panel" id="stream-panel" tabIndex={-1} aria-label={words.stream(stream.device, stream.stream)}>
		<header><h2>{words.stream(stream.device, stream.stream)} <span class="hint">{safe(stream.process)} {stream.pid}</span></h2>
			<span class="row">
				<button type="button" class="quiet icon" id="work-before" title={words.slice.previousWork} aria-label={words.slice.previousWork}
					onClick={actions.previous}>‹</button>
				<button type="button" class="quiet icon" id="work-behind" title={words.slice.nextWork} aria-label={words.slice.nextWork}
					onClick={actions.next}>›</button>
				<button type="button" class="quiet icon" id="close-stream" title={words.slice.close} aria-label={words.slice.close}
					onClick={actions.close}>×</button>
			</span></header>
		<div role="status">
			{work && extent && runs && <>
				<WorkFacts work={work} count={runs.slices[hit!.run]!} part={runs.part[hit!.run]!} length={extent.to - extent.from}
					launched={launched === null ? '' : momentOf(launched)} />
				<div class="hint">{momentOf(extent.from)} – {momentOf(extent.to)}</div>
			</>}
			{hit && runs && !extent && <p>{words.idle} <span class="hint">{momentOf(hit.moment)}</span></p>}
		</div>
		{work && extent && <div class="row">
			<button type="button" id="zoom-work" onClick={actions.zoom}>{words.slice.zoom}</button>
			{work.launcher && launched !== null && <button type="button" id="to-launcher" onClick={actions.toThread}>{words.slice.toThread}</button>}
		</div>}
	</section>;
}
