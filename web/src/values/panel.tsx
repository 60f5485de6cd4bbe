// SPDX-License-Identifier: Apache-2.0
// What the calls of a function were given and have returned: by value, how long they took by one, and one by one.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { count, formatOf, safe } from '../format';
import { shadeAt, shadeOf } from '../parts/heat_map';
import { Answers } from '../parts/notice';
import { usePage } from '../state/page';
import { valuesText as words } from '../text/values';
import { Origin } from '../timeline/time';
import type { Amount, Heat, ValueColumn, ValuesAnswer } from './answers';
import { cellsOf } from './heat';
import { type ValuesLink, VALUE_SORTS } from './link';

const LISTED = 100;
const VALUES = 12;

/** Nothing, where the function's calls have no values. */
export function Values({ name }: { name: string }) {
	const { link, go, range, beat } = usePage();
	const own = link.values;
	const asked = useAnswer<ValuesAnswer>('values', askOf(link.event, range, link.filters,
		{ function: name, value: own.value, search: own.search, sort: own.order, limit: LISTED, values: VALUES }), beat);
	const { answer } = asked;
	const change = (part: Partial<ValuesLink>) => go({ values: { ...own, ...part } }, false);
	const hasNone = !own.search && answer?.count === 0;

	if (!answer ? !asked.error : hasNone)
		return null;
	return <section class="values" aria-label={words.title}>
		<h2>{words.title}</h2>
		<Answers asked={[asked]} isSilent={link.isLive}>{answer && <>
			<div class="sum">
				<b>{words.count(count(answer.count))}</b>
				<input type="search" name="value-search" value={own.search} placeholder={words.search} aria-label={words.search}
					autocomplete="off" spellcheck={false} onChange={(event) => change({ search: event.currentTarget.value })} />
				<div class="segments" role="group">
					{VALUE_SORTS.map((order) => <button type="button" key={order} id={`values-${order}`}
						aria-pressed={own.order === order} onClick={() => change({ order })}>{words.sorts[order]}</button>)}
				</div>
			</div>
			<div class="values-columns">
				{answer.functions[0]?.columns.map((column) => <Column key={column.of} column={column}
					isChosen={column.of === own.value}
					onChoose={() => change({ value: column.of === own.value ? '' : column.of })} />)}
			</div>
			{answer.heat && answer.heat.calls > 0 && <HeatOf heat={answer.heat} />}
			<Calls answer={answer} />
		</>}</Answers>
	</section>;
}

function Column({ column, isChosen, onChoose }: { column: ValueColumn; isChosen: boolean; onChoose(): void }) {
	const most = Math.max(...column.values.map(({ total_ns }) => total_ns), column.others.total_ns, 1);
	return <div class="wide"><table class="rows value-column">
		<thead><tr>
			<th class="text"><button type="button" class="quiet" name={`value-${safe(column.of)}`} aria-pressed={isChosen}
				title={words.choose} onClick={onChoose}>{safe(column.of)}</button>{' '}
				<span class="hint">{words.distinct(count(column.distinct))}</span></th>
			<th>{words.calls}</th><th>{words.total}</th><th>{words.average}</th><th>{words.longest}</th>
		</tr></thead>
		<tbody>
			{column.values.map((row) => <AmountRow key={row.value} name={safe(row.value)} amount={row} most={most} />)}
			{column.others.calls > 0 && <AmountRow name={words.others} amount={column.others} most={most} />}
		</tbody>
	</table></div>;
}

function AmountRow({ name, amount, most }: { name: string; amount: Amount; most: number }) {
	const ns = (value: number) => (amount.ended ? formatOf('ns')(value) : '–');
	return <tr>
		<td class="text" title={name}><span class="bar behind" style={{ '--part': amount.total_ns / most }} />{name}</td>
		<td>{count(amount.calls)}</td>
		<td>{ns(amount.total_ns)}</td>
		<td>{ns(amount.total_ns / Math.max(amount.ended, 1))}</td>
		<td>{ns(amount.max_ns)}</td>
	</tr>;
}

function HeatOf({ heat }: { heat: Heat }) {
	const { theme } = usePage();
	const cells = cellsOf(heat), ns = formatOf('ns');
	// few must be seen beside many: shades are of the logarithm
	const shade = (calls: number) => shadeAt(theme, shadeOf(Math.log2(calls + 1) * 1000 / Math.log2(cells.most + 1), 1000));
	return <div class="wide"><table class="rows value-heat" id="value-heat">
		<caption title={words.heatHint}>{words.heat(safe(heat.by))}</caption>
		<thead><tr><th class="text">{words.value}</th>
			{cells.columns.map((from) => <th key={from}>{ns(from)}</th>)}<th>{words.calls}</th><th>{words.average}</th></tr></thead>
		<tbody>{heat.rows.map((row, i) => <tr key={row.value}>
			<td class="text" title={safe(row.value)}>{safe(row.value)}</td>
			{cells.rows[i]!.map((calls, k) => <td key={k} class="cell" title={words.heatOf(count(calls), ns(cells.columns[k]!))}
				style={calls ? { background: shade(calls) } : {}} />)}
			<td>{count(row.calls)}</td>
			<td>{ns(row.total_ns / Math.max(row.calls, 1))}</td>
		</tr>)}</tbody>
	</table></div>;
}

function Calls({ answer }: { answer: ValuesAnswer }) {
	const ns = formatOf('ns'), origin = new Origin(BigInt(answer.base));
	if (!answer.calls.length)
		return <p class="hint">{words.none}</p>;
	return <div class="wide"><table class="rows value-calls" id="value-calls">
		<thead><tr><th>{words.began}</th><th>{words.took}</th><th class="text">{words.thread}</th><th class="text">{words.call}</th></tr></thead>
		<tbody>{answer.calls.map((call, i) => <tr key={i}>
			<td title={origin.wallOf(call.start)}>{origin.wallOf(call.start).slice(11, 26)}</td>
			<td title={call.duration === null ? words.unseen : undefined}>{call.duration === null ? '–' : ns(call.duration)}</td>
			<td class="text" title={`${safe(call.comm)} ${call.pid}`}>{safe(call.comm)}{' '}
				<span class="hint">{call.goroutine ? words.goroutine(String(call.goroutine)) : call.tid}</span></td>
			<td class="text"><code>{safe(call.function)}({safe(call.arguments)}){call.results && ` = ${safe(call.results)}`}</code></td>
		</tr>)}</tbody>
	</table>
	<p class="hint">{words.listed(count(answer.calls.length))}</p></div>;
}
