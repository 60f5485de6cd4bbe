// SPDX-License-Identifier: Apache-2.0
// FlamePanel alone on a page, with made profiles and nothing else: for tests/e2e/page/test_flame.py and
// bench/page, which drive it by `stage`.
import { render } from 'preact';
import { useState } from 'preact/hooks';
import type { FlameAnswer, SandwichAnswer } from '../src/api/answers';
import { FLAME_DEFAULTS, type FlameState, type FrameDetails, type FunctionName, type Pane, type Theme }
	from '../src/flame/contract';
import { FlamePanel } from '../src/flame/FlamePanel';
import { listenToKeys } from '../src/parts/keys';
import '../src/style/base.css';
import { answerOf, functionsOf, inOrder, madeAnswer } from './made';

interface Shown {
	panes: Pane[];
	theme: Theme;
	sandwich: SandwichAnswer | null;
}

let show: (shown: Shown, state: FlameState) => void;
let update: (pane: Pane) => void;

const stage = {
	made: (size: number, options = {}) => inOrder(madeAnswer(size, options)),
	written: answerOf,
	state: FLAME_DEFAULTS,
	/** the changes that were told to be steps */
	steps: 0,
	focused: null as FunctionName | null,
	details: null as FrameDetails | null,
	/** Another answer to the same question, as in live mode. */
	update(answer: FlameAnswer) {
		update({ title: '', answer });
	},
	/** Shows one answer, or two beside each other. */
	show(answers: FlameAnswer[], state: Partial<FlameState> = {}, theme: Theme = 'light',
		sandwich: SandwichAnswer | null = null) {
		const panes = answers.map((answer, i) => ({ title: answers.length > 1 ? `side ${i + 1}` : '', answer }));
		document.documentElement.classList.toggle('dark', theme === 'dark');
		stage.state = { ...FLAME_DEFAULTS, ...state };
		show({ panes, theme, sandwich }, stage.state);
	},
};

function Stage() {
	const [shown, setShown] = useState<Shown | null>(null);
	const [state, setState] = useState(FLAME_DEFAULTS);

	show = (next, first) => {
		setShown(next);
		setState(first);
	};
	update = (pane) => setShown((before) => before && { ...before, panes: [pane] });
	stage.state = state;
	if (!shown)
		return null;
	const { answer } = shown.panes[0]!;
	if (state.show !== 'graph')
		answer.functions ??= functionsOf(answer);
	return (
		<FlamePanel panes={shown.panes} functions={answer.functions ?? null}
			sandwich={shown.sandwich} state={state} theme={shown.theme}
			onState={(change, isStep) => {
				stage.steps += Number(isStep ?? false);
				setState((before) => ({ ...before, ...change }));
			}}
			onDetails={(details, isNewer) => {
				if (!isNewer)
					stage.details = details;
			}}
			onFocus={(name) => {
				stage.focused = name;
			}} />
	);
}

Object.assign(window, { stage });
listenToKeys();
render(<Stage />, document.body);
