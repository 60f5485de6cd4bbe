// SPDX-License-Identifier: Apache-2.0
// Two ranges, services, versions or label sets: as one red and blue graph, or beside each other.
import { useMemo } from 'preact/hooks';
import type { FlameAnswer, Mark, SeriesRow, Sum } from '../api/answers';
import { profileAsk, withBefore } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FlameState } from '../flame/contract';
import { FlamePanel } from '../flame/FlamePanel';
import { count, isMuch, percent, relative, signed } from '../format';
import { AskBar, itemsOf, LabelChoice, SeriesChoice } from '../parts/ask_bar';
import { Changed } from '../parts/changed';
import { Details, exactly, useDetails } from '../parts/details';
import { ExportMenu } from '../parts/export_menu';
import { wordsOfPart } from '../parts/losses';
import { besideMark } from '../parts/flags';
import { useMarks, wordsOf } from '../parts/marks';
import { Dropdown } from '../parts/menu';
import { Answers } from '../parts/notice';
import { NothingFilmed } from '../parts/nothing';
import { CustomRange } from '../parts/range_bar';
import { Sides } from '../parts/sides';
import { useSearch } from '../parts/use_search';
import { Missing } from '../parts/missing';
import { amountOf, averageOf, rateOf, sinceOf, untilOf } from '../parts/units';
import { type Filters, type Side, sideOf } from '../state/link';
import { filmed, type Page, usePage } from '../state/page';
import { lengthOf, lengthText, type Range, rangeBefore, rangeOf, secondsOf, spanOf, spanText, withBothEnds } from '../state/range';
import { text } from '../text/text';

const TEN_MINUTES = 600, HOUR = 3600, DAY = 86400; // seconds
const NODES = 20_000;
const FUNCTIONS = 1000;
const NO_SPAN = { from: 0, to: 0 };
const SAME = 0.00005; // is 0.00%

/** Both sides. Of a whole film, and of a store that is younger than the usual range, they are its halves. */
function sidesOf({ link, range, status }: Page): { now: Range; before: Side } {
	const whole = filmed(status);
	let now = range, previous;
	if (!link.range.from && whole && (!range.from || secondsOf(range.from, 0) > 0)) {
		const middle = (whole.from + whole.to) / 2;
		previous = rangeOf({ from: whole.from, to: middle });
		now = rangeOf({ from: middle, to: whole.to });
	} else {
		previous = rangeBefore(range, lengthOf(range));
	}
	return { now, before: link.before ? { ...link.before, range: withBothEnds(link.before.range) } : sideOf(previous, link.filters) };
}

/** In which order answers stand that need no comparison: "before" is a side as any other. */
const filtersOf = (filters: Filters, side: Side): Filters => ({ ...filters, ...sideOf(side.range, side) });

