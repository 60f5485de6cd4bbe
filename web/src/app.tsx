// SPDX-License-Identifier: Apache-2.0
// The frame around the views.
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SeriesAnswer, Status } from './api/answers';
import { askOf, hasToken } from './api/client';
import { type Failure, failures, useAnswer } from './api/use_answer';
import { lengthOfTime, safe } from './format';
import { isHere } from './parts/click';
import { copyText } from './parts/copy';
import { Cost } from './parts/cost';
import { Help, TokenPrompt } from './parts/dialogs';
import { useKeys } from './parts/keys';
import { Answers, Notice } from './parts/notice';
import { NothingFilmed } from './parts/nothing';
import { RangeBar } from './parts/range_bar';
import { requestsEvent, shapeFor, slicesEvent, typeOf } from './state/events';
import { NO_LINK, type ViewName, writeLink } from './state/link';
import { eventOfLink, filmed, lastingLink, type Page, PageContext, rangeOfLink, spanOfLink, toView, useBeat, useLink,
	usePage, viewOfLink, viewsOf } from './state/page';
import { clockOf, liveBeat } from './state/range';
import { useTheme } from './state/theme';
import { text } from './text/text';
import { Later } from './views/later';
import { Overview } from './views/overview';
import { Profile } from './views/profile';

const STATUS_BEAT = 10000; // ms
const SERIES = 5000;
const UNREACHABLE = 0; // of a failure

const SHOWN: Record<ViewName, () => ComponentChildren> = {
	overview: () => <Overview />,
	timeline: () => <Later name="Timeline" />,
	requests: () => <Later name="Requests" />,
	calls: () => <Later name="Calls" />,
	profile: () => <Profile />,
	compare: () => <Later name="Compare" />,
};

/** A fault of the page itself is said, not a blank page. */
class Guard extends Component<{ children: ComponentChildren }, { fault: string }> {
	override state = { fault: '' };

	override componentDidCatch(fault: unknown): void {
		console.error(fault);
		this.setState({ fault: String(fault) });
	}
	override render() {
		if (!this.state.fault)
			return this.props.children;
		return <Notice title={text.notice.broken} isError>
			<span class="why">{safe(this.state.fault)}</span>
			<button type="button" onClick={() => location.assign(location.pathname)}>{text.notice.again}</button>
		</Notice>;
	}
}

/** How often the server has begun to answer again. */
function useReturns(isUnreachable: boolean): number {
	const returns = useRef({ wasUnreachable: false, count: 0 });
	if (returns.current.wasUnreachable && !isUnreachable)
		returns.current.count++;
	returns.current.wasUnreachable = isUnreachable;
	return returns.current.count;
}

