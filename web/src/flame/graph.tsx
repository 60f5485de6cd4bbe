// SPDX-License-Identifier: Apache-2.0
// One graph with its map, tooltip and words for screen readers.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { flameText as words } from '../text/flame';
import type { Colours } from './colours';
import { Facts } from './facts';
import { idOf, nodeOf } from './ids';
import { listenToPointers } from './input';
import { Minimap } from './minimap';
import type { Model } from './model';
import type { Matches } from './search';
import { Tooltip, type Pointed } from './tooltip';
import { View, type Picture } from './view';
import { neighbour, STEPS } from './walk';

/** chosen: by click or Enter; kept: it is the one that was selected in the answer before. */
export type Selecting = 'went' | 'chosen' | 'kept';

export interface GraphProps {
	model: Model;
	unit: string;
	isIcicle: boolean;
	colours: Colours;
	matches: Matches | null;
	/** The node zoomed to. */
	zoomed: number;
	name: string; // of the graph, for screen readers
	hasMap: boolean;
	onZoom(node: number): void;
	/** The user went to a frame, -1: to none, or the one that was kept is gone. */
	onSelect(graph: GraphHandle, node: number, how: Selecting): void;
	/** "[smaller]" was chosen, which stands below node. */
	onMore(graph: GraphHandle, node: number): void;
	/** When the graph is there, and null when it goes. */
	onHandle?(graph: GraphHandle | null): void;
}

/** What others may ask of a graph. */
export interface GraphHandle {
	facts: Facts;
	view: View;
	/** Goes to the next (1) or the one before (-1) of what was found, the widest first. */
	nextMatch(step: number): void;
	/** Shows the whole. */
	reset(): void;
}

function useModel(props: GraphProps) {
	const { model, colours, matches, isIcicle, unit } = props;
	const { tree, labels } = model;
	const facts = useMemo(() => new Facts(tree, labels, unit), [model, unit]);
	const picture = useMemo<Picture>(() => ({ tree, labels, colours, matches, isIcicle }),
		[model, colours, matches, isIcicle]);

	return { facts, picture };
}

