// SPDX-License-Identifier: Apache-2.0
// Which time is looked at.
import { useState } from 'preact/hooks';
import type { Page } from '../state/page';
import { usePage } from '../state/page';
import { fieldOf, isRelative, lengthText, PRESETS, type Range, rangeOf, scaled, secondsOfField, shifted,
	shortSpanText, type Span, spanText, USUAL_RANGE } from '../state/range';
import { setZone, type Zone, zone, zoneName } from '../state/zone';
import { text } from '../text/text';
import { useKeys } from './keys';
import { Dropdown } from './menu';

const ZONES: Zone[] = ['local', 'utc'];

/** What the bar's buttons and keys do. */
function rangeActions({ link, go, range: shown, span, status }: Page) {
	const show = (range: Range, isLive = false) => go({ range, isLive });
	const change = (next: (span: Span) => Span) => {
		if (span)
			show(rangeOf(next(span)));
	};
	return {
		preset: (from: string) => show({ from, to: 'now' }, link.isLive),
		earlier: () => change((at) => shifted(at, -1)),
		later: () => change((at) => shifted(at, 1)),
		longer: () => change((at) => scaled(at, 2)),
		shorter: () => change((at) => scaled(at, 0.5)),
		live: () => {
			if (status?.one_film) { // its range stays
				if (status.growing)
					go({ isLive: !link.isLive });
				return;
			}
			// of a store that is younger than the usual range, all that there is grows
			const isYoung = !link.range.from && shown.from !== USUAL_RANGE.from;
			const range = link.range.to === 'now' || isYoung ? link.range : USUAL_RANGE;
			go({ isLive: !link.isLive, range: link.isLive ? link.range : range });
		},
		whole: () => show({ from: '', to: '' }),
	};
}

export function RangeBar() {
	const page = usePage();
	const { link, range, span, status } = page;
	const actions = rangeActions(page);
	const isFilm = status?.one_film ?? false;
	const isPreset = (from: string) => range.to === 'now' && range.from === from;

	useKeys({
		...(isFilm ? {} : Object.fromEntries(PRESETS.map((from, i) =>
			[String(i + 1), () => actions.preset(from)]))),
		'[': actions.earlier, ']': actions.later, '-': actions.longer, '+': actions.shorter, '=': actions.shorter,
		L: actions.live,
	});
	const isCustom = range.from !== '' && !(isRelative(range) && PRESETS.some(isPreset));
	const isLast = isRelative(range) && range.to === 'now';
	const words = !span ? '' : isLast ? text.range.last(lengthText(span.to - span.from)) : spanText(span);
	const label = span && !isLast ? shortSpanText(span, Date.now() / 1000) : words;

	return <div class="range" role="group" aria-label={text.range.name}>
		{!isFilm && <select name="preset" value={isRelative(range) && PRESETS.some(isPreset) ? range.from : ''} aria-label={text.range.name}
			onChange={(event) => event.currentTarget.value && actions.preset(event.currentTarget.value)}>
			<option value="">…</option>
			{PRESETS.map((from) => <option key={from} value={from}>{text.range.presets[from]}</option>)}
		</select>}
		<div class="segments">
			{isFilm ? <button type="button" id="whole" aria-pressed={range.from === ''} onClick={actions.whole}>
				{text.range.whole}</button> :
				PRESETS.map((from) => <button type="button" key={from} data-range={from}
					aria-pressed={isPreset(from)} onClick={() => actions.preset(from)}>
					{text.range.presets[from]}</button>)}
			<Dropdown name="custom" label={isCustom && label ? label : text.range.custom}
				class={isCustom ? 'chosen' : ''} title={words}>
				{(close) => <CustomRange span={span} onRange={(next) => {
					close();
					page.go({ range: next, isLive: false });
				}} />}
			</Dropdown>
		</div>
		<div class="segments">
			<button type="button" id="earlier" title={text.range.earlier} aria-label={text.range.earlier}
				onClick={actions.earlier}>‹</button>
			<button type="button" id="longer" title={text.range.longer} aria-label={text.range.longer}
				onClick={actions.longer}>−</button>
			<button type="button" id="shorter" title={text.range.shorter} aria-label={text.range.shorter}
				onClick={actions.shorter}>+</button>
			<button type="button" id="later" title={text.range.later} aria-label={text.range.later}
				onClick={actions.later}>›</button>
		</div>
		<ZoneChoice at={span?.to ?? Date.now() / 1000} />
		{(!isFilm || status?.growing) && <button type="button" id="live" class="live" aria-pressed={link.isLive}
			title={text.range.liveHint} onClick={actions.live}>{text.range.live}</button>}
	</div>;
}

/** In which zone the page writes moments. */
function ZoneChoice({ at }: { at: number }) {
	return <select name="zone" value={zone} aria-label={text.range.zone} title={text.range.zone}
		onChange={(event) => setZone(event.currentTarget.value as Zone)}>
		{ZONES.map((one) => <option key={one} value={one}>
			{one === zone ? zoneName(at) : text.range.zones[one]}</option>)}
	</select>;
}

export function CustomRange({ span, onRange }: { span: Span | null; onRange(range: Range): void }) {
	const [from, setFrom] = useState(span ? fieldOf(span.from) : '');
	const [to, setTo] = useState(span ? fieldOf(span.to) : '');
	const [isWrong, setWrong] = useState(false);

	const submit = (event: Event) => {
		event.preventDefault();
		const next = { from: secondsOfField(from), to: secondsOfField(to) };
		if (next.to > next.from)
			onRange(rangeOf(next));
		else
			setWrong(true);
	};
	const field = (label: string, name: string, value: string, set: (value: string) => void) => <label>
		{label}
		<input type="datetime-local" step="1" name={name} value={value} required
			onInput={(event) => set(event.currentTarget.value)} />
	</label>;
	return <form class="form" onSubmit={submit}>
		{field(text.range.from, 'from', from, setFrom)}
		{field(text.range.to, 'to', to, setTo)}
		{isWrong && <p class="wrong" role="alert">{text.range.wrong}</p>}
		<button type="submit" class="primary">{text.range.apply}</button>
	</form>;
}
