// SPDX-License-Identifier: Apache-2.0
// The machine, or all machines, over time; and who used how much of it.
import type { Sum, TimelineAnswer, TimelineRow } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { percent, safe } from '../format';
import { AskBar } from '../parts/ask_bar';
import { Chart, COLOURED, rowColour } from '../parts/chart';
import { Answers } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { Sparkline } from '../parts/sparkline';
import { SumLine } from '../parts/sum_line';
import { amountOf, averageOf, rateOf, ratesOf } from '../parts/units';
import { type Grouping, GROUPINGS } from '../state/link';
import { usePage } from '../state/page';
import { rangeOf, stepsOf } from '../state/range';
import { text } from '../text/text';

const ROWS = 60;

export function Overview() {
	const { link, range, span, beat, theme, go } = usePage();
	const asked = useAnswer<TimelineAnswer>('timeline',
		askOf(link.event, range, link.filters, { group: link.group, steps: stepsOf(span), rows: ROWS }), beat);
	const { answer } = asked;

	return <main id="content" class="overview">
		<AskBar />
		<Answers asked={[asked]} isSilent={link.isLive}>
			{answer && (answer.sum.total === 0 ? <NothingFilmed sum={answer.sum} /> : <>
				<SumLine sum={answer.sum} />
				<Chart answer={answer} theme={theme} height={220}
					onSelect={(span) => go({ range: rangeOf(span), isLive: false })} />
				<Groups answer={answer} />
			</>)}
		</Answers>
	</main>;
}

/** The arrows go from row to row. */
function moveRow(event: KeyboardEvent): void {
	const row = event.currentTarget as HTMLElement;
	const next = event.key === 'ArrowDown' ? row.nextElementSibling :
		event.key === 'ArrowUp' ? row.previousElementSibling : null;
	if (!(next instanceof HTMLElement))
		return;
	event.preventDefault();
	event.stopPropagation();
	next.focus();
}

function Groups({ answer }: { answer: TimelineAnswer }) {
	const { link, go } = usePage();
	const { group, filters } = link;
	const words = text.overview;
	const named = answer.rows.filter((row) => row.name !== '');
	const others = answer.rows.filter((row) => row.name === '' && row.total > 0);
	const pick = (row: TimelineRow) => go({ view: 'profile', filters: { ...filters, [group]: row.name } });

	return <section class="groups">
		<div class="row">
			<div class="segments" role="group" aria-label={words.group}>
				{GROUPINGS.map((name: Grouping) => <button type="button" key={name} name={`group-${name}`}
					aria-pressed={group === name} onClick={() => go({ group: name })}>{words.name[name]}</button>)}
			</div>
		</div>
		<div class="wide"><table class="rows">
			<thead><tr>
				<th class="text">{words.name[group]}</th>
				<th>{words.average}</th>
				<th class="less">{words.total}</th>
				<th class="share">{words.share}</th>
				<th class="trend">{words.trend}</th>
			</tr></thead>
			<tbody>
				{named.map((row, i) => <Row key={row.name} answer={answer} row={row} rank={i}
					onPick={() => pick(row)} />)}
				{others.map((row) => <Row key="" answer={answer} row={row} rank={COLOURED} />)}
			</tbody>
		</table></div>
	</section>;
}

function Row({ answer, row, rank, onPick }: {
	answer: TimelineAnswer; row: TimelineRow; rank: number; onPick?: () => void;
}) {
	const { theme, event: type } = usePage();
	const { sum }: { sum: Sum } = answer;
	const rates = ratesOf(answer, row, type);
	const name = safe(row.name) || text.chart.others;
	const share = sum.total > 0 ? row.total / sum.total : 0;

	return <tr tabIndex={onPick ? 0 : undefined} class={onPick ? 'pick' : ''} title={onPick && text.overview.open(name)}
		onClick={onPick} onKeyDown={(event) => {
			if (event.key === 'Enter')
				onPick?.();
			else
				moveRow(event);
		}}>
		<td class="text"><i class="swatch" style={{ background: rowColour(theme, rank) }} />{name}</td>
		<td>{rateOf(type).format(averageOf(answer, row.total, type))}</td>
		<td class="less">{amountOf(type, sum.total)(row.total)}</td>
		<td class="share"><span class="bar" style={{ '--part': share }} />{percent(row.total, sum.total)}</td>
		<td class="trend"><Sparkline values={rates} most={Math.max(...rates, 0)} /></td>
	</tr>;
}
