// SPDX-License-Identifier: Apache-2.0
// Draws the map of services. The table beside it says the same in words, and is what keys reach.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, quantile, safe } from '../format';
import { requestsText } from '../text/requests';
import { servicesText as words } from '../text/services';
import type { ServicesAnswer } from './answers';
import { type Graph, graphOf, type Place, type Spot, type Way } from './graph';
import { rateOf, secondsOf } from './rate';

// pixels; ASIDE: what a line that leads back takes beside the first column, MARGIN: without one
const WIDTH = 184, HEIGHT = 40, ACROSS = 120, ACROSS_LEAST = 40, DOWN = 16, ASIDE = 32, MARGIN = 4;
const ARROW = 9, LOOP = 26; // the tip that stands before a place, and how wide a way from a place to itself is
const LETTERS = 24;

/** Where things stand, by how wide the page is. */
class Layout {
	readonly across: number;
	readonly aside: number;
	readonly width: number;
	readonly height: number;

	constructor({ columns, rows, places, ways }: Graph, room: number) {
		this.aside = ways.some(({ from, to }) => from !== to && places[to]!.column <= places[from]!.column) ? ASIDE : MARGIN;
		const gaps = Math.max(columns - 1, 1), left = room - columns * WIDTH - 2 * this.aside;
		this.across = Math.max(ACROSS_LEAST, Math.min(ACROSS, Math.floor(left / gaps)));
		this.width = columns * (WIDTH + this.across) - this.across + 2 * this.aside;
		this.height = rows * (HEIGHT + DOWN) + 2 * DOWN;
	}

	xOf({ column }: Spot): number {
		return this.aside + column * (WIDTH + this.across);
	}

	yOf({ row }: Spot): number {
		return row * (HEIGHT + DOWN) + DOWN;
	}
}

function pathOf(from: Place, to: Place, via: readonly Spot[], at: Layout): string {
	const x = at.xOf(from) + WIDTH, y = at.yOf(from) + HEIGHT / 2, end = at.xOf(to) - ARROW, down = at.yOf(to) + HEIGHT / 2;
	if (to.column > from.column) {
		let path = `M${x} ${y}`, left = x, before = y;
		for (const spot of [...via, to]) {
			const next = spot === to ? end : at.xOf(spot), level = at.yOf(spot) + HEIGHT / 2, bend = (next - left) / 2;
			path += `C${left + bend} ${before} ${next - bend} ${level} ${next} ${level}`;
			if (spot !== to)
				path += `H${next + WIDTH}`;
			[left, before] = [next + WIDTH, level];
		}
		return path;
	}
	if (to === from) // a loop on the upper edge
		return `M${x - LOOP - 12} ${at.yOf(from)}c0 ${-LOOP / 2} ${LOOP} ${-LOOP / 2} ${LOOP} ${-ARROW}`;
	// back: around the upper side
	const top = Math.min(y, down) - 32;
	return `M${x} ${y}C${x + 30} ${y} ${x + 30} ${top} ${(x + end) / 2} ${top}S${end - 30} ${down} ${end} ${down}`;
}

function short(text: string): string {
	return text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text;
}

/** From 1 for the least to 5 for the most time of requests. */
function widthOf(way: Way, most: number): number {
	return 1 + 4 * Math.sqrt(way.total / Math.max(most, 1));
}

function Line({ way, graph, most, seconds, at }: { way: Way; graph: Graph; most: number; seconds: number; at: Layout }) {
	const from = graph.places[way.from]!, to = graph.places[way.to]!;
	return <path d={pathOf(from, to, way.via, at)} class={way.failed ? 'way failed' : 'way'} style={{ strokeWidth: widthOf(way, most) }}
		marker-end={way.failed ? 'url(#way-end-failed)' : 'url(#way-end)'}>
		<title>{`${safe(from.name)} → ${safe(to.name)}\n${words.figures(rateOf(way.count, seconds), quantile(way.p99, way.longest))}\n${requestsText.failedOf(count(way.failed))}`}</title>
	</path>;
}

function Box({ place, answer, seconds, isChosen, onChoose, at }: {
	place: Place; answer: ServicesAnswer; seconds: number; isChosen: boolean; onChoose(service: string): void; at: Layout;
}) {
	const row = place.service === null ? null : answer.services[place.service]!;
	const figures = row ? row.count ? words.figures(rateOf(row.count, seconds), quantile(row.p99, row.longest)) : words.asksOnly :
		safe(place.protocol);
	return <g class={`place${row ? '' : ' far'}${isChosen ? ' picked' : ''}`} transform={`translate(${at.xOf(place)} ${at.yOf(place)})`}
		onClick={() => row && onChoose(row.service)}>
		<title>{`${safe(place.name)} ${safe(row?.host ?? '')}\n${figures}\n${row ? requestsText.failedOf(count(row.failed)) : ''}`}</title>
		<rect width={WIDTH} height={HEIGHT} rx="6" />
		<text x="8" y="16">{short(safe(place.name))}</text>
		<text x="8" y="32" class={row?.failed ? 'figures warn' : 'figures'}>{figures}</text>
	</g>;
}

export function ServiceMap({ answer, chosen, onChoose }: {
	answer: ServicesAnswer; chosen: string; onChoose(service: string): void;
}) {
	const box = useRef<HTMLDivElement>(null), [room, setRoom] = useState(0);
	useEffect(() => {
		const place = box.current!, observer = new ResizeObserver(() => setRoom(place.clientWidth));
		observer.observe(place);
		return () => observer.disconnect();
	}, []);
	const graph = useMemo(() => graphOf(answer), [answer]), at = new Layout(graph, room), seconds = secondsOf(answer.sum), most = Math.max(...graph.ways.map(({ total }) => total), 1);
	const { width, height } = at;
	return <figure class="service-map">
		<div class="wide" ref={box} tabIndex={0} role="group" aria-label={words.map}>
			<svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words.mapOf(count(graph.places.length))}>
				<defs>{['way-end', 'way-end-failed'].map((id) => <marker key={id} id={id} viewBox="0 0 10 10" refX="1" refY="5" markerWidth="10"
					markerHeight="10" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L10 5L0 10z" /></marker>)}</defs>
				{graph.ways.map((way) => <Line key={`${way.from} ${way.to}`} way={way} graph={graph} most={most} seconds={seconds} at={at} />)}
				{graph.places.map((place, i) => <Box key={i} place={place} answer={answer} seconds={seconds} onChoose={onChoose} at={at}
					isChosen={place.service !== null && answer.services[place.service]!.service === chosen} />)}
			</svg>
		</div>
		<figcaption class="hint">{words.mapHint}{graph.hidden > 0 && ` ${words.hidden(count(graph.hidden))}`}</figcaption>
	</figure>;
}