export function Compare() {
	const page = usePage();
	const { beat, theme, go } = page;
	// a comparison is not of one request
	const link = { ...page.link, ofRequest: '' };
	const { now, before } = sidesOf(page);
	const [frame, showFrame] = useDetails();
	const asked = useAnswer<FlameAnswer>('diff',
		withBefore(profileAsk(link, now, { nodes: NODES, functions: 1, limit: FUNCTIONS }), before), beat);
	const linkBefore = { ...link, filters: filtersOf(link.filters, before) };
	const left = useAnswer<FlameAnswer>(link.isBeside ? 'flame' : null, profileAsk(linkBefore, before.range, { nodes: NODES }), beat);
	const right = useAnswer<FlameAnswer>(link.isBeside ? 'flame' : null,
		profileAsk(link, now, { nodes: NODES }), beat);
	const { answer } = asked;
	const isCut = (side: FlameAnswer | null) => !!side && (side.hidden > 0 || (side.functions?.length ?? 0) >= FUNCTIONS);
	const searched = useSearch(isCut(answer), withBefore(profileAsk(link, now), before), link.flame, FUNCTIONS, beat);
	const searchedLeft = useSearch(isCut(left.answer), profileAsk(linkBefore, before.range), link.flame, 1, beat);
	const searchedRight = useSearch(isCut(right.answer), profileAsk(link, now), link.flame, 1, beat);
	const state: FlameState = { ...link.flame, sandwich: null, sort: link.changeSort,
		colour: link.isBeside ? link.flame.colour : link.changeColour };
	const change = ({ colour, sort, ...part }: Partial<FlameState>, isStep = false) => go({
		...(sort ? { changeSort: sort } : {}),
		flame: { ...link.flame, ...part, ...(colour && link.isBeside ? { colour } : {}) },
		...(colour && !link.isBeside ? { changeColour: colour } : {}),
	}, isStep);
	const panes = useMemo(() => {
		if (!link.isBeside)
			return answer && [{ title: '', answer }];
		return left.answer && right.answer && [
			{ title: text.compare.before, answer: left.answer },
			{ title: text.compare.now, answer: right.answer },
		];
	}, [answer, left.answer, right.answer, link.isBeside]);
	const beforeFilters = filtersOf(link.filters, before);
	const isNothing = answer && answer.sum.total === 0 && !answer.before?.total;

	return <main id="content" class="compare">
		<h2 class="unseen">{text.views.compare}</h2>
		<AskBar title={text.compare.now} hasShape />
		<BeforeBar now={now} before={before} />
		<Sides now={now} before={before} beforeFilters={beforeFilters}
			onNow={(range) => go({ range, isLive: false, before })}
			onBefore={(range) => go({ before: { ...before, range }, range: now, isLive: false })} />
		<Answers asked={[asked, left, right]} isSilent={link.isLive}>
			{isNothing && <NothingFilmed sum={answer.sum} />}
			{answer?.before && !isNothing && <div class="row spread">
				<Sums now={answer.sum} before={answer.before} isBeside={link.isBeside} />
				<ExportMenu ask={withBefore(profileAsk(link, now), before)} />
			</div>}
			{answer && !isNothing && <Changed now={now} before={before} beforeFilters={beforeFilters} />}
			{panes && !isNothing && <div class="graph-area">
				<FlamePanel panes={panes} functions={answer?.functions ?? null} sandwich={null} state={state}
					searched={link.isBeside ? [searchedLeft, searchedRight] : [searched]} searchedFunctions={searched}
					theme={theme} onState={change} onDetails={showFrame}
					onFocus={({ name }) => go({ filters: { ...link.filters, focus: exactly(name) } })} />
				{frame && <Details frame={frame} unit={panes[0]!.answer.unit} whole={null} steps={0}
					side={link.isBeside && frame.pane === 0 ?
						{ name: text.compare.before, range: before.range, filters: filtersOf(link.filters, before) } :
						{ name: text.compare.now, range: now, filters: link.filters }}
					onClose={() => showFrame(null)} />}
			</div>}
		</Answers>
	</main>;
}

/** The version that is looked at, or has the most, and the largest other one of the same service; null: there is none. */
function versionsOf(series: SeriesRow[], filters: Filters): { now: string; before: string } | null {
	const of = series.filter(({ service, host }) => (!filters.service || service === filters.service) &&
		(!filters.host || host === filters.host));
	const names = itemsOf(of, ({ version }) => [version]).map(({ value }) => value);
	const now = filters.version || names[0];
	const before = names.find((name) => name !== now);
	// of several services, versions are no two of the same
	const isOne = filters.service !== '' || new Set(of.map(({ service }) => service)).size === 1;
	return isOne && now && before ? { now, before } : null;
}

