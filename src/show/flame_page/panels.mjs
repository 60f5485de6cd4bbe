// SPDX-License-Identifier: Apache-2.0
// What stands around the graph. Text from the film only ever becomes text nodes.
import { baseName, count, formatOf, percent, points } from './format.mjs';

/** An element with attributes and children; strings become text. */
export function element(tag, attributes, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {}))
		made.setAttribute(name, value);
	made.append(...children);
	return made;
}

/** An entry of the legend: a square of that colour, or hatched, and words. */
function legendEntry(fill, words) {
	const square = element('i', { class: fill ? '' : 'hatched' });
	square.style.backgroundColor = fill;
	return element('span', null, square, words);
}

/** What is known of one node, in words. */
export class Facts {
	constructor(data, tree, frames, colours) {
		this.data = data;
		this.tree = tree;
		this.frames = frames;
		this.colours = colours;
		this.format = formatOf(data.unit);
	}

	name(node) {
		return this.frames.name[this.tree.frame[node]];
	}

	/** "kernel · vmlinux · file:line" without what is not known */
	origin(node) {
		const { frames } = this;
		const frame = this.tree.frame[node];
		const kind = node ? this.data.kinds[frames.kind[frame]] : '';
		return [kind, frames.imagePath(frame), frames.place(frame)].filter(Boolean).join(' \u00b7 ');
	}

	marks(node) {
		const marks = [];
		if (this.frames.inlined[this.tree.frame[node]])
			marks.push('inlined');
		if (this.tree.guess[node])
			marks.push(this.data.guess);
		return marks;
	}

	/** Rows of the tooltip's table: what, value, share of all, share of the zoomed node. */
	shares(node, root) {
		const { tree, format } = this;
		const row = (word, values, column) => [word, format(values[node]),
			percent(values[node], column[0]), ...(root ? [percent(values[node], column[root])] : [])];
		const rows = [row('Total', tree.after, tree.after), row('Self', tree.self, tree.after)];
		if (this.data.diff)
			rows.push(row('Total before', tree.before, tree.before),
				row('Self before', tree.beforeSelf, tree.before));
		return rows;
	}

	/** "grew by +1.20 points (new)" */
	change(node) {
		const { after, before } = this.tree;
		const change = this.colours.change(node);
		const word = change > 0 ? 'grew: ' : change < 0 ? 'shrank: ' : 'same: ';
		const note = !before[node] ? ', new' : !after[node] ? ', gone' : '';
		return word + points(change) + note;
	}

	line(node) {
		const { tree, format } = this;
		const total = `total ${format(tree.after[node])} (${percent(tree.after[node], tree.after[0])})`;
		const self = `self ${format(tree.self[node])} (${percent(tree.self[node], tree.after[0])})`;
		const change = this.data.diff ? [this.change(node)] : [];
		return [total, self, ...change, ...this.marks(node), this.origin(node)].filter(Boolean).join(', ');
	}
}

export class Tooltip {
	constructor(box, facts) {
		this.box = box;
		this.facts = facts;
		this.node = -1;
	}

	show(node, root, x, y) {
		const key = `${node} ${root}`;
		if (this.key !== key)
			this.box.replaceChildren(...this.#content(node, root));
		this.key = key;
		this.box.hidden = false;
		const { offsetWidth, offsetHeight } = this.box;
		const left = Math.min(x + 14, innerWidth - offsetWidth - 8);
		const below = y + 18;
		const top = below + offsetHeight < innerHeight ? below : Math.max(y - offsetHeight - 12, 4);
		this.box.style.transform = `translate(${Math.max(left, 8)}px, ${top}px)`;
	}

	hide() {
		this.box.hidden = true;
	}

	#content(node, root) {
		const { facts } = this;
		const heads = ['', '', 'of all', ...(root ? ['of zoomed'] : [])];
		const cells = (tag, texts) => texts.map((text, i) => element(i ? tag : 'th', null, text));
		const marks = [...(facts.data.diff ? [facts.change(node)] : []), ...facts.marks(node)];
		const origin = facts.origin(node);
		return [
			element('strong', null, facts.name(node)),
			...(origin ? [element('p', null, origin)] : []),
			...marks.map((mark) => element('p', { class: 'mark' }, mark)),
			element('table', null,
				element('tr', null, ...cells('th', heads)),
				...facts.shares(node, root).map((row) => element('tr', null, ...cells('td', row)))),
		];
	}
}

