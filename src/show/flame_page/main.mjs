// SPDX-License-Identifier: Apache-2.0
// Wires the parts together: what the user does, and what changes then.
import { Colours } from './colours.mjs';
import { count, percent } from './format.mjs';
import { element, Facts, FunctionTable, showCrumbs, showLegend, Tooltip } from './panels.mjs';
import { Matches, quoted, testOf } from './search.mjs';
import { Frames, functionTotals, Tree } from './tree.mjs';
import { View } from './view.mjs';

const find = (id) => document.getElementById(id);

const data = JSON.parse(find('data').textContent);
const tree = new Tree(data);
const frames = new Frames(data);
const colours = new Colours(data, tree, frames);
const view = new View(find('graph'), tree, frames, colours);
const facts = new Facts(data, tree, frames, colours);
const tooltip = new Tooltip(find('tooltip'), facts);
const table = new FunctionTable(find('table'), facts, searchFunction);
const guess = tree.guess.includes(1) ? data.guess : null;

let zoomsBefore = [];     // the nodes that back() returns to
let matchesByWidth = [];
let matchIndex = -1;

function isDark() {
	return document.documentElement.classList.contains('dark');
}

function setDark(dark) {
	const root = document.documentElement;
	root.classList.toggle('dark', dark);
	const style = getComputedStyle(root);
	const [ink, ground] = ['--ink', '--ground'].map((name) => style.getPropertyValue(name).trim());
	colours.setTheme(dark ? 'dark' : 'light', ink, ground);
	view.setInk(ink);
	showLegend(find('legend'), colours, guess);
}

function setColouring(mode) {
	colours.setMode(mode);
	find('colour').textContent = `Colour: ${mode}`;
	showLegend(find('legend'), colours, guess);
	view.draw();
}

function setIcicle(icicle) {
	view.setIcicle(icicle);
	find('direction').textContent = `Shape: ${icicle ? 'icicle' : 'flame'}`;
}

function toggleWidths() {
	if (!data.diff)
		return;
	const isBefore = tree.width === tree.before;
	tree.layOutBy(isBefore ? tree.after : tree.before);
	find('width').textContent = isBefore ? 'Width: after' : 'Width: before';
	if (!tree.width[view.root])
		goTo(0);
	view.widthsChanged();
	search();
}

function zoom(node) {
	if (node === view.root || !tree.width[node])
		return;
	zoomsBefore.push(view.root);
	goTo(node);
}

function back() {
	if (zoomsBefore.length)
		goTo(zoomsBefore.pop());
}

function reset() {
	zoom(0);
}

function goTo(node) {
	tooltip.hide();
	view.hovered = -1;
	view.zoom(node);
	find('back').disabled = !zoomsBefore.length;
	find('reset').disabled = node === 0;
	showCrumbs(find('crumbs'), tree.path(node), (crumb) => facts.name(crumb), zoom);
	showFound();
	showTable();
}

function nodeInFocus() {
	return view.hovered >= 0 ? view.hovered : view.selected;
}

function showDetails() {
	const node = nodeInFocus();
	find('copy').hidden = node < 0;
	find('details').replaceChildren(...(node < 0 ? ['Click a frame to zoom; press ? for the keys.'] :
		[element('b', null, facts.name(node)), ` ${facts.line(node)}`]));
}

function hover(node, event) {
	if (node !== view.hovered) {
		view.hovered = node;
		showDetails();
		view.draw();
	}
	if (node < 0)
		tooltip.hide();
	else
		tooltip.show(node, view.root, event.clientX, event.clientY);
}

function select(node) {
	view.selected = node;
	view.hovered = -1;
	tooltip.hide();
	showDetails();
	view.reveal(node);
}

/* The neighbour in the direction of an arrow, or the node itself where there is none. */
function neighbour(node, key) {
	const level = tree.level[node];
	const isAway = (key === 'ArrowUp') !== view.icicle; // away from the root
	switch (key) {
	case 'ArrowLeft':
		return Math.max(node - 1, tree.levelStart[level]);
	case 'ArrowRight':
		return Math.min(node + 1, tree.levelStart[level + 1] - 1);
	default:
		if (!isAway)
			return tree.parent[node];
		return tree.children[node] ? tree.child[node] : node;
	}
}

function moveSelection(key) {
	if (view.selected < 0) {
		select(view.root);
		return;
	}
	const node = neighbour(view.selected, key);
	if (tree.isInside(node, view.root) || tree.isInside(view.root, node))
		select(node);
}

function setPressed(id, isPressed) {
	find(id).setAttribute('aria-pressed', isPressed);
}

function isRegex() {
	return find('regex').getAttribute('aria-pressed') === 'true';
}

function search() {
	const field = find('search');

	view.matches = null;
	field.classList.remove('wrong');
	field.title = '/';
	if (field.value) {
		try {
			view.matches = new Matches(tree, frames, testOf(field.value, isRegex(), frames));
		} catch (error) {
			field.classList.add('wrong');
			field.title = error.message;
		}
	}
	matchesByWidth = view.matches?.byWidth() ?? [];
	matchIndex = -1;
	showFound();
	showTable();
	view.draw();
}

