// SPDX-License-Identifier: Apache-2.0
// The seam between the page (views/, which asks the server and keeps the link) and what draws
// profiles (this folder). FlamePanel is all that the page uses of this folder:
//
//	<FlamePanel panes={[{ title: '', answer }]} functions={…} state={…} onState={…} … />
//
// What is drawn follows from the properties alone: the panel keeps nothing that a link should
// restore. Names in answers are hostile: they become text nodes or canvas text, after safe().
import type { FlameAnswer, FunctionRow, SandwichAnswer, SearchAnswer } from '../api/answers';

export type { FlameAnswer, FunctionRow, SandwichAnswer, SearchAnswer } from '../api/answers';

export type Theme = 'light' | 'dark';
export type Show = 'table' | 'both' | 'graph';
/** icicle: the root is at the top. */
export type Mode = 'icicle' | 'flame';
/** change: only where there are two sides. */
export type Colouring = 'image' | 'kind' | 'language' | 'change';
export type Sorting = 'self' | 'total' | 'change' | 'name';
/** Of a comparison: which side is drawn as widths. */
export type Widths = 'now' | 'before';

/** A function as the API names it. */
export interface FunctionName {
	name: string;
	image: string;
}

/** A frame that the user looks at. Values are in the event's unit. */
export interface FrameDetails extends FunctionName {
	kind: string;
	file?: string;
	line?: number;
	self: number;
	total: number;
	/** of the whole answer */
	whole: number;
	/** names from the root down to this frame */
	path: string[];
	/** which of the panes it is in */
	pane: number;
}

/** What of the panel belongs into the link. */
export interface FlameState {
	show: Show;
	mode: Mode;
	colour: Colouring;
	search: string;
	isRegex: boolean;
	/**
	 * '' for the root, or what stands for the path of names down to a node, at most 20 characters of
	 * [0-9a-z]: found again in another answer that has the same path, else ignored.
	 */
	zoom: string;
	/** Frames that are left out, their callees move up: "image:libc*" or a part of a name. */
	hide: string[];
	sort: Sorting;
	widths: Widths;
	/** The function whose callers and callees are shown in place of the graph. */
	sandwich: FunctionName | null;
}

export const FLAME_DEFAULTS: FlameState = {
	show: 'both',
	mode: 'icicle',
	colour: 'kind',
	search: '',
	isRegex: false,
	zoom: '',
	hide: [],
	sort: 'self',
	widths: 'now',
	sandwich: null,
};

export interface Pane {
	/** '' where there is one. */
	title: string;
	answer: FlameAnswer;
}

/** A search in all of a profile. */
export interface Searched {
	/** Null: not here yet, or failed. */
	answer: SearchAnswer | null;
	/** Why it failed; '': it did not. */
	error: string;
}

export interface FlamePanelProps {
	/** One, or two beside each other that share the state. A comparison is one with before_total. */
	panes: Pane[];
	/**
	 * Null: not here yet, or failed. Exact, where the graph is pruned. 'drawn': those of what is drawn and zoomed to,
	 * counted here.
	 */
	functions: FunctionRow[] | 'drawn' | null;
	/** Of state.sandwich; null: none, or not here yet. */
	sandwich: SandwichAnswer | null;
	state: FlameState;
	theme: Theme;
	/** What the search finds in all of each pane, where the graph has only a part; null: the graph has all. */
	searched?: (Searched | null)[];
	/** The same of the functions; null: they are all there. */
	searchedFunctions?: Searched | null;
	/** A step that "back" undoes (a zoom, a sandwich) is pushed, small changes are not. */
	onState(change: Partial<FlameState>, isStep?: boolean): void;
	/** Whether the way to the zoomed frame stands above the graph. */
	hasCrumbs?: boolean;
	/**
	 * Asks for a panel with all that is known of a frame; null closes it. isNewer: the selected frame in a newer
	 * answer, for a panel that shows it already. Without it, and without onFocus, there is no server: what would need
	 * one is not offered.
	 */
	onDetails?: ((frame: FrameDetails | null, isNewer?: boolean) => void) | undefined;
	/** Asks the server again for only those stacks that have this function in them. */
	onFocus?: ((name: FunctionName) => void) | undefined;
}

// The page of serve and play and that of `report --format html` (../offline/) both show it. The colours are those of
// ../../../src/show/palette.json (palette.c has four shades of each, 9 % apart); the words are in ../text/flame_en.ts
// and flame_zh.ts; the keys are taken by useKeys (../parts/keys.ts).