/** What is compared with, and its usual choices. */
function BeforeBar({ now, before }: { now: Range; before: Side }) {
	const { link, go, range, status, series } = usePage();
	const isFilm = status?.one_film;
	const words = text.compare;
	const span = spanOf(before.range, Date.now() / 1000);
	const change = (part: Partial<Side>) => go({ before: { ...before, ...part } });
	const versions = versionsOf(series, link.filters);
	const at = useMemo(() => spanOf(now, Date.now() / 1000), [now.from, now.to]);
	const last = useMarks(at ?? NO_SPAN).marks.reduce<Mark | null>((later, mark) => (later && later.time > mark.time ? later : mark), null);
	const back = (seconds: number) => go({ before: sideOf(rangeBefore(now, seconds), link.filters) });
	const swap = () => go({
		range: before.range,
		filters: filtersOf(link.filters, before),
		before: sideOf(now, link.filters),
		isLive: false,
	});

	return <div class="ask before">
		<strong>{words.before}</strong>
		<Dropdown name="before-range" label={span ? spanText(span) : text.range.custom} title={words.edit}>
			{(close) => <CustomRange span={span} onRange={(range) => {
				close();
				change({ range });
			}} />}
		</Dropdown>
		<SeriesChoice prefix="before_" chosen={before} onChange={change} />
		<LabelChoice prefix="before_" labels={before.labels} onChange={(labels) => change({ labels })} />
		<div class="segments" role="group" aria-label={words.presets}>
			<button type="button" id="previous" aria-pressed={link.before === null}
				onClick={() => go({ before: null })}>{isFilm && !range.from ? words.halves : words.previous}</button>
			{!isFilm && <>
				<button type="button" id="ten-minutes" onClick={() => back(TEN_MINUTES)}>{words.tenMinutes}</button>
				<button type="button" id="hour" onClick={() => back(HOUR)}>{words.hour}</button>
				<button type="button" id="yesterday" onClick={() => back(DAY)}>{words.yesterday}</button>
				<button type="button" id="last-week" onClick={() => back(7 * DAY)}>{words.lastWeek}</button>
			</>}
			{last && at && <button type="button" id="last-mark" title={wordsOf(last)} onClick={() => {
				const { now: after, before: until } = besideMark(last, at.to);
				go({ range: rangeOf(after), isLive: false, before: sideOf(rangeOf(until), link.filters) });
			}}>{words.lastMark}</button>}
			{versions && <button type="button" id="other-version" title={words.otherVersionHint(versions.before, versions.now)}
				onClick={() => go({ filters: { ...link.filters, version: versions.now },
					before: sideOf(now, { ...link.filters, version: versions.before }) })}>{words.otherVersion}</button>}
		</div>
		<button type="button" id="swap" onClick={swap}>{words.swap}</button>
		<div class="segments end" role="group">
			<button type="button" id="one" aria-pressed={!link.isBeside}
				onClick={() => go({ isBeside: false })}>{words.one}</button>
			<button type="button" id="beside" aria-pressed={link.isBeside}
				onClick={() => go({ isBeside: true })}>{words.beside}</button>
		</div>
	</div>;
}

/** Whether a side has filters that may leave nothing. */
const isFiltered = (side: Omit<Side, 'range'> | null) =>
	!!side && !!(side.host || side.service || side.version || side.labels.length);

const lostOf = (sum: Sum) => sum.lost_samples + sum.truncated;

/** Both sides in numbers; per second, as the ranges may have other lengths. */
function Sums({ now, before, isBeside }: { now: Sum; before: Sum; isBeside: boolean }) {
	const words = text.compare;
	const { event, link } = usePage();
	const format = amountOf(event, Math.max(now.total, before.total));
	const { format: formatRate } = rateOf(event);
	const rates = [before, now].map((sum) => averageOf({ sum }, sum.total, event));
	const change = rates[0]! > 0 ? rates[1]! / rates[0]! - 1 : NaN;
	const row = (name: string, sum: Sum, rate: number) => <tr>
		<th>{name}</th>
		<td class="text">{spanText({ from: sinceOf(sum), to: untilOf(sum) })} <Missing sum={sum} /></td>
		<td class="less">{lengthText(untilOf(sum) - sinceOf(sum))}</td>
		<td>{format(sum.total)}</td>
		<td>{formatRate(rate)}</td>
		<td class="less">{sum.by_paths ? text.profile.byPaths : text.profile.counted(count(sum.samples), event.noun)}</td>
		<td class={isMuch(lostOf(sum), sum.samples + sum.lost_samples) ? 'less warn' : 'less'}>{wordsOfPart(sum)}</td>
	</tr>;
	return <div class="sums">
		<div class="wide" tabIndex={0} role="region" aria-label={words.sums}><table class="numbers">
			<tbody>
				{row(words.before, before, rates[0]!)}
				{row(words.now, now, rates[1]!)}
			</tbody>
		</table></div>
		<div>
			{Number.isFinite(change) && <p>{words.rate}: {' '}
				<b>{Math.abs(change) < SAME ? percent(0, 1) : relative(rates[0]!, rates[1]!)}</b>
				{', '}<b>{signed(rates[1]! - rates[0]!, formatRate)}</b></p>}
			{before.total === 0 && <p class="hint">{isFiltered(link.before) ? words.filtersLeaveNothing : words.nothingBefore}</p>}
			{now.total === 0 && isFiltered(link.filters) && <p class="hint">{words.nowLeavesNothing}</p>}
			{!isBeside && before.total > 0 && <p class="hint">{words.widths[link.flame.widths]}</p>}
		</div>
	</div>;
}

