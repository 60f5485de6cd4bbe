// SPDX-License-Identifier: Apache-2.0
// The locks that threads waited for, with the threads that held them. One opens the flame graph of its waits.
import type { Sum } from '../api/answers';
import { idOfNames } from '../flame/ids';
import { count, formatOf, percent, safe } from '../format';
import { moveRow } from '../parts/rows';
import { usePage } from '../state/page';
import { text } from '../text/text';
import './locks.css';

interface Holder {
	name: string;
	waits: number;
	total: number;
}

export interface LockRow extends Holder {
	longest: number;
	/** Those that held it for longest, most time first. */
	holders: Holder[];
	holders_hidden: number;
}

export interface LocksAnswer {
	sum: Sum;
	cut: boolean;
	locks: LockRow[];
	locks_hidden: number;
}

const HOLDERS = 2; // that a row names

/** "[owner: flusher (12)]" without its brackets */
const plain = (mark: string) => safe(mark).replace(/^\[(.*)\]$/, '$1');

function holdersOf({ holders, holders_hidden: hidden }: LockRow): string {
	const more = holders.length - HOLDERS + hidden;
	const named = holders.slice(0, HOLDERS).map(({ name }) => plain(name)).join(', ');
	return more > 0 ? `${named}, ${text.locks.more(count(more))}` : named;
}

export function LockTable({ answer }: { answer: LocksAnswer }) {
	const { link, go } = usePage();
	const { locks, sum } = answer;
	const words = text.locks, ns = formatOf('ns');
	const idOfLock = (name: string) => idOfNames([name]);
	const isChosen = ({ name }: LockRow) => link.shape.by === 'lock' && link.flame.zoom === idOfLock(name);
	const open = (row: LockRow) => go({ shape: { ...link.shape, by: 'lock' },
		flame: { ...link.flame, zoom: isChosen(row) ? '' : idOfLock(row.name), sandwich: null } });

	if (!locks.length)
		return null;
	return <section class="locks">
		<h3>{words.name}</h3>
		<div class="wide locks-table" tabIndex={0} role="group" aria-label={words.name}>
			<table class="rows" id="locks">
				<thead><tr>
					<th class="text">{words.lock}</th><th class="text">{words.holder}</th>
					<th>{words.waits}</th><th>{words.longest}</th><th>{words.total}</th><th class="share">{words.share}</th>
				</tr></thead>
				<tbody>{locks.map((row) => <tr key={row.name} tabIndex={0} class="pick" aria-selected={isChosen(row)}
					title={words.open} onClick={() => open(row)} onKeyDown={(event) => {
						if (event.key === 'Enter')
							open(row);
						else
							moveRow(event);
					}}>
					<td class="text" title={plain(row.name)}>{plain(row.name)}</td>
					<td class="text" title={row.holders.map(({ name, total }) => `${plain(name)} ${ns(total)}`).join('\n')}>
						{holdersOf(row)}</td>
					<td>{count(row.waits)}</td><td>{ns(row.longest)}</td><td>{ns(row.total)}</td>
					<td class="share"><span class="bar" style={{ '--part': sum.total > 0 ? row.total / sum.total : 0 }} />
						{percent(row.total, sum.total)}</td>
				</tr>)}</tbody>
			</table>
		</div>
		{(answer.locks_hidden > 0 || answer.cut) && <p class="hint">
			{answer.locks_hidden > 0 && words.hidden(count(answer.locks_hidden))} {answer.cut && words.cut}</p>}
	</section>;
}