export function App() {
	const [address, go] = useLink();
	const [theme, toggleTheme] = useTheme();
	const [dialog, setDialog] = useState<'' | 'help' | 'token'>('');
	const status = useAnswer<Status>('status', new URLSearchParams(), useBeat(true, STATUS_BEAT));
	const event = eventOfLink(address, status.answer);
	const link = { ...address, event, view: viewOfLink(address, event, status.answer),
		shape: shapeFor(status.answer, event, address.shape) };
	const range = rangeOfLink(link, status.answer);
	const span = spanOfLink(link, status.answer);
	const isFollowed = !status.answer?.one_film || status.answer.growing;
	// once a film is complete, all is asked for again
	const isUnreachable = status.error?.status === UNREACHABLE;
	const beat = useBeat(address.isLive && isFollowed, liveBeat(span)) + (isFollowed ? 0 : 1) + useReturns(isUnreachable);
	const series = useAnswer<SeriesAnswer>(status.answer && 'series',
		askOf(link.event, range, NO_LINK.filters, { limit: SERIES }));
	const page: Page = {
		link, go, theme, beat, range, isUnreachable,
		status: status.answer,
		event: typeOf(status.answer, event),
		series: series.answer?.series ?? [],
		isCut: (series.answer?.others ?? 0) > 0,
		span,
	};

	const again = useRef(status.again);
	again.current = status.again;
	const isAsked = useRef(false); // until it answers again
	isAsked.current &&= status.error !== null || status.isLoading;
	useEffect(() => {
		const hear = (event: Event) => {
			const { error } = event as Failure;
			if (error.status === 401)
				setDialog('token');
			if (error.status === UNREACHABLE && !isAsked.current) { // the status says so for all
				isAsked.current = true;
				again.current();
			}
		};
		failures.addEventListener('failure', hear);
		return () => failures.removeEventListener('failure', hear);
	}, []);
	useEffect(() => {
		const what = [link.filters.service, text.views[link.view], status.answer?.host];
		document.title = `${what.filter(Boolean).map((word) => safe(word!)).join(' \u00b7 ')} \u2013 stackcam`;
	}, [address, status.answer?.host]);
	const wasOpened = useRef(location.search !== '');
	useEffect(() => { // a film of the timeline opens with it
		if (status.answer && !wasOpened.current && status.answer.one_film && slicesEvent(status.answer))
			go({ view: 'timeline' }, false);
		wasOpened.current ||= status.answer !== null;
	}, [status.answer]);
	const view = (name: ViewName) => () => go(toView(name, link, status.answer));
	useKeys({
		'?': () => setDialog('help'),
		T: toggleTheme,
		I: () => slicesEvent(status.answer) ? view('timeline')() : false,
		R: () => requestsEvent(status.answer) ? view('requests')() : false,
		O: view('overview'), P: view('profile'), C: view('compare'),
	});

	return <PageContext.Provider value={page}>
		<a class="skip" href="#content">{text.top.skip}</a>
		<Header onTheme={toggleTheme} onHelp={() => setDialog('help')} />
		{status.answer?.cut_off && <CutOff status={status.answer} />}
		{status.answer?.growing && !address.isLive && <p class="cut-off" role="status">{text.notice.growing}</p>}
		<Guard>
			<Answers asked={[status]} isSilent isOfPage>
				{status.answer && (filmed(status.answer) ? SHOWN[link.view]() :
					<main id="content"><NothingFilmed /></main>)}
			</Answers>
		</Guard>
		{status.answer && <Cost status={status.answer} />}
		{dialog === 'help' && <Help onClose={() => setDialog('')} />}
		{dialog === 'token' && <TokenPrompt isWrong={hasToken()} onClose={() => setDialog('')} />}
	</PageContext.Provider>;
}

/** Of a film whose recorder did not come to its end. */
function CutOff({ status }: { status: Status }) {
	const span = filmed(status);
	return span && <p class="cut-off" role="status">{text.notice.cutOff(clockOf(span.to), lengthOfTime((span.to - span.from) * 1e9))}</p>;
}

function Header({ onTheme, onHelp }: { onTheme(): void; onHelp(): void }) {
	const { link, go, status, theme } = usePage();
	const open = (event: MouseEvent, view: ViewName) => {
		if (!isHere(event))
			return;
		event.preventDefault();
		go(toView(view, link, status));
	};
	return <header class="top">
		<h1 class="brand">stackcam</h1>
		<span class="host" title={status ? safe(status.host) : ''}>{status ? safe(status.host) : ''}</span>
		<nav>
			{viewsOf(status).map((view) => <a key={view} id={`to-${view}`} aria-current={link.view === view ? 'page' : undefined}
				href={writeLink({ ...link, ...toView(view, link, status) }) || '?'} onClick={(event) => open(event, view)}>{text.views[view]}</a>)}
		</nav>
		<RangeBar />
		<div class="row end">
			<CopyLink />
			<button type="button" id="theme" class="quiet icon" aria-label={text.top.theme} title={text.top.theme}
				onClick={onTheme}>{theme === 'dark' ? '☀' : '☾'}</button>
			<button type="button" id="help" class="quiet icon" aria-label={text.top.help} title={text.top.help}
				onClick={onHelp}>?</button>
		</div>
	</header>;
}

const COPIED_SHOWN = 1500; // ms

function CopyLink() {
	const { link, span } = usePage();
	const [said, setSaid] = useState('');
	const copy = async () => {
		setSaid(await copyText(lastingLink(link, span)) ? text.top.copied : text.top.notCopied);
		setTimeout(setSaid, COPIED_SHOWN, '');
	};
	useKeys({ S: () => void copy() });
	return <button type="button" id="copy-link" title={text.top.copyLinkHint} onClick={copy}>
		{said || text.top.copyLink}</button>;
}