export function Graph(props: GraphProps) {
	const { model, colours, matches, zoomed, isIcicle } = props;
	const { facts, picture } = useModel(props);
	const scroller = useRef<HTMLDivElement>(null);
	const spacer = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [view, setView] = useState<View | null>(null);
	const [pointed, setPointed] = useState<Pointed | null>(null);
	const [spoken, setSpoken] = useState('');
	const at = useRef(-1); // of the matches by width
	const coming = useRef(-1); // a node to show, when what it is in has been zoomed to
	const shown = useRef(model);
	const now = useRef({ props, facts });
	now.current = { props, facts };

	const zoomTo = (node: number) => now.current.props.onZoom(node);
	const handle = (): GraphHandle =>
		({ get facts() { return now.current.facts; }, view: view!, nextMatch, reset });

	function select(node: number, how: Selecting = 'went'): void {
		view!.selected = node;
		view!.draw();
		setPointed(null);
		setSpoken(node < 0 ? '' : `${now.current.facts.name(node)}, ${now.current.facts.line(node, view!.zoomed)}`);
		now.current.props.onSelect(handle(), node, how);
	}

	function choose(node: number): void {
		const { facts: { tree, labels }, props: { onMore } } = now.current;
		const isSmaller = labels.isSmaller(tree.label[node]!);

		select(node, 'chosen');
		if (isSmaller)
			onMore(handle(), tree.parent[node]!);
		else
			enter(node);
	}

	/** Zooms; where the link has it already, the view goes back there. */
	function enter(node: number): void {
		if (!(now.current.facts.tree.width[node]! > 0))
			return;
		if (node === view!.zoomed)
			view!.zoom(node);
		else
			zoomTo(node);
	}

	function nextMatch(step: number): void {
		const found = now.current.props.matches?.byWidth() ?? [];
		if (!view || !found.length)
			return;
		at.current = at.current < 0 && step < 0 ? found.length - 1
			: (at.current + step + found.length) % found.length;
		const node = found[at.current]!;
		select(node);
		if (view.tree.isInside(node, view.zoomed)) {
			view.show(node);
		} else {
			coming.current = node;
			zoomTo(0);
		}
	}

	/** Another answer: what was selected stays so where it is in that one, too. */
	function takeModel(of: View): void {
		const before = shown.current;
		const id = of.selected >= 0 ? idOf(before.tree, before.labels, of.selected) : null;

		shown.current = model;
		of.update(picture, zoomed);
		if (id !== null) {
			of.selected = nodeOf(model.tree, model.labels, id);
			props.onSelect(handle(), of.selected, 'kept');
		}
	}

	useLayoutEffect(() => {
		const made = new View(scroller.current!, spacer.current!, canvas.current!, picture, zoomed);
		setView(made);
		return () => made.close();
	}, []);
	useLayoutEffect(() => {
		if (!view)
			return;
		if (view.tree !== model.tree)
			takeModel(view);
		else
			view.update(picture, zoomed);
		if (view.zoomed !== zoomed)
			view.zoom(zoomed, coming.current >= 0);
		if (coming.current >= 0)
			view.show(coming.current);
		coming.current = -1;
	}, [view, picture, zoomed]);
	useEffect(() => {
		at.current = -1;
	}, [matches]);
	useEffect(() => {
		if (!view)
			return;
		const ending = listenToPointers(view, {
			hover(node, x, y) {
				if (node !== view.hovered) {
					view.hovered = node;
					view.draw();
				}
				setPointed(node < 0 ? null : { node, x, y });
			},
			choose,
		});
		const hide = () => setPointed(null);
		view.scroller.addEventListener('scroll', hide);
		props.onHandle?.(handle());
		return () => {
			ending();
			view.scroller.removeEventListener('scroll', hide);
			props.onHandle?.(null);
		};
	}, [view]);

	function onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.metaKey || event.altKey || !view)
			return;
		if (onKeyOf(event.key))
			event.preventDefault();
	}

	function onKeyOf(key: string): boolean {
		const { tree } = model;
		const node = view!.selected;
		const step = STEPS[key];

		if (step) {
			const to = node < 0 ? view!.zoomed : neighbour(tree, node, step, isIcicle, view!.zoomed);
			select(to);
			view!.show(to);
		} else if (key === 'Enter') {
			if (node < 0)
				return false;
			choose(node);
		} else if (key === 'Escape') {
			return leave();
		} else if (key === 'Home') {
			reset();
		} else if (key === '+' || key === '-') {
			view!.zoomAround(view!.width / 2, key === '+' ? 1.5 : 1 / 1.5);
		} else {
			return false;
		}
		return true;
	}

	/** One step out: to where the link is, else to the parent. */
	function leave(): boolean {
		if (view!.isAside())
			view!.zoom(view!.zoomed);
		else if (view!.zoomed > 0)
			zoomTo(model.tree.parent[view!.zoomed]!);
		else if (view!.selected >= 0)
			select(-1);
		else
			return false;
		return true;
	}

	function reset(): void {
		select(-1);
		if (view!.zoomed > 0)
			zoomTo(0);
		else
			view!.zoom(0);
		view!.showRoot();
	}

	return (
		<div class="flame-graph">
			{props.hasMap &&
				<Minimap view={view} tree={model.tree} colours={colours} matches={matches} isIcicle={isIcicle} />}
			<div class="flame-scroller" ref={scroller}>
				<div ref={spacer}>
					<canvas ref={canvas} tabIndex={0} role="application" aria-label={props.name}
						aria-roledescription={words.graph} onKeyDown={onKey} />
				</div>
			</div>
			<div class="flame-spoken" role="status" aria-live="polite">{spoken}</div>
			{pointed && view && pointed.node < model.tree.size &&
				<Tooltip facts={facts} zoomed={view.zoomed} pointed={pointed} />}
			{!(model.tree.width[0]! > 0) && <p class="flame-empty">{words.empty}</p>}
		</div>
	);
}
