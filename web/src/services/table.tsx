// SPDX-License-Identifier: Apache-2.0
// Which service asked which other one: how often, how long it took, and how much of its own requests' time that was.
import { count, formatOf, percent, quantile, safe } from '../format';
import { requestsText } from '../text/requests';
import { servicesText as words } from '../text/services';
import type { CallRow, ServicesAnswer } from './answers';
import { rateOf, secondsOf } from './rate';

const TIMES = ['p50', 'p90', 'p99', 'longest'] as const;

function Other({ call, answer }: { call: CallRow; answer: ServicesAnswer }) {
	const peer = safe(call.peer);
	if (call.to === null)
		return <>{peer}</>;
	return <>{safe(answer.services[call.to]!.service)} <span class="hint">{peer}</span></>;
}

export function Calls({ answer, chosen, onChoose }: { answer: ServicesAnswer; chosen: string; onChoose(service: string): void }) {
	const seconds = secondsOf(answer.sum), ns = formatOf('ns');
	return <div class="wide requests-table" tabIndex={0} role="group" aria-label={words.name}>
		<table class="rows folds" id="service-calls">
			<thead><tr>
				<th class="text">{words.from}</th><th class="text">{words.to}</th><th class="text">{words.protocol}</th>
				<th>{words.eachSecond}</th><th>{requestsText.failed}</th>
				{TIMES.map((time) => <th key={time}>{requestsText.times[time]}</th>)}
				<th title={words.shareHint}>{words.share}</th>
			</tr></thead>
			<tbody>{answer.calls.map((call) => {
				const client = answer.services[call.from]!, isChosen = client.service === chosen;
				const choose = () => onChoose(isChosen ? '' : client.service);
				return <tr key={`${call.from} ${call.protocol} ${call.peer}`} tabIndex={0} class="pick" aria-selected={isChosen}
					onClick={choose} onKeyDown={(event) => event.key === 'Enter' && choose()}>
					<td class="text" title={safe(client.host)}>{safe(client.service)}</td>
					<td class="text"><Other call={call} answer={answer} /></td>
					<td class="text">{safe(call.protocol)}</td>
					<td>{rateOf(call.count, seconds)}</td>
					<td class={call.failed ? 'warn' : ''}>{count(call.failed)}</td>
					{TIMES.map((time) => <td key={time}>{call.count > call.open ? time === 'longest' ? ns(call.longest) : quantile(call[time], call.longest) : '–'}</td>)}
					<td>{client.total && call.for_served ? percent(call.for_served, client.total) : '–'}</td>
				</tr>;
			})}</tbody>
		</table>
	</div>;
}
