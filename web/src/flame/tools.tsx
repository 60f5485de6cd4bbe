// SPDX-License-Identifier: Apache-2.0
// What stands above the graph: the search, and how the profile is shown.
import { type RefObject } from 'preact';
import { flameText as words } from '../text/flame';
import type { Colouring, FlameState, Mode, Show, Widths } from './contract';

interface ToolsProps {
	state: FlameState;
	isDiff: boolean;
	/** Words for what a search found; error: why it is none. */
	found: string;
	error: string;
	field: RefObject<HTMLInputElement | null>;
	onState(change: Partial<FlameState>, isStep?: boolean): void;
	onMatch(step: number): void;
	onReset(): void;
}

export function Tools(props: ToolsProps) {
	const { state, isDiff, onState } = props;
	const colours: Colouring[] = [...(isDiff ? ['change' as const] : []), 'kind', 'image', 'language'];

	return (
		<div class="flame-tools">
			<Search {...props} />
			<div class="flame-choices">
				<Choice name={words.show} hint="v" all={['table', 'both', 'graph'] as Show[]} chosen={state.show}
					wordOf={(show) => words.shows[show]} onChoose={(show) => onState({ show })} />
				<Choice name={words.mode} hint="i" all={['icicle', 'flame'] as Mode[]} chosen={state.mode}
					wordOf={(mode) => words.modes[mode]} onChoose={(mode) => onState({ mode })} />
				{isDiff && <Choice name={words.widths} hint="w" all={['now', 'before'] as Widths[]} chosen={state.widths}
					wordOf={(side) => words.sides[side]} onChoose={(widths) => onState({ widths })} />}
				<label class="flame-colours" title="k">
					{words.colour}
					<select value={colours.includes(state.colour) ? state.colour : 'kind'}
						onChange={(event) => onState({ colour: event.currentTarget.value as Colouring })}>
						{colours.map((colour) => <option key={colour} value={colour}>{words.colours[colour]}</option>)}
					</select>
				</label>
				<button title={`${words.resetHint} (Home)`} onClick={props.onReset}>
					{words.reset}
				</button>
			</div>
			{state.hide.length > 0 && <Hidden {...props} />}
		</div>
	);
}

function Search({ state, found, error, field, onState, onMatch }: ToolsProps) {
	function onKey(event: KeyboardEvent): void {
		if (event.key === 'Enter') {
			onMatch(event.shiftKey ? -1 : 1);
		} else if (event.key === 'Escape') {
			onState({ search: '' });
			field.current!.blur();
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	return (
		<div class="flame-search" role="search">
			<input ref={field} type="search" value={state.search} placeholder={words.search} aria-label={words.search}
				title={words.searchHint} autocomplete="off" spellcheck={false} aria-invalid={error !== ''}
				onInput={(event) => onState({ search: event.currentTarget.value })} onKeyDown={onKey} />
			<button aria-pressed={state.isRegex} title={words.regex} aria-label={words.regex}
				onClick={() => onState({ isRegex: !state.isRegex })}>.*</button>
			<button class="flame-step" title={`${words.previous} (N)`} aria-label={words.previous} disabled={!found}
				onClick={() => onMatch(-1)}>{'\u2191'}</button>
			<button class="flame-step" title={`${words.next} (n)`} aria-label={words.next} disabled={!found}
				onClick={() => onMatch(1)}>{'\u2193'}</button>
			<output class={error ? 'flame-wrong' : ''} title={error}>{error ? words.notRegex : found}</output>
		</div>
	);
}

/** One of a few, side by side. */
function Choice<T extends string>({ name, hint, all, chosen, wordOf, onChoose }: {
	name: string; hint: string; all: T[]; chosen: T; wordOf(one: T): string; onChoose(one: T): void;
}) {
	return (
		<div class="flame-choice" role="group" aria-label={name} title={`${name} (${hint})`}>
			{all.map((one) => (
				<button key={one} aria-pressed={one === chosen} onClick={() => onChoose(one)}>{wordOf(one)}</button>
			))}
		</div>
	);
}

/** The frames that are left out; each can come back. */
function Hidden({ state, onState }: ToolsProps) {
	return (
		<div class="flame-hidden" role="group" aria-label={words.hidden}>
			<span>{words.hidden}</span>
			{state.hide.map((pattern) => (
				<button key={pattern} title={words.showAgain} aria-label={`${words.showAgain}: ${pattern}`}
					onClick={() => onState({ hide: state.hide.filter((other) => other !== pattern) }, true)}>
					<bdi>{pattern}</bdi> {'\u00d7'}
				</button>
			))}
		</div>
	);
}
