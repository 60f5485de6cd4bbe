// SPDX-License-Identifier: Apache-2.0
// All that is known of one frame, with its share over time.
import { useState } from 'preact/hooks';
import type { TimelineAnswer } from '../api/answers';
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FlamePanelProps, FrameDetails } from '../flame/contract';
import { formatOf, percent, safe } from '../format';
import type { Filters } from '../state/link';
import { usePage } from '../state/page';
import { type Range, rangeOf } from '../state/range';
import { text } from '../text/text';
import { copyText } from './copy';
import { useKeys } from './keys';
import { Places } from './places';
import { Sparkline } from './sparkline';

const PATH_SHOWN = 8;

/** A regular expression (POSIX extended) for exactly this name. */
export function exactly(name: string): string {
	return `^${name.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')}$`;
}

/** Times are in milliseconds, steps more exactly. */
function isOfSameSteps(a: TimelineAnswer, b: TimelineAnswer): boolean {
	return a.sum.from === b.sum.from && Math.abs(a.step - b.step) < b.step / 1000;
}

const POINTS = 60; // of a line this small

/** What part of the whole some steps each had, in order. */
function shares(part: TimelineAnswer, whole: TimelineAnswer): number[] {
	const steps = Math.max(0, ...part.rows.map((row) => row.values.length));
	const each = Math.max(1, Math.ceil(steps / POINTS));
	const sumOf = (answer: TimelineAnswer, from: number) => answer.rows.reduce((sum, row) =>
		sum + row.values.slice(from, from + each).reduce((all, value) => all + value, 0), 0);
	return Array.from({ length: Math.ceil(steps / each) }, (_, i) => {
		const all = sumOf(whole, i * each);
		// of the last steps, what was asked later may have more
		return all > 0 ? Math.min(sumOf(part, i * each) / all, 1) : 0;
	});
}

function kindWord(kind: string): string {
	const kinds: Record<string, string> = text.flame.kinds;
	return kinds[kind] ?? safe(kind);
}

/** The frame of which details are shown, and what shows another one (contract.ts: onDetails): beside the graph, never over it. */
export function useDetails(): [FrameDetails | null, NonNullable<FlamePanelProps['onDetails']>] {
	const [frame, setFrame] = useState<FrameDetails | null>(null);
	const isSame = (a: FrameDetails, b: FrameDetails) => a.pane === b.pane && a.path.join('\n') === b.path.join('\n');
	return [frame, (next, isNewer) => setFrame((shown) =>
		(isNewer && next && !(shown && isSame(shown, next)) ? shown : next))];
}

interface Props {
	frame: FrameDetails;
	unit: string;
	/** The timeline of all, with that many steps at most; null: there is none. */
	whole: TimelineAnswer | null;
	steps: number;
	/** Of a comparison: what the side that it is of is called, and what is asked of that. */
	side?: { name: string; range: Range; filters: Filters };
	onClose(): void;
}

export function Details({ frame, unit, whole, steps, side, onClose }: Props) {
	const page = usePage();
	const { link, go } = page;
	const { name, range, filters } = side ?? { name: '', range: page.range, filters: link.filters };
	const [copied, setCopied] = useState('');
	const words = text.details;
	const format = formatOf(unit);
	const isFunction = frame.kind !== 'group' && frame.kind !== 'mark' && frame.kind !== 'label';
	// of just the same time: in one that is relative, all steps would lie a little later
	const asked = useAnswer<TimelineAnswer>(isFunction && whole ? 'timeline' : null,
		askOf(link.event, whole ? rangeOf(whole.sum) : range, filters,
			{ group: 'none', steps, function: frame.name }));
	const values = asked.answer && whole && isOfSameSteps(asked.answer, whole) ? shares(asked.answer, whole) : [];
	const most = Math.max(0, ...values);
	const path = frame.path.slice(0, -1);

	useKeys({ Escape: onClose });
	const copy = async () => setCopied(await copyText(safe(frame.name)) ? text.top.copied : text.top.notCopied);
	const filter = (name: 'focus' | 'ignore') => {
		onClose();
		go({ filters: { ...link.filters, [name]: exactly(frame.name) } });
	};

	return <aside class="details" aria-label={words.name}>
		<header>
			<h2>{safe(frame.name)}</h2>
			<button type="button" class="quiet" aria-label={words.close} title={words.close} onClick={onClose}>×</button>
		</header>
		<table class="numbers">
			<tr><th>{words.self}</th><td>{format(frame.self)}</td><td>{percent(frame.self, frame.whole)}</td></tr>
			<tr><th>{words.total}</th><td>{format(frame.total)}</td><td>{percent(frame.total, frame.whole)}</td></tr>
		</table>
		<dl>
			<dt>{words.kind}</dt><dd>{kindWord(frame.kind)}</dd>
			{frame.file && <><dt>{words.place}</dt><dd class="mono">{safe(frame.file)}{frame.line && `:${frame.line}`}</dd></>}
		</dl>
		{isFunction && <Places of={frame} range={range} filters={filters} note={name}
			isNative={frame.kind === 'native' || frame.kind === 'kernel'} hasLines={frame.file !== undefined} />}
		{most > 0 && <figure>
			<figcaption>{words.overTime} <span class="hint">0 – {percent(most, 1)}</span></figcaption>
			<Sparkline values={values} most={most} class="sparkline tall" />
		</figure>}
		{isFunction && <div class="row">
			<button type="button" id="copy-name" onClick={copy}>{copied || words.copyName}</button>
			<button type="button" id="sandwich" onClick={() => {
				onClose();
				go({ flame: { ...link.flame, sandwich: { name: frame.name, image: frame.image } } });
			}}>{words.sandwich}</button>
			<button type="button" id="focus" onClick={() => filter('focus')}>{words.focus}</button>
			<button type="button" id="ignore" onClick={() => filter('ignore')}>{words.ignore}</button>
		</div>}
		{path.length > 1 && <section>
			<h3>{words.path}</h3>
			<ol class="path mono">
				{path.length > PATH_SHOWN && <li class="hint">…</li>}
				{path.slice(-PATH_SHOWN).map((name, i) => <li key={i}>{safe(name)}</li>)}
			</ol>
		</section>}
	</aside>;
}