function showFound() {
	const { matches, root } = view;
	const field = find('search');

	if (!matches) {
		find('found').textContent = field.classList.contains('wrong') ? 'Not a regular expression' : '';
		return;
	}
	const total = matches.total(tree.after, 0);
	const parts = [element('b', null, `${facts.format(total)} (${percent(total, tree.after[0])})`),
		` in ${count(matches.count)} ${matches.count === 1 ? 'frame' : 'frames'}`];
	if (root) {
		const inside = matches.total(tree.after, root);
		parts.push(`, ${percent(inside, tree.after[root])} of zoomed`);
	}
	if (data.diff) {
		const before = matches.total(tree.before, 0);
		parts.push(`, before ${percent(before, tree.before[0])}`);
	}
	find('found').replaceChildren(...parts);
}

function nextMatch(step) {
	const size = matchesByWidth.length;
	if (!size)
		return;
	matchIndex = matchIndex < 0 && step < 0 ? size - 1 : (matchIndex + step + size) % size;
	const node = matchesByWidth[matchIndex];
	if (!tree.isInside(node, view.root))
		reset();
	select(node);
}

function searchFunction(name) {
	setPressed('regex', false);
	find('search').value = quoted(name);
	search();
	showTab('graph');
}

function showTable() {
	if (find('table').hidden)
		return;
	const { root, matches } = view;
	const functions = functionTotals(tree, frames, root);
	table.show(matches ? functions.filter((row) => matches.frameHit[row.frame]) : functions,
		tree.after[root], tree.before[root]);
}

function showTab(name) {
	for (const tab of ['graph', 'table']) {
		find(tab).hidden = tab !== name;
		setPressed(`show-${tab}`, tab === name);
	}
	tooltip.hide();
	showTable();
}

async function copyName() {
	const node = nodeInFocus();
	if (node < 0)
		return;
	const say = (words) => find('copy').textContent = words;
	try {
		await navigator.clipboard.writeText(facts.name(node));
		say('Copied');
	} catch {
		say('Not allowed');
	}
	setTimeout(say, 1200, 'Copy name');
}

function leaveSearch() {
	const field = find('search');
	if (field.value) {
		field.value = '';
		search();
	}
	field.blur();
}

const keys = {
	Enter: () => view.selected >= 0 && zoom(view.selected),
	Escape: reset,
	r: reset,
	Backspace: back,
	'/': () => find('search').select(),
	n: () => nextMatch(1),
	N: () => nextMatch(-1),
	i: () => setIcicle(!view.icicle),
	c: () => setColouring(colours.nextMode()),
	w: toggleWidths,
	t: () => showTab(find('table').hidden ? 'table' : 'graph'),
	d: () => setDark(!isDark()),
	y: copyName,
	'?': () => find('keys').showModal(),
};
for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'])
	keys[key] = () => moveSelection(key);

function onKey(event) {
	const { target, key } = event;
	if (event.ctrlKey || event.metaKey || event.altKey || find('keys').open)
		return;
	if (target === find('search')) {
		if (key === 'Escape')
			leaveSearch();
		else if (key === 'Enter')
			nextMatch(event.shiftKey ? -1 : 1);
		return;
	}
	const isTaken = key === 'Enter' ? target.closest('button, tr')
		: key.startsWith('Arrow') && find('graph').hidden;
	if (isTaken || !Object.hasOwn(keys, key))
		return;
	event.preventDefault();
	keys[key]();
}

function listen() {
	const { canvas } = view;
	const nodeUnder = (event) => {
		const box = canvas.getBoundingClientRect();
		return view.nodeAt(event.clientX - box.left, event.clientY - box.top);
	};
	const actions = {
		back, reset, copy: copyName,
		help: keys['?'],
		direction: keys.i,
		colour: keys.c,
		width: keys.w,
		theme: keys.d,
		'show-graph': () => showTab('graph'),
		'show-table': () => showTab('table'),
		regex: () => {
			setPressed('regex', !isRegex());
			search();
		},
	};

	for (const [id, action] of Object.entries(actions))
		find(id).addEventListener('click', action);
	find('search').addEventListener('input', search);
	document.addEventListener('keydown', onKey);
	canvas.addEventListener('pointermove', (event) =>
		event.pointerType === 'mouse' && hover(nodeUnder(event), event));
	canvas.addEventListener('pointerleave', (event) => hover(-1, event));
	canvas.addEventListener('click', (event) => {
		const node = nodeUnder(event);
		if (node < 0)
			return;
		select(node);
		zoom(node);
	});
	view.scroller.addEventListener('scroll', () => hover(-1));

	const prefersDark = matchMedia('(prefers-color-scheme: dark)');
	prefersDark.addEventListener('change', () => setDark(prefersDark.matches));
	let wasDark = prefersDark.matches;
	addEventListener('beforeprint', () => {
		wasDark = isDark();
		setDark(false);
		view.drawNow();
	});
	addEventListener('afterprint', () => setDark(wasDark));
	setDark(prefersDark.matches);
}

function start() {
	find('title').textContent = document.title;
	find('summary').textContent = [`${data.event}, total ${facts.format(tree.after[0])}`,
		`${count(tree.size)} frames`, `${tree.depth} levels`].join(' \u00b7 ');
	find('empty').hidden = tree.after[0] > 0 || tree.before[0] > 0;
	find('width').hidden = !data.diff;
	find('width').textContent = 'Width: after';
	listen();
	setColouring(colours.mode);
	setIcicle(false);
	goTo(0);
	showDetails();
	view.resize();
	view.showRoot();
}

start();
