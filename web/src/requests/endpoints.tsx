// SPDX-License-Identifier: Apache-2.0
// The endpoints: how many requests, how long they took. One can be chosen.
import { count, formatOf, quantile, safe } from '../format';
import { requestsText as words } from '../text/requests';
import type { RequestsAnswer } from './answers';

const TIMES = ['p50', 'p90', 'p99', 'longest'] as const;

export function Endpoints({ answer, chosen, onChoose }: {
	answer: RequestsAnswer; chosen: string; onChoose(endpoint: string): void;
}) {
	const ns = formatOf('ns'), most = Math.max(...answer.endpoints.map(({ total }) => total), 1);
	return <div class="wide requests-table" tabIndex={0} role="group" aria-label={words.endpoints}>
		<table class="rows folds" id="endpoints">
			<thead><tr>
				<th class="text">{words.endpoint}</th><th class="text">{words.role}</th>
				<th>{words.requests}</th><th>{words.failed}</th><th title={words.openHint}>{words.open}</th>
				{TIMES.map((time) => <th key={time}>{words.times[time]}</th>)}
			</tr></thead>
			<tbody>{answer.endpoints.map((row) => {
				const isChosen = row.endpoint === chosen;
				const choose = () => onChoose(isChosen ? '' : row.endpoint);
				return <tr key={`${row.role} ${row.protocol} ${row.endpoint}`} tabIndex={0} class="pick" aria-selected={isChosen}
					onClick={choose} onKeyDown={(event) => event.key === 'Enter' && choose()}>
					<td class="text" title={safe(row.endpoint)}><span class="bar behind" style={{ '--part': row.total / most }} />
						{safe(row.endpoint) || words.unnamed}</td>
					<td class="text">{words.roles[row.role]} <span class="hint">{safe(row.protocol)}</span></td>
					<td>{count(row.count)}</td>
					<td class={row.failed ? 'warn' : ''}>{count(row.failed)}</td>
					<td>{count(row.open)}</td>
					{TIMES.map((time) => <td key={time}>{row.count > row.open ? time === 'longest' ? ns(row.longest) : quantile(row[time], row.longest) : '–'}</td>)}
				</tr>;
			})}</tbody>
		</table>
		{answer.endpoints_hidden > 0 && <p class="hint">{words.hidden(count(answer.endpoints_hidden))}</p>}
	</div>;
}