/** The way to the zoomed node; the middle of a long one is left out. */
export function showCrumbs(nav, path, nameOf, zoom) {
	const shown = path.length <= 6 ? path : [path[0], -1, ...path.slice(-4)];
	const hidden = path[path.length - 5];
	nav.replaceChildren(...shown.flatMap((node, i) => {
		const target = node < 0 ? hidden : node;
		const button = element('button', { title: nameOf(target) },
			node < 0 ? '\u2026' : nameOf(node));
		button.addEventListener('click', () => zoom(target));
		return i ? ['\u203a', button] : [button];
	}));
}

/** guess: what a guess is, in words; null where there is none. */
export function showLegend(box, colours, guess) {
	const entries = colours.legend().map(([fill, words]) => legendEntry(fill, words));
	const isScale = colours.mode === 'change';
	if (isScale)
		entries.push(element('span', null, 'points of share: blue shrank, red grew'));
	if (guess)
		entries.push(legendEntry('', guess));
	box.classList.toggle('scale', isScale);
	box.replaceChildren(...entries);
}

const TABLE_ROWS = 500;

/** The functions inside the zoomed node, sorted by a column. */
export class FunctionTable {
	constructor(box, facts, choose) {
		this.box = box;
		this.facts = facts;
		this.choose = choose;
		this.sorted = 'self';
	}

	show(functions, whole, beforeWhole) {
		const { facts, sorted } = this;
		const change = (row) => (whole && row.total / whole) - (beforeWhole && row.before / beforeWhole);
		const valueOf = { self: (row) => row.self, total: (row) => row.total,
			change: (row) => Math.abs(change(row)) }[sorted];
		const rows = [...functions].sort((a, b) => valueOf(b) - valueOf(a) || b.total - a.total);
		const columns = ['self', 'total', ...(facts.data.diff ? ['change'] : [])];
		const cell = (value) => [facts.format(value),
			element('span', { class: 'part' }, ` ${percent(value, whole).padStart(7, '\u2007')}`)];

		const head = [...columns.map((key) => this.#head(key)), element('th', null, 'Function')];
		const body = rows.slice(0, TABLE_ROWS).map((row) => {
			const image = facts.frames.imagePath(row.frame);
			const name = facts.frames.name[row.frame];
			const line = element('tr', { tabindex: 0 },
				element('td', null, ...cell(row.self)), element('td', null, ...cell(row.total)),
				...(facts.data.diff ? [element('td', null, points(change(row)))] : []),
				element('td', null, name, element('small', null, baseName(image))));
			line.addEventListener('click', () => this.choose(name));
			line.addEventListener('keydown', (event) => event.key === 'Enter' && this.choose(name));
			return line;
		});
		this.box.replaceChildren(element('table', null,
			element('thead', null, element('tr', null, ...head)), element('tbody', null, ...body)));
		if (rows.length > TABLE_ROWS)
			this.box.append(element('p', null,
				`The first ${TABLE_ROWS} of ${count(rows.length)} functions.`));
		this.again = () => this.show(functions, whole, beforeWhole);
	}

	#head(key) {
		const button = element('button', null, key[0].toUpperCase() + key.slice(1));
		button.addEventListener('click', () => {
			this.sorted = key;
			this.again();
		});
		return element('th', key === this.sorted ? { 'aria-sort': 'descending' } : null, button);
	}
}
