// SPDX-License-Identifier: Apache-2.0
// What programs were asked for and asked others for: endpoints, when requests were slow, and the slowest of them.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, formatOf, safe } from '../format';
import { AskBar } from '../parts/ask_bar';
import { Losses } from '../parts/losses';
import { Missing } from '../parts/missing';
import { Answers, Notice } from '../parts/notice';
import type { ExplainAnswer } from '../explain/answers';
import { ExplainPanel } from '../explain/panel';
import { useKeys } from '../parts/keys';
import type { RequestRow, RequestsAnswer } from '../requests/answers';
import { Endpoints } from '../requests/endpoints';
import { LatencyChart } from '../requests/latency_chart';
import { cellsOf } from '../requests/latency_map';
import { NO_REQUESTS, type RequestsLink, ROLES } from '../requests/link';
import { aroundOf, Slowest } from '../requests/slowest';
import { Services } from '../services/section';
import { requestsEvent } from '../state/events';
import { NO_LINK } from '../state/link';
import { usePage } from '../state/page';
import { spanText } from '../state/range';
import { requestsText as words } from '../text/requests';
import { ofThreads } from '../timeline/lanes';
import { Origin } from '../timeline/time';

const STEPS = 240;
const LISTED = 100;

export function Requests() {
	const { link, go, range, beat, status } = usePage();
	const { role, endpoint, from, to, least, most, chosen, whyFrom, whyTo, whyThread } = link.requests;
	const ask = (span: { from: string; to: string }, own: Record<string, string | number>) =>
		askOf(requestsEvent(status), span, ofThreads(link.filters), { role, endpoint, ...own });
	const whole = useAnswer<RequestsAnswer>('requests', ask(range, { steps: STEPS, limit: 0 }), beat);
	const list = useAnswer<RequestsAnswer>('requests',
		ask(from ? { from, to } : range, { least, most, limit: LISTED, endpoints: 0 }), beat);
	const why = useAnswer<ExplainAnswer>(chosen && whyFrom ? 'explain' : null,
		askOf('', { from: whyFrom, to: whyTo }, { ...NO_LINK.filters, host: link.filters.host,
			pid: whyThread.split('.')[0] ?? '', tid: whyThread.split('.')[1] ?? '' }, whyThread ? {} : { request: chosen }));
	const { answer } = whole;
	const explain = (row: RequestRow | null) => {
		const around = row && list.answer && aroundOf(row, new Origin(BigInt(list.answer.base)));
		go({ requests: { ...link.requests, chosen: row?.number ?? '', whyFrom: around?.from ?? '', whyTo: around?.to ?? '',
			whyThread: row?.role === 'made' ? `${row.pid}.${row.tid}` : '' } });
	};
	useKeys({ Escape: () => chosen ? explain(null) : false });

	return <main id="content" class="requests">
		<h2 class="unseen">{words.name}</h2>
		<AskBar hasEvent={false} />
		<Answers asked={[whole]} isSilent={link.isLive}>
			{answer && (answer.count > 0 ? <Filled answer={answer} /> :
				<Notice title={words.none}><span>{words.noneHint}</span></Notice>)}
		</Answers>
		{answer && answer.count > 0 && <>
			{chosen && whyFrom && <ExplainPanel asked={why} host={link.filters.host} onClose={() => explain(null)} />}
			<h2>{words.slowest}</h2>
			<Answers asked={[list]} isSilent={link.isLive}>{list.answer && <Slowest answer={list.answer} onWhy={explain} />}</Answers>
		</>}
	</main>;
}

function Filled({ answer }: { answer: RequestsAnswer }) {
	const { link, go, theme, status } = usePage();
	const own = link.requests, origin = new Origin(BigInt(answer.base)), ns = formatOf('ns');
	const change = (part: Partial<RequestsLink>) => go({ requests: { ...own, ...part } });
	const noPart = { from: '', to: '', least: '', most: '' };
	const chosen = own.from ? cellsOf(answer, { from: origin.nsOf(own.from), to: origin.nsOf(own.to),
		least: Number(own.least) || 0, most: Number(own.most) || 0 }) : null;

	return <>
		<div class="sum">
			<b>{words.count(count(answer.count))}</b>
			<span class={answer.failed ? 'warn' : ''}>{words.failedOf(count(answer.failed))}</span>
			{answer.open > 0 && <span title={words.openHint}>{words.openOf(count(answer.open))}</span>}
			<span>{spanText(answer.sum)}</span>
			<Losses sum={answer.sum} event={requestsEvent(status)} />
			<Missing sum={answer.sum} />
			{answer.cut && <span class="warn">{words.cut}</span>}
			<div class="segments" role="group" aria-label={words.role}>
				{ROLES.map((role) => <button type="button" key={role} id={`role-${role || 'all'}`} aria-pressed={own.role === role}
					onClick={() => change({ ...NO_REQUESTS, role })}>{role ? words.roles[role] : words.both}</button>)}
			</div>
		</div>
		<Services />
		<h2>{words.endpoints}</h2>
		<Endpoints answer={answer} chosen={own.endpoint} onChoose={(endpoint) => change({ ...noPart, endpoint })} />
		<LatencyChart answer={answer} theme={theme} chosen={chosen} onPart={(part) => change({
			from: origin.wordOf(part.from), to: origin.wordOf(part.to),
			least: part.least ? String(part.least) : '', most: part.most ? String(part.most) : '' })} />
		{(own.endpoint || own.from) && <div class="row">
			{own.endpoint && <span class="chip">{safe(own.endpoint)}
				<button type="button" aria-label={words.allEndpoints} title={words.allEndpoints} onClick={() => change({ endpoint: '' })}>×</button></span>}
			{own.from && <span class="chip" id="part">{words.part(ns(Number(own.least) || 0), own.most ? ns(Number(own.most)) : '')}
				<button type="button" aria-label={words.wholeMap} title={words.wholeMap} onClick={() => change(noPart)}>×</button></span>}
		</div>}
	</>;
}
