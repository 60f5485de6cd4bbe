// SPDX-License-Identifier: Apache-2.0
// What the function tracer saw: each function with its calls, how long those of one took, and who called whom.
import type { CalledFunction, CallsAnswer } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { CallTree } from '../calls/tree';
import { Histogram } from '../calls/histogram';
import { CALL_COLUMNS, type CallSort, inOrder, sameFunction, valueOf } from '../calls/columns';
import { baseName, count, formatOf, quantile, safe } from '../format';
import { AskBar } from '../parts/ask_bar';
import { Losses } from '../parts/losses';
import { Missing } from '../parts/missing';
import { Answers, Notice } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { usePage } from '../state/page';
import { spanText } from '../state/range';
import { text } from '../text/text';
import { Values } from '../values/panel';

const NODES = 20_000;
const FUNCTIONS = 1000;

/** What the server sorts by, where it has more functions than it lists. */
const sortOf = (sort: CallSort) => (sort === 'p50' ? 'avg' : sort);

export function Calls() {
	const { link, range, beat, status } = usePage();
	const asked = useAnswer<CallsAnswer>('calls',
		askOf(link.event, range, link.filters, { nodes: NODES, limit: FUNCTIONS, sort: sortOf(link.calls.sort) }), beat);
	const { answer } = asked;
	const words = text.calls;

	return <main id="content" class="calls">
		<AskBar />
		<Answers asked={[asked]} isSilent={link.isLive}>
			{answer && (answer.calls > 0 ? <Filled answer={answer} /> :
				status?.one_film ? <Notice title={words.none}><span>{words.noneHint}</span></Notice> :
					<NothingFilmed sum={answer.sum} />)}
		</Answers>
	</main>;
}

function Filled({ answer }: { answer: CallsAnswer }) {
	const { link, go } = usePage();
	const words = text.calls;
	const rows = inOrder(answer.functions, link.calls.sort);
	const chosen = rows.find((row) => sameFunction(row, link.calls.chosen)) ?? rows[0];
	const choose = ({ name, image }: { name: string; image: string }) =>
		go({ calls: { ...link.calls, chosen: { name, image } } }, false);

	return <>
		<div class="sum">
			<b>{words.count(count(answer.calls))}</b>
			<span>{words.functions(count(answer.functions.length + answer.functions_hidden))}</span>
			<span>{spanText(answer.sum)}</span>
			<Losses sum={answer.sum} />
			<Missing sum={answer.sum} />
			{answer.summary && <span class="warn" title={words.summaryHint}>{words.summary}</span>}
		</div>
		<div class="calls-area">
			<Table rows={rows} chosen={chosen} hidden={answer.functions_hidden} onChoose={choose} />
			{chosen && <Chosen row={chosen} isCoarse={answer.summary} />}
		</div>
		{chosen && !answer.summary && <Values name={chosen.name} />}
		<h2>{words.tree}</h2>
		{answer.summary ? <p class="hint">{words.summaryHint}</p> :
			<CallTree answer={answer} chosen={chosen} onChoose={choose} />}
	</>;
}

function Table({ rows, chosen, hidden, onChoose }: {
	rows: CalledFunction[]; chosen: CalledFunction | undefined; hidden: number; onChoose(row: CalledFunction): void;
}) {
	const { link, go } = usePage();
	const words = text.calls;
	const most = Math.max(...rows.map((row) => valueOf(row, link.calls.sort)), 1);

	return <div class="wide calls-table"><table class="rows" id="functions">
		<thead><tr>
			<th class="text">{words.columns.name}</th>
			{CALL_COLUMNS.map((column) => <th key={column} title={words.hints[column]}
				aria-sort={link.calls.sort === column ? 'descending' : undefined}>
				<button type="button" class="quiet" name={`sort-${column}`}
					onClick={() => go({ calls: { ...link.calls, sort: column } }, false)}>
					{words.columns[column]}{link.calls.sort === column ? ' ↓' : ''}</button></th>)}
		</tr></thead>
		<tbody>
			{rows.map((row) => <tr key={`${row.image} ${row.name}`} tabIndex={0} class="pick"
				aria-selected={sameFunction(row, chosen)} onClick={() => onChoose(row)}
				onKeyDown={(event) => event.key === 'Enter' && onChoose(row)}>
				<td class="text" title={`${safe(row.name)}\n${safe(row.image)}`}>
					<span class="bar behind" style={{ '--part': valueOf(row, link.calls.sort) / most }} />
					{safe(row.name)}{row.inferred > 0 && <i class="mark" title={words.inferred(count(row.inferred))}> ?</i>}
				</td>
				{CALL_COLUMNS.map((column) => <td key={column}>{cell(row, column)}</td>)}
			</tr>)}
		</tbody>
	</table>
	{hidden > 0 && <p class="hint">{words.hidden(count(hidden))}</p>}
	</div>;
}

function cell(row: CalledFunction, column: typeof CALL_COLUMNS[number]): string {
	const value = row[column];
	if (value === null)
		return '–';
	if (column === 'p50' || column === 'p99')
		return quantile(value, row.max ?? value);
	return column === 'calls' ? count(value) : formatOf('ns')(value);
}

function Chosen({ row, isCoarse }: { row: CalledFunction; isCoarse: boolean }) {
	const words = text.calls;
	return <section class="chosen">
		<h2 title={safe(row.name)}>{safe(row.name)}</h2>
		<p class="hint">{safe(baseName(row.image))}</p>
		<Histogram row={row} />
		<dl>
			<dt>{words.columns.p50}</dt><dd>{cell(row, 'p50')}</dd>
			<dt>{words.columns.p99}</dt><dd>{cell(row, 'p99')}</dd>
			<dt>{words.onCpu}</dt><dd>{formatOf('ns')(row.on_cpu)}</dd>
			<dt>{words.columns.min}</dt><dd>{row.min === null ? '–' : formatOf('ns')(row.min)}</dd>
			{row.inferred > 0 && <><dt>{words.inferredShort}</dt><dd>{count(row.inferred)}</dd></>}
			{row.open > 0 && <><dt>{words.open}</dt><dd>{count(row.open)}</dd></>}
			{row.cut > 0 && <><dt>{words.cut}</dt><dd>{count(row.cut)}</dd></>}
		</dl>
		{isCoarse && <p class="hint">{words.coarse}</p>}
	</section>;
}
