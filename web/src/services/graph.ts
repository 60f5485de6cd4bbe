// SPDX-License-Identifier: Apache-2.0
// The map of services: which one asks which other one, in columns from the left to the right. Pure functions of an answer.
import type { CallRow, ServicesAnswer } from './answers';

export interface Place {
	/** Where it stands in services; null: an address of which no service is known. */
	service: number | null;
	name: string;
	/** Of an address: its protocol. */
	protocol: string;
	column: number;
	row: number;
}

/** All calls between two places. */
export interface Way {
	from: number;
	to: number;
	count: number;
	failed: number;
	total: number;
	/** The worst of its calls. */
	p99: number;
}

export interface Graph {
	places: Place[];
	ways: Way[];
	columns: number;
	rows: number;
	/** Places that there was no room for. */
	hidden: number;
}

/** The most that a reader can follow. */
const PLACES = 40;

function keyOf(call: CallRow): string {
	return call.to === null ? `${call.protocol} ${call.peer}` : String(call.to);
}

function gather(answer: ServicesAnswer): { places: Place[]; ways: Way[] } {
	const places: Place[] = [], ways = new Map<string, Way>(), known = new Map<string, number>();
	const placeOf = (key: string, service: number | null, name: string, protocol: string): number => {
		if (!known.has(key)) {
			known.set(key, places.length);
			places.push({ service, name, protocol, column: 0, row: 0 });
		}
		return known.get(key)!;
	};
	const ofService = (i: number) => placeOf(String(i), i, answer.services[i]?.service ?? '', '');

	for (const call of answer.calls) {
		const from = ofService(call.from);
		const to = call.to === null ? placeOf(keyOf(call), null, call.peer, call.protocol) : ofService(call.to);
		const way = ways.get(`${from} ${to}`) ?? { from, to, count: 0, failed: 0, total: 0, p99: 0 };
		way.count += call.count;
		way.failed += call.failed;
		way.total += call.total;
		way.p99 = Math.max(way.p99, call.p99);
		ways.set(`${from} ${to}`, way);
	}
	answer.services.forEach((service, i) => service.count > 0 && ofService(i));
	return { places, ways: [...ways.values()] };
}

/** The places with the most time of requests. */
function largest(places: Place[], ways: Way[], answer: ServicesAnswer): { places: Place[]; ways: Way[] } {
	const weight = places.map(({ service }) => (service === null ? 0 : answer.services[service]?.total ?? 0));
	for (const way of ways) {
		weight[way.from]! += way.total;
		weight[way.to]! += way.total;
	}
	const kept = places.map((_, i) => i).sort((a, b) => weight[b]! - weight[a]! || a - b).slice(0, PLACES).sort((a, b) => a - b);
	const now = new Map(kept.map((old, i) => [old, i]));
	return {
		places: kept.map((i) => places[i]!),
		ways: ways.filter(({ from, to }) => now.has(from) && now.has(to))
			.map((way) => ({ ...way, from: now.get(way.from)!, to: now.get(way.to)! })),
	};
}

/** Ways that lead back to where a walk came from: those do not push a place to the right. */
function backWays(count: number, ways: Way[]): Set<Way> {
	const back = new Set<Way>(), isOpen: (boolean | undefined)[] = []; // undefined: not seen yet
	const walk = (place: number): void => {
		isOpen[place] = true;
		for (const way of ways) {
			if (way.from === place && isOpen[way.to])
				back.add(way);
			else if (way.from === place && isOpen[way.to] === undefined)
				walk(way.to);
		}
		isOpen[place] = false;
	};
	const asked = new Set(ways.map(({ from, to }) => (from === to ? -1 : to)));
	// from those that no other one asks; then from what is left, which are circles
	for (const isAsked of [false, true])
		for (let place = 0; place < count; place++)
			if (isOpen[place] === undefined && asked.has(place) === isAsked)
				walk(place);
	return back;
}

function setColumns(places: Place[], ways: Way[]): void {
	const back = backWays(places.length, ways), forth = ways.filter((way) => !back.has(way));
	// the longest way to each place; there is no circle left, so that this ends
	for (let isChanged = true; isChanged;) {
		isChanged = false;
		for (const { from, to } of forth) {
			if (places[to]!.column <= places[from]!.column) {
				places[to]!.column = places[from]!.column + 1;
				isChanged = true;
			}
		}
	}
}

/** Each place near the middle of those that it has ways to, so that fewer ways cross. */
function setRows(places: Place[], ways: Way[], columns: number): number {
	const inColumn = Array.from({ length: columns }, (_, c) => places.map((_, i) => i).filter((i) => places[i]!.column === c));
	const near: number[][] = places.map(() => []);
	let rows = 0;

	for (const { from, to } of ways) {
		near[from]!.push(to);
		near[to]!.push(from);
	}
	inColumn.forEach((column) => column.forEach((place, row) => places[place]!.row = row));
	for (const order of [inColumn, [...inColumn].reverse(), inColumn]) {
		for (const column of order) {
			const middle = (i: number) => near[i]!.length ?
				near[i]!.reduce((sum, other) => sum + places[other]!.row, 0) / near[i]!.length : places[i]!.row;
			const at = new Map(column.map((i) => [i, middle(i)]));
			column.sort((a, b) => at.get(a)! - at.get(b)! || a - b);
			column.forEach((place, row) => places[place]!.row = row);
			rows = Math.max(rows, column.length);
		}
	}
	// a short column stands in the middle
	for (const column of inColumn)
		column.forEach((place, row) => places[place]!.row = row + (rows - column.length) / 2);
	return rows;
}

export function graphOf(answer: ServicesAnswer): Graph {
	const all = gather(answer), { places, ways } = largest(all.places, all.ways, answer);
	setColumns(places, ways);
	const columns = places.reduce((most, { column }) => Math.max(most, column + 1), 0);
	return { places, ways, columns, rows: setRows(places, ways, columns), hidden: all.places.length - places.length };
}
