// SPDX-License-Identifier: Apache-2.0
// The page of one flame graph that `report --format html` writes: the profile of the other page, and nothing that
// would need a server.
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { FLAME_DEFAULTS, type FlameState, type Theme } from '../flame/contract';
import { FlamePanel } from '../flame/FlamePanel';
import { count, formatOf, safe } from '../format';
import { Dialog, KeyList } from '../parts/dialog';
import { listenToKeys, useKeys } from '../parts/keys';
import '../style/base.css';
import { flameText as words } from '../text/flame';
import { language } from '../text/language';
import { answerOf, type Written } from './answer';
import './offline.css';

const written: Written = JSON.parse(document.getElementById('data')!.textContent!);
const answer = answerOf(written);
const panes = [{ title: '', answer }];
const isDiff = answer.before !== undefined;
const BEGIN: FlameState = { ...FLAME_DEFAULTS, show: 'graph', mode: 'flame', colour: isDiff ? 'change' : 'kind' };

const system = matchMedia('(prefers-color-scheme: dark)');

/** The system's until the reader chooses another; light on paper. */
function useTheme(): [Theme, () => void] {
	const [isDark, setDark] = useState(system.matches);
	const [isPrinted, setPrinted] = useState(false);
	const theme = isDark && !isPrinted ? 'dark' : 'light';

	useEffect(() => {
		system.addEventListener('change', () => setDark(system.matches));
		addEventListener('beforeprint', () => setPrinted(true));
		addEventListener('afterprint', () => setPrinted(false));
	}, []);
	document.documentElement.classList.toggle('dark', theme === 'dark');
	return [theme, () => setDark(!isDark)];
}

/** The state, and those before its steps. */
function useSteps() {
	const [state, setState] = useState(BEGIN);
	const [before, setBefore] = useState<FlameState[]>([]);

	return {
		state,
		canBack: before.length > 0,
		change(part: Partial<FlameState>, isStep = false): void {
			if (isStep)
				setBefore([...before, state]);
			setState({ ...state, ...part });
		},
		back(): void {
			const last = before[before.length - 1];
			if (!last)
				return;
			setBefore(before.slice(0, -1));
			setState({ ...state, zoom: last.zoom, hide: last.hide });
		},
	};
}

function summary(): string {
	const { nodes } = answer;
	return [words.totalOf(safe(written.event), formatOf(answer.unit)(answer.sum.total)),
		words.frames(count(nodes.parent.length)), words.levels(count(written.levels.length))].join(' \u00b7 ');
}

/** This page has no keys for what needs a server. */
const KEYS = words.keys.filter(([key]) => key !== 'f' && key !== 's');

function Page() {
	const { state, canBack, change, back } = useSteps();
	const [theme, toggleTheme] = useTheme();
	const [hasHelp, setHelp] = useState(false);
	const line = useMemo(summary, []);

	useKeys({
		Backspace: back,
		T: toggleTheme,
		'?': () => setHelp(true),
	});
	return <>
		<header class="offline-top">
			<div>
				<h1>{safe(document.title)}</h1>
				<p id="summary" class="hint">{line}</p>
			</div>
			<div class="row end">
				<button type="button" id="back" disabled={!canBack} title={words.backHint} onClick={back}>{words.back}</button>
				<button type="button" id="theme" class="quiet icon" aria-label={words.theme} title={words.theme}
					onClick={toggleTheme}>{theme === 'dark' ? '\u2600' : '\u263e'}</button>
				<button type="button" id="help" class="quiet icon" aria-label={words.help} title={words.help}
					onClick={() => setHelp(true)}>?</button>
			</div>
		</header>
		<main>
			<FlamePanel panes={panes} functions={state.show === 'graph' ? null : 'drawn'} sandwich={null} state={state}
				theme={theme} hasCrumbs onState={change} />
		</main>
		{hasHelp && <Dialog id="help-dialog" title={words.keysTitle} onClose={() => setHelp(false)}>
			<KeyList title={words.graph} keys={[...KEYS, ...words.offlineKeys]} />
			<p>{words.searchHint}</p>
			<form method="dialog"><button type="submit" class="primary">{words.close}</button></form>
		</Dialog>}
	</>;
}

document.documentElement.lang = language;
listenToKeys();
render(<Page />, document.body);
