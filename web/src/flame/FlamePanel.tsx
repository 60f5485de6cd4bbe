// SPDX-License-Identifier: Apache-2.0
// All of a profile: tools, table, graphs, legend (contract.ts says what it is given).
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, formatOf, percent, safe } from '../format';
import { copyText } from '../parts/copy';
import { useKeys } from '../parts/keys';
import { flameText as words } from '../text/flame';
import { Colours } from './colours';
import type { Colouring, FlamePanelProps, FlameState, FunctionName, Searched, Show } from './contract';
import './flame.css';
import { Crumbs } from './crumbs';
import type { Facts } from './facts';
import { FrameBar } from './frame_bar';
import { functionsOf } from './functions';
import { Graph, type GraphHandle, type Selecting } from './graph';
import { idOf, nodeOf } from './ids';
import { Legend } from './legend';
import { modelOf, type Model } from './model';
import { quoted, unquoted } from './pattern';
import { Sandwich } from './sandwich';
import { anyOf, matchesOf, queryOf, type Matches } from './search';
import { Table } from './table';
import { Tools } from './tools';
import type { View } from './view';

const SHOWS: Show[] = ['table', 'both', 'graph'];
const COLOURS: Colouring[] = ['kind', 'image', 'language'];

/** The frame that the user went to last. */
interface Chosen {
	facts: Facts;
	view: View; // that it is in
	zoomed: number;
	node: number;
	pane: number;
}

interface PaneModel extends Model {
	matches: Matches | null;
	/** the node that the link is zoomed to */
	zoomed: number;
}

function usePanes({ panes, state, theme }: FlamePanelProps) {
	const answers = panes.map(({ answer }) => answer);
	const hidden = state.hide.join('\n');
	const query = useMemo(() => queryOf(state.search, state.isRegex), [state.search, state.isRegex]);
	const isHidden = useMemo(() => anyOf(state.hide), [hidden]);
	const models = useMemo(() => answers.map((answer) => modelOf(answer, words.all, isHidden, state.widths)),
		[...answers, isHidden, state.widths]);
	const matches = useMemo(() => models.map((model) => matchesOf(model, query.test)), [models, query]);
	const zoomed = useMemo(() => models.map(({ tree, labels }) => Math.max(nodeOf(tree, labels, state.zoom), 0)),
		[models, state.zoom]);
	const colours = useMemo(() => models.map(({ tree, labels }) => new Colours(tree, labels, state.colour, theme)),
		[models, state.colour, theme]);
	return { query, isHidden, models, matches, zoomed, colours };
}

/**
 * "1.2 s (12.00%) in 12 frames, 30.00% of zoomed, before 10.00%": of all there is, and how many of these are drawn; of
 * the drawn ones alone, which are not all, it is said that it is at least that.
 */
function foundWords({ tree, matches, zoomed }: PaneModel & { matches: Matches }, unit: string, searched: Searched | null): string {
	const all = searched?.answer ?? null;
	const total = all ? all.total : matches.total(tree.total, 0);
	const before = all ? all.before_total ?? 0 : tree.beforeTotal ? matches.total(tree.beforeTotal, 0) : 0;
	const frames = all ? all.frames : matches.count;
	const found = words.found(`${formatOf(unit)(total)} (${percent(total, all ? all.sum.total : tree.total[0]!)})`, frames, count(frames));
	const parts = [searched && !all ? words.atLeast(found) : found];

	if (all && all.frames > matches.count)
		parts.push(words.foundDrawn(count(matches.count)));
	if (zoomed) {
		const share = words.foundOfZoomed(percent(matches.total(tree.total, zoomed), tree.total[zoomed]!));
		parts.push(searched ? words.atLeast(share) : share);
	}
	if (tree.beforeTotal)
		parts.push(words.foundBefore(percent(before, tree.beforeTotal[0]!)));
	if (searched && !all)
		parts.push(searched.error ? words.notSearched(safe(searched.error)) : words.searching);
	return parts.join(', ');
}

