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
	/** The longest of all. */
	longest: number;
	/** Where it leads through the columns between, so that it does not run behind a place there. */
	via: Spot[];
}

export interface Spot {
	column: number;
	/** of a place's middle */
	row: number;
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
		const way = ways.get(`${from} ${to}`) ?? { from, to, count: 0, failed: 0, total: 0, p99: 0, longest: 0, via: [] };
		way.count += call.count;
		way.failed += call.failed;
		way.total += call.total;
		way.p99 = Math.max(way.p99, call.p99);
		way.longest = Math.max(way.longest, call.longest);
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

const NARROW = 0.5; // of a place's row, what a way takes that only leads through

/** A place, or a spot that ways lead through. */
interface Node extends Spot {
	height: number;
	near: Node[];
}

function link(a: Node, b: Node): void {
	a.near.push(b);
	b.near.push(a);
}

/** The places, and spots in all columns that ways pass; those that lead to one place share them. */
function nodesOf(places: Place[], ways: Way[]): { nodes: Node[]; through: Map<Way, Node[]> } {
	const nodes: Node[] = places.map(({ column }) => ({ column, row: 0, height: 1, near: [] }));
	const spots = new Map<string, Node>(), through = new Map<Way, Node[]>();
	for (const way of ways) {
		const on: Node[] = [];
		let before = nodes[way.from]!;
		for (let column = before.column + 1; column < nodes[way.to]!.column; column++) {
			const key = `${way.to} ${column}`, spot = spots.get(key) ?? { column, row: 0, height: NARROW, near: [] };
			if (!spots.has(key))
				nodes.push(spot);
			spots.set(key, spot);
			link(before, spot);
			on.push(before = spot);
		}
		link(before, nodes[way.to]!);
		through.set(way, on);
	}
	return { nodes, through };
}

/** Below each other, from a row on. */
function stack(column: Node[], from: number): number {
	return column.reduce((at, node) => {
		node.row = at + (node.height - 1) / 2;
		return at + node.height;
	}, from);
}

/** Each place near the middle of those that it has ways to, so that fewer ways cross. */
function setRows(places: Place[], ways: Way[], columns: number): number {
	const { nodes, through } = nodesOf(places, ways);
	const inColumn = Array.from({ length: columns }, (_, c) => nodes.filter(({ column }) => column === c));
	const middle = ({ near, row }: Node) => (near.length ? near.reduce((sum, other) => sum + other.row, 0) / near.length : row);
	let rows = 0;

	for (const column of inColumn)
		rows = Math.max(rows, stack(column, 0));
	for (const order of [inColumn, [...inColumn].reverse(), inColumn]) {
		for (const column of order) {
			const at = new Map(column.map((node, i) => [node, [middle(node), i] as const]));
			column.sort((a, b) => at.get(a)![0] - at.get(b)![0] || at.get(a)![1] - at.get(b)![1]);
			stack(column, 0);
		}
	}
	// a short column stands in the middle
	for (const column of inColumn)
		stack(column, (rows - column.reduce((sum, { height }) => sum + height, 0)) / 2);
	places.forEach((place, i) => place.row = nodes[i]!.row);
	for (const [way, on] of through)
		way.via = on.map(({ column, row }) => ({ column, row }));
	return rows;
}

export function graphOf(answer: ServicesAnswer): Graph {
	const all = gather(answer), { places, ways } = largest(all.places, all.ways, answer);
	setColumns(places, ways);
	const columns = places.reduce((most, { column }) => Math.max(most, column + 1), 0);
	return { places, ways, columns, rows: setRows(places, ways, columns), hidden: all.places.length - places.length };
}
