// SPDX-License-Identifier: Apache-2.0
// The slowest requests of what was chosen; each leads to what its thread did meanwhile.
import { count, formatOf, safe } from '../format';
import { ToLink } from '../parts/to_link';
import { slicesEvent, usualEvent, waitsEvent } from '../state/events';
import type { Link } from '../state/link';
import { usePage } from '../state/page';
import { explainText } from '../text/explain';
import { requestsText as words } from '../text/requests';
import { NO_TIMELINE } from '../timeline/link';
import { Origin } from '../timeline/time';
import type { RequestRow, RequestsAnswer } from './answers';
import { treeOf } from './tree';

const AROUND = 0.1; // of its length, on each side of a request in its timeline
const LEAST = 1000; // ns
const AROUND_LEAST = 1e9; // ns
const DEPTH_MOST = 6; // in the picture

/** Its time, with more ns on each side. It is never empty, even if the request is: the server refuses a time that is. */
function timeOf({ end, duration }: RequestRow, origin: Origin, more = 0): { from: string; to: string } {
	return { from: origin.wordOf(end - duration - more), to: origin.wordOf(end + more + (duration + more > 0 ? 0 : 1)) };
}

/** The timeline of a request: a little more than its time, with its thread chosen. */
export function timelineOf(link: Link, row: RequestRow, origin: Origin): Link {
	const lane = `${row.pid}.${row.tid}`;
	return { ...link, view: 'timeline', isLive: false, timeline: { ...NO_TIMELINE, pinned: [lane], lane,
		at: origin.wordOf(row.end - Math.ceil(row.duration / 2)),
		...timeOf(row, origin, Math.max(row.duration * AROUND, LEAST)) } };
}

/**
 * Its profile: what was done for it; of one that was made: what its thread did in its time. A slow request has mostly
 * waited: its waits stand first, beside what it computed.
 */
export function profileOf(link: Link, row: RequestRow, origin: Origin, event: string, waits: string): Link {
	return { ...link, view: 'profile', event: waits || event, other: waits ? event : '', isLive: false,
		range: timeOf(row, origin),
		...(row.role === 'served' ? { ofRequest: row.number } :
			{ filters: { ...link.filters, pid: String(row.pid), tid: String(row.tid) } }) };
}

function Go({ to, id, title, children }: { to: Link; id: string; title: string; children: string }) {
	return <ToLink class="button quiet" id={id} title={title} to={to}>{children}</ToLink>;
}

function outcomeOf(row: RequestRow): string {
	if (row.open)
		return words.unfinished;
	return row.status ? String(row.status) : row.failed ? words.failedOne : words.ok;
}

/** The time that films are read of to explain a request: its own, and what was around it; of one that was made: its thread in its own. */
export function aroundOf(row: RequestRow, origin: Origin): { from: string; to: string } {
	return timeOf(row, origin, row.role === 'made' ? 0 : Math.max(row.duration, AROUND_LEAST));
}

export function Slowest({ answer, onWhy }: { answer: RequestsAnswer; onWhy(row: RequestRow): void }) {
	const { link, status } = usePage();
	const ns = formatOf('ns'), bytes = formatOf('bytes'), origin = new Origin(BigInt(answer.base));
	const hasSlices = slicesEvent(status) !== '', event = usualEvent(status), waits = waitsEvent(status);
	return <div class="wide requests-table" tabIndex={0} role="group" aria-label={words.slowest}>
		<table class="rows folds" id="slowest">
			<thead><tr>
				<th>{words.took}</th><th title={words.firstHint}>{words.first}</th><th>{words.began}</th><th>{words.status}</th>
				<th class="text">{words.request}</th><th class="text">{words.by}</th><th class="text">{words.peer}</th>
				<th>{words.bytes}</th><th class="text">{words.id}</th><th class="text">{words.more}</th>
			</tr></thead>
			<tbody>{treeOf(answer.slowest).map(({ row, depth, isLikely }, i) => <tr key={row.number} data-depth={depth}
				class={row.number === link.requests.chosen ? 'picked' : ''}>
				<td>{ns(row.duration)}</td>
				<td>{row.first_byte ? ns(row.first_byte) : '–'}</td>
				<td title={origin.wallOf(row.end - row.duration)}>{origin.wallOf(row.end - row.duration).slice(11, 23)}</td>
				<td class={row.failed ? 'warn' : ''}>{outcomeOf(row)}</td>
				<td class="text" title={`${safe(row.endpoint)}\n${safe(row.path)}`} style={{ '--depth': Math.min(depth, DEPTH_MOST) }}>
					{depth > 0 && <span class="hint" title={isLikely ? words.likely : words.below}>{isLikely ? '↳? ' : '↳ '}</span>}{safe(row.path || row.endpoint)}</td>
				<td class="text" title={`${safe(row.process)} ${row.pid}`}>{safe(row.comm)} <span class="hint">{row.tid}</span></td>
				<td class="text">{words.peers[row.role]} <span class="hint">{safe(row.peer)}</span></td>
				<td title={words.bytesHint}>{bytes(row.received)} / {bytes(row.sent)}</td>
				<td class="text name" title={safe(row.name)}><code>{safe(row.name)}</code></td>
				<td class="acts"><span class="row">
					{hasSlices && <button type="button" class="primary" id={`request-why-${i}`}
						title={explainText.whyHint} onClick={() => onWhy(row)}>{explainText.why}</button>}
					{hasSlices && <Go id={`request-timeline-${i}`} to={timelineOf(link, row, origin)} title={words.timelineHint}>{words.timeline}</Go>}
					{event && <Go id={`request-profile-${i}`} to={profileOf(link, row, origin, event, waits)} title={words.profileHint}>{words.profile}</Go>}
				</span></td>
			</tr>)}</tbody>
		</table>
		{answer.slowest.length === 0 && <p class="hint">{words.noneSlowest}</p>}
		{answer.slowest.length > 0 && <p class="hint">{words.listed(count(answer.slowest.length))}</p>}
	</div>;
}