export function FlamePanel(props: FlamePanelProps) {
	const { panes, state, theme, onState, onDetails, onFocus } = props;
	const { query, isHidden, models, matches, zoomed, colours } = usePanes(props);
	const field = useRef<HTMLInputElement>(null);
	const graphs = useRef<(GraphHandle | null)[]>([]);
	const [chosen, setChosen] = useState<Chosen | null>(null);
	const first = panes[0]!.answer, last = panes[panes.length - 1]!.answer;
	const isDiff = panes.length === 1 && models[0]!.tree.beforeTotal !== null;
	const isDrawn = props.functions === 'drawn';
	const functions = useMemo(() => (props.functions === 'drawn' ? functionsOf(models[0]!, zoomed[0]!) : props.functions),
		[props.functions, ...(isDrawn ? [models[0], zoomed[0]] : [])]);
	const hasBefore = functions?.some((row) => row.before_total !== undefined) ?? false;
	// with another answer it stays what it was until the graph says what it is now: the buttons stay the same ones
	const node = chosen && chosen.pane < panes.length ? chosen.node : -1;
	const hasGraph = state.show !== 'table';
	const canSandwich = !!onFocus && !hasBefore && panes.length === 1; // of two sides there is none
	const found = models.map((model, i) => {
		const hits = matches[i];
		return hits ? foundWords({ ...model, matches: hits, zoomed: zoomed[i]! }, panes[i]!.answer.unit,
			props.searched?.[i] ?? null) : '';
	});

	const selectIn = (pane: number) => ({ facts, view }: GraphHandle, to: number, how: Selecting): void => {
		const isKept = how === 'kept';
		if (isKept && chosen?.view !== view)
			return; // the user has gone to another graph since
		setChosen(to < 0 ? null : { facts, view, zoomed: view.zoomed, node: to, pane });
		if (to >= 0 && how !== 'went')
			onDetails?.(facts.details(to, pane), isKept);
		else if (to < 0 && !isKept)
			onDetails?.(null);
	};

	const match = (step: number) => graphs.current[0]?.nextMatch(step);
	const reset = () => graphs.current.forEach((graph) => graph?.reset());
	const isWhole = () => graphs.current.every((graph) => !graph || graph.view.zoomed === 0 && !graph.view.isAside());
	const sandwich = (of: FunctionName | null) => onState({ sandwich: of }, true);
	const hide = ({ name }: FunctionName) =>
		onState({ hide: [...new Set([...state.hide, quoted(safe(name))])] }, true);
	/** What stands for one function in the search marks it in the table, which still shows all. */
	const marked = state.isRegex ? '' : unquoted(state.search);
	const searched = query.test && !marked ? props.searchedFunctions ?? null : null;
	const search = ({ name }: FunctionName) => onState({ isRegex: false, sandwich: null,
		search: marked === safe(name) ? '' : quoted(safe(name)) });

	/** The server is asked for more of what stands below a node. */
	function askMore({ facts: { tree, labels } }: GraphHandle, from: number): void {
		let above = from;
		while (above > 0 && !labels.isFunction(tree.label[above]!))
			above = tree.parent[above]!;
		if (above > 0)
			onFocus?.(labels.functionName(tree.label[above]!));
	}

	/** Does something to the chosen frame, if it is a function. */
	function withChosen(what: (name: FunctionName) => void): void | false {
		if (node < 0)
			return false;
		const { tree, labels } = chosen!.facts;
		const label = tree.label[node]!;
		if (!labels.isFunction(label))
			return false;
		what(labels.functionName(label));
	}

	const next = <T,>(all: T[], now: T) => all[(all.indexOf(now) + 1) % all.length]!;
	useKeys({
		'/': () => field.current?.select(),
		n: () => match(1),
		N: () => match(-1),
		i: () => onState({ mode: state.mode === 'icicle' ? 'flame' : 'icicle' }),
		k: () => onState({ colour: next(isDiff ? ['change', ...COLOURS] : COLOURS, state.colour) }),
		v: () => onState({ show: next(SHOWS, state.show) }),
		c: () => (node >= 0 ? void copyText(chosen!.facts.name(node)) : false),
		f: () => (onFocus ? withChosen(onFocus) : false),
		w: () => (isDiff ? onState({ widths: state.widths === 'now' ? 'before' : 'now' }) : false),
		s: () => canSandwich && withChosen(sandwich),
		h: () => withChosen(hide),
		Home: () => (isWhole() ? false : reset()),
		Escape: () => (state.sandwich ? sandwich(null) : false),
	});

	useLayoutEffect(() => {
		if (!state.sandwich)
			setChosen(null); // in graphs that are drawn for the first time
	}, [hasGraph, state.sandwich]);
	const hasTable = state.show !== 'graph';
	const zoomIn = ({ tree, labels }: Model) => (to: number) => onState({ zoom: idOf(tree, labels, to) }, true);
	const [whole, before] = isDrawn ? [models[0]!.tree.total[zoomed[0]!]!, models[0]!.tree.beforeTotal?.[zoomed[0]!] ?? 0] :
		[last.sum.total, (panes.length > 1 ? first.sum : first.before)?.total ?? 0];
	const graphOf = (i: number) => {
		const { title, answer } = panes[i]!;
		return (
			<section key={i} class="flame-pane">
				{title && <h3>{title}{panes.length > 1 && found[i] && <small> {found[i]}</small>}</h3>}
				<Graph model={models[i]!} unit={answer.unit} isIcicle={state.mode === 'icicle'}
					colours={colours[i]!} matches={matches[i]!} zoomed={zoomed[i]!} name={title || words.graph} hasMap
					onZoom={zoomIn(models[i]!)} onSelect={selectIn(i)}
					onMore={askMore}
					onHandle={(graph) => {
						graphs.current[i] = graph;
					}} />
			</section>
		);
	};

	return (
		<div class="flame-panel">
			<Tools state={state} isDiff={isDiff} found={found[0]!} error={query.error} field={field}
				onState={onState as (change: Partial<FlameState>) => void} onMatch={match} onReset={reset} />
			{props.hasCrumbs && <Crumbs model={models[0]!} zoomed={zoomed[0]!} onZoom={zoomIn(models[0]!)} />}
			<div class={`flame-views flame-show-${state.show}`}>
				{hasTable && <Table functions={searched?.answer?.functions ?? functions}
					found={searched?.answer?.functions_found ?? null} unit={last.unit} whole={whole}
					before={before} isDiff={hasBefore} sort={state.sort}
					test={marked ? null : query.test} marked={marked} isHidden={isHidden}
					onSort={(sort) => onState({ sort })} onChoose={search}
					onHide={hide} onFocus={onFocus ?? null} onSandwich={canSandwich ? sandwich : null} />}
				{state.sandwich && canSandwich ? <Sandwich of={state.sandwich} answer={props.sandwich} whole={last.sum.total}
					unit={last.unit} colour={state.colour} theme={theme} isHidden={isHidden}
					test={marked === safe(state.sandwich.name) ? null : query.test}
					onSelect={selectIn(0)} onClose={() => sandwich(null)} /> :
					hasGraph && <div class="flame-panes">{panes.map((_, i) => graphOf(i))}</div>}
			</div>
			{(hasGraph || state.sandwich) && <footer class="flame-foot">
				<Legend model={models[0]!} colours={colours[0]!} />
				<FrameBar facts={chosen?.facts ?? null} node={node} zoomed={chosen?.zoomed ?? 0}
					onFocus={onFocus ?? null} onSandwich={canSandwich ? sandwich : null} onHide={hide}
					onDetails={onDetails ? () => onDetails(chosen!.facts.details(node, chosen!.pane)) : null} />
			</footer>}
		</div>
	);
}
