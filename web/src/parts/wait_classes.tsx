// SPDX-License-Identifier: Apache-2.0
// What threads waited for: a button for each class, the longest first, which shows that one alone; and the way to locks.
import type { FlameAnswer } from '../api/answers';
import { profileAsk } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { idOfNames } from '../flame/ids';
import { partOf, safe } from '../format';
import { typesOf } from '../state/events';
import { usePage } from '../state/page';
import type { Range } from '../state/range';
import { text } from '../text/text';
import { className, colourOf, familyOf } from '../timeline/classes';

const NODES = 200; // the classes are the largest of them
const SUMMED = '^\\[waits summed up'; // the frame of waits that have no stack of their own (src/sources/sched/wait_rows.c)

interface WaitClass {
	/** As the graph has it: "[lock]" */
	mark: string;
	total: number;
}

/** The nodes below the root; none are of marks that stand for several. */
function classesOf({ nodes, labels }: FlameAnswer): WaitClass[] {
	return nodes.parent.flatMap((parent, node) => (node > 0 && parent === 0 ? [{ mark: labels.name[nodes.label[node]!]!, total: nodes.total[node]! }] : []))
		.filter(({ mark, total }) => total > 0 && mark !== '[smaller]').sort((a, b) => b.total - a.total);
}

export function WaitClasses({ range, beat }: { range: Range; beat: number }) {
	const { link, go, status, theme } = usePage(), words = text.waits;
	const { answer } = useAnswer<FlameAnswer>('flame', profileAsk({ ...link, shape: { ...link.shape, by: 'wait' } }, range, { nodes: NODES }), beat);
	if (!answer)
		return null;
	const chosen = link.shape.by === 'wait' ? link.flame.zoom : '';
	const pick = (mark: string) => {
		const id = idOfNames([mark]), isChosen = chosen === id;
		go({ shape: { ...link.shape, by: isChosen ? '' : 'wait' }, flame: { ...link.flame, zoom: isChosen ? '' : id, sandwich: null } });
	};
	const hasLocks = typesOf(status).find(({ locks }) => locks), isWithout = link.filters.ignore === SUMMED;
	return <div class="row wait-classes" id="wait-classes" role="group" aria-label={words.name}>
		{classesOf(answer).map(({ mark, total }) => {
			const name = mark.replace(/^\[(.*)\]$/, '$1');
			return <button type="button" key={mark} data-class={name} aria-pressed={chosen === idOfNames([mark])} onClick={() => pick(mark)}>
				<i class="swatch" style={{ background: colourOf(theme, familyOf(name)) }} />{className(name) === name ? safe(name) : className(name)}{' '}
				{partOf(total, answer.sum.total)}</button>;
		})}
		{(isWithout || !link.filters.ignore) && <label class="tick" title={words.summedHint}><input type="checkbox" id="without-summed" checked={isWithout}
			onChange={() => go({ filters: { ...link.filters, ignore: isWithout ? '' : SUMMED } })} />{words.summed}</label>}
		{hasLocks ? <button type="button" id="to-locks" onClick={() => go({ event: hasLocks.name, shape: { ...link.shape, by: '' },
			flame: { ...link.flame, zoom: '' } })}>{words.locks}</button> : <span class="hint">{words.noLocks} <code>-e off-cpu,lock</code></span>}
	</div>;
}
