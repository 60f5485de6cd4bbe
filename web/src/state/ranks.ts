// SPDX-License-Identifier: Apache-2.0
// Which name has which colour: kept while the page is open, so that in live mode no two of them swap.

const kept = new Map<string, Map<string, number>>();

/**
 * A place in [0, most) for each of the first names that have room: the one that it had, else the first that is free. what
 * is the kind of the names ("service"): another one has places of its own.
 */
export function placesOf(what: string, names: string[], most: number): Map<string, number> {
	const before = kept.get(what) ?? new Map<string, number>();
	const wanted = names.slice(0, most);
	const taken = new Set(wanted.map((name) => before.get(name)).filter((place) => place !== undefined));
	const places = new Map<string, number>();
	let free = 0;
	for (const name of wanted) {
		let place = before.get(name);
		if (place === undefined) {
			while (taken.has(free))
				free++;
			taken.add(place = free);
		}
		places.set(name, place);
	}
	// what is not among them now keeps its place until another name needs it
	const held = new Set(places.values());
	kept.set(what, new Map([...[...before].filter(([name, place]) => !places.has(name) && !held.has(place)), ...places]));
	return places;
}
