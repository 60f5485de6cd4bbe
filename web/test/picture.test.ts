// SPDX-License-Identifier: Apache-2.0
// What is drawn, on a canvas that only notes it.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Colouring } from '../src/flame/contract';
import { changeOf, Colours } from '../src/flame/colours';
import { boxOf, fit, Fittings, Painter, type Scene } from '../src/flame/draw';
import { Facts } from '../src/flame/facts';
import { addStretch } from '../src/flame/lines';
import { modelOf, type Model } from '../src/flame/model';
import { changeStep, fillsOf, KINDS, shaded, STEPS } from '../src/flame/palette';
import { testOf } from '../src/flame/pattern';
import { matchesOf } from '../src/flame/search';
import { drawMap, MapScale, markOf } from '../src/flame/map';
import { between, isSame, levelAt, moved, pinched, topOfLevel, zoomedAt } from '../src/flame/viewport';
import { neighbour } from '../src/flame/walk';
import { answerOf, madeAnswer, type Written } from './made';

interface Rect {
	x: number;
	y: number;
	width: number;
	height: number;
	fill: string;
}

/** Notes rectangles and texts. */
class Pen {
	fillStyle = '';
	rects: Rect[] = [];
	texts: string[] = [];
	setTransform() {}
	clearRect() {}
	fillRect(x: number, y: number, width: number, height: number) {
		this.rects.push({ x, y, width, height, fill: this.fillStyle });
	}
	fillText(text: string) {
		this.texts.push(text);
	}
	as(): CanvasRenderingContext2D {
		return this as unknown as CanvasRenderingContext2D;
	}
}

/** Puts what it is given among the rectangles; the height of a line is that of a row. */
class Notes {
	added: { line: number; left: number; right: number; bits: number }[] = [];
	begin() {
		this.added = [];
	}
	add(line: number, left: number, right: number, bits: number) {
		this.added.push({ line, left, right, bits });
	}
	end() {}
	draw(pen: CanvasRenderingContext2D, line: number, _x: number, y: number) {
		const { rects } = pen as unknown as Pen;
		for (const { left, right, bits } of this.added.filter((stretch) => stretch.line === line && stretch.right > stretch.left))
			rects.push({ x: left, y, width: right - left, height: 19, fill: cssOf(bits) });
	}
}

const cssOf = (bits: number) =>
	`#${((bits & 0xff) << 16 | bits & 0xff00 | bits >> 16).toString(16).padStart(6, '0')}`;

function sceneOf(model: Model, part: Partial<Scene> = {}, colour: Colouring = 'kind'): Scene {
	const { tree, labels } = model;
	return { tree, labels, fittings: new Fittings(labels), colours: new Colours(tree, labels, colour, 'light'),
		matches: null, zoomed: 0, range: { from: 0, to: tree.width[0]! },
		rows: { isIcicle: true, row: 20, height: 2000 }, scrollTop: 0, width: 1000, height: 800, ratio: 1, column: 7,
		hatching: 'hatched',
		lines: new Notes(), ...part };
}

function drawn(scene: Scene): Pen {
	const pen = new Pen();
	new Painter(pen.as(), scene).draw();
	return pen;
}

const made = modelOf(madeAnswer(100000), 'all', null);

test('the work is bounded by the pixels', () => {
	const { rects, texts } = drawn(sceneOf(made));
	const rows = Math.ceil(800 / 20) + 1;
	assert.ok(rects.length < rows * 1000 && rects.length > 1000, `${rects.length} rectangles`);
	assert.ok(texts.length < rows * 1000 / 30);
	assert.ok(rects.every(({ x, y, width }) => x >= -1 && x + width <= 1001 && y > -20 && y < 800 && width > 0));
});

test('what is wide is drawn, and where nothing is, nothing is drawn', () => {
	const { tree } = made;
	const scale = 1000 / tree.width[0]!;
	const rows = Array.from({ length: 40 }, (): Rect[] => []);
	for (const rect of drawn(sceneOf(made)).rects)
		rows[rect.y / 20]!.push(rect);
	rows.forEach((rects, level) => {
		const to = tree.levelStart[level + 1]!;
		for (let node = tree.levelStart[level]!; node < to; node++) {
			const middle = (tree.start[node]! + tree.width[node]! / 2) * scale;
			if (tree.width[node]! * scale > 3)
				assert.ok(rects.some(({ x, width }) => x <= middle && x + width >= middle), `node ${node} is not there`);
		}
		for (const { x, width } of rects) {
			const from = tree.firstEndingAfter((x - 1) / scale, tree.levelStart[level]!, to);
			assert.ok(from < to && tree.start[from]! * scale <= x + width + 1, `nothing is at ${x} of level ${level}`);
		}
	});
});

test('only the rows in sight are drawn', () => {
	const pen = drawn(sceneOf(made, { scrollTop: 610, height: 100 }));
	assert.deepEqual([...new Set(pen.rects.map(({ y }) => y))], [-10, 10, 30, 50, 70, 90]);
	const flame = drawn(sceneOf(made, { rows: { isIcicle: false, row: 20, height: 2000 }, scrollTop: 1960, height: 40 }));
	assert.deepEqual([...new Set(flame.rects.map(({ y }) => y))], [20, 0]);
});

const hostile: Written = ['all', 0,
	['\u202eevil\u0007\u001b[31m</script><b>', 50, ['שלום עולם', 20]],
	['n'.repeat(100000), 30],
	['mark:[truncated: stack memory not readable]', 20],
	['mark:[smaller]', 10]];

test('hostile and long names', () => {
	const model = modelOf(answerOf(hostile), 'all', null);
	const { texts, rects } = drawn(sceneOf(model));
	assert.ok(texts.some((text) => text.includes('</script>')));
	assert.ok(!texts.some((text) => /[\u0000-\u001f\u202e]/.test(text)));
	assert.ok(texts.every((text) => text.length < 500));
	assert.equal(rects.filter(({ fill }) => fill === 'hatched').length, 2, 'marks are hatched');
	assert.equal(model.labels.rawName[0], (hostile[2] as Written)[0], 'the server is asked for the name as it came');
});

test('stretches of a line cover pixels in part', () => {
	const line = (...stretches: [left: number, right: number, bits: number][]) => {
		const pixels = new Uint32Array(8);
		for (const [left, right, bits] of stretches)
			addStretch(pixels, 2, 4, left, right, bits);
		return [...pixels].map((pixel) => [pixel >>> 24, pixel & 0xffffff].join());
	};
	assert.deepEqual(line([0.5, 3, 7]), ['0,0', '0,0', '128,7', '255,7', '255,7', '0,0', '0,0', '0,0']);
	assert.deepEqual(line([-9, 99, 7]), ['0,0', '0,0', '255,7', '255,7', '255,7', '255,7', '0,0', '0,0']);
	assert.deepEqual(line([1, 1.2, 7], [1.2, 2, 8], [3.25, 3.5, 9]),
		['0,0', '0,0', '0,0', '255,8', '0,0', '64,9', '0,0', '0,0']);
	assert.deepEqual(line([2, 2, 7], [3, 1, 7], [NaN, 2, 7], [-3, -1, 7], [4, 9, 7]), line());
});

test('labels fit', () => {
	const label = { whole: 'a::b(int, char)', short: 'a::b', isPlain: true };
	assert.equal(fit(label, 15), 'a::b(int, char)');
	assert.equal(fit(label, 14), 'a::b');
	assert.equal(fit(label, 3), 'a:\u2026');
	const { labels } = modelOf(answerOf(['all', 0, ['group:worker (7)', 1, ['a::b(int)', 1]]]), 'all', null);
	const fittings = new Fittings(labels);
	assert.deepEqual([0, 1].map((at) => fittings.of(at).short).sort(), ['a::b', 'worker (7)']);
	assert.equal(fit({ whole: 'x\u{1f600}y', short: 'x\u{1f600}y', isPlain: false }, 3), 'x\u2026');
	assert.equal(fit({ whole: 'abc', short: 'abc', isPlain: true }, 0), '\u2026');
});

test('what was found stands out, the rest stands back, however narrow', () => {
	const matches = matchesOf(made, testOf('_7'));
	const { colours } = sceneOf(made);
	const { rects } = drawn(sceneOf(made, { matches }));
	assert.ok(rects.some(({ fill }) => fill === colours.match.fill));
	assert.ok(!rects.some(({ fill }) => colours.paints.some((paint) => paint.fill === fill)));
});

test('where a node is drawn is where the pointer finds it', () => {
	const scene = sceneOf(made);
	for (let node = 0; node < 2000; node += 7) {
		const box = boxOf(scene, node);
		if (box.width < 2)
			continue;
		const place = (box.left + box.width / 2) / scene.width * scene.range.to;
		assert.equal(made.tree.nodeAt(levelAt(scene.rows, box.top + 10), place), node);
	}
});

test('every colouring has a paint for every node, and a legend', () => {
	const diff = modelOf(madeAnswer(2000, { isDiff: true }), 'all', null);
	for (const colouring of ['kind', 'image', 'language', 'change'] as const) {
		for (const theme of ['light', 'dark'] as const) {
			const colours = new Colours(diff.tree, diff.labels, colouring, theme);
			for (let node = 0; node < diff.tree.size; node++)
				{
				assert.match(colours.paint(node).fill, /^#[0-9a-f]{6}$/);
				assert.equal(cssOf(colours.paint(node).faintBits), colours.paint(node).faint);
			}
			const legend = colours.legend();
			assert.ok(legend.length > 2);
			assert.equal(new Set(legend.map(({ fill }) => fill)).size, legend.length, 'a colour each');
		}
	}
	const legend = new Colours(diff.tree, diff.labels, 'change', 'light').legend();
	assert.deepEqual(legend.map(({ key }) => key), ['\u221210', '\u22122', '\u22120.5', '\u22120.1', 'same', '+0.1', '+0.5',
		'+2', '+10']);
	const images = new Colours(diff.tree, diff.labels, 'image', 'light').legend().map(({ key }) => key);
	assert.ok(images.includes('libc.so.6') && images.includes('kv-server'));
	const pruned = modelOf(answerOf(['all', 0, ['a', 9], ['kernel:b', 1, ['mark:[smaller]', 20]]]), 'all', null);
	assert.deepEqual(new Colours(pruned.tree, pruned.labels, 'image', 'light').legend().map(({ key }) => key),
		['[kernel]', 'app', 'other'], 'what was left out is of the image above it');
});

/** How bright a colour is (WCAG 2, relative luminance). */
function luminance(colour: string): number {
	const [r, g, b] = [1, 3, 5].map((at) => {
		const value = parseInt(colour.slice(at, at + 2), 16) / 255;
		return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

test('text can be read on every colour', () => {
	for (const theme of ['light', 'dark'] as const) {
		for (const colouring of ['kind', 'image', 'change'] as const) {
			const colours = new Colours(made.tree, made.labels, colouring, theme);
			for (const paint of [...colours.paints, colours.match]) {
				const [dark, light] = [luminance(paint.fill), luminance(paint.ink)].sort((a, b) => a - b);
				const contrast = (light! + 0.05) / (dark! + 0.05);
				assert.ok(contrast >= 3.6, `${theme} ${colouring} ${paint.fill}: ${contrast}`);
			}
		}
	}
	assert.equal(fillsOf('light', 'change').length, 2 * STEPS.length + 1);
	assert.equal(fillsOf('dark', 'kind').length, KINDS.length);
	assert.equal(shaded(0xf5b95f, 'light', 0), 0xf5b95f);
	assert.equal(shaded(0xffffff, 'dark', 1), 0xe8e8e8);
});

test('change is of shares', () => {
	const { tree } = modelOf(answerOf(['all', 0, ['a', 30], ['b', 70]], ['all', 0, ['a', 20], ['b', 20]]), 'all', null);
	const [b, a] = [1, 2];
	assert.equal(changeOf(tree, 0), 0);
	assert.ok(Math.abs(changeOf(tree, b) - 0.2) < 1e-9);
	assert.ok(Math.abs(changeOf(tree, a) + 0.2) < 1e-9);
	assert.equal(changeStep(0.2), 4);
	assert.equal(changeStep(-0.006), -2);
	assert.equal(changeStep(0.0001), 0);
});

test('zooming keeps the place under the pointer', () => {
	const range = { from: 100, to: 300 };
	const closer = zoomedAt(range, 1000, 150, 2);
	assert.deepEqual(closer, { from: 125, to: 225 });
	assert.deepEqual(zoomedAt(closer, 1000, 150, 0.5), range);
	assert.deepEqual(zoomedAt(range, 1000, 150, 0.001), { from: 0, to: 1000 });
	assert.ok(zoomedAt(range, 1000, 150, 1e30).to > zoomedAt(range, 1000, 150, 1e30).from);
	assert.deepEqual(moved(range, 1000, -500), { from: 0, to: 200 });
	assert.deepEqual(moved(range, 1000, 5000), { from: 800, to: 1000 });
	assert.deepEqual(pinched(range, 1000, [0.25, 0.75], [0.25, 0.75]), range);
	assert.deepEqual(pinched(range, 1000, [0.25, 0.75], [0, 1]), { from: 150, to: 250 });
	assert.deepEqual(pinched(range, 1000, [0.25, 0.75], [0, 0.5]), { from: 150, to: 350 });
	assert.deepEqual(between(range, closer, 1), closer);
	assert.ok(between(range, closer, 0.5).from > 112);
	assert.ok(isSame(range, { from: 100 + 1e-9, to: 300 }) && !isSame(range, closer));
});

test('rows', () => {
	const icicle = { isIcicle: true, row: 20, height: 400 }, flame = { ...icicle, isIcicle: false };
	for (const rows of [icicle, flame]) {
		for (const level of [0, 1, 7, 19])
			assert.equal(levelAt(rows, topOfLevel(rows, level) + 1), level);
	}
	assert.equal(topOfLevel(flame, 0), 380);
});

test('the strip shows all levels, each of those near the root', () => {
	assert.deepEqual([1, 44, 45, 80, 81, 500].map((depth) => new MapScale(depth).height), [44, 44, 80, 80, 120, 120]);
	assert.deepEqual([44, 60, 81, 500].map((depth) => new MapScale(depth, true).height), [44, 80, 80, 80]);
	for (const depth of [1, 5, 20, 60, 110, 121, 500, 5000]) {
		const scale = new MapScale(depth);
		for (const ratio of [1, 2]) {
			const lines = scale.height * ratio;
			const levels = Array.from({ length: lines }, (_, line) => scale.levelOfLine(lines, true, line));
			const all = new Set(levels);
			assert.ok(levels.every((level, i) => i === 0 || level >= levels[i - 1]!));
			assert.deepEqual(levels, Array.from(levels, (_, line) => scale.levelOfLine(lines, false, lines - 1 - line)));
			for (let level = 0; level < Math.min(depth, scale.height === 120 && depth > 120 ? 80 : depth); level++)
				assert.ok(all.has(level), `${level} of ${depth}`);
			const [last, before] = [levels[lines - 1]!, levels[lines - 2]!];
			assert.ok(last + Math.max(last - before, 1) >= depth - 1 && last < depth, 'down to the last ones');
		}
		for (let level = 0; level <= depth; level++)
			assert.ok(Math.abs(scale.levelAt(scale.partOf(level)) - level) < 1e-6);
		assert.equal(scale.partOf(0), 0);
		assert.equal(scale.partOf(depth + 5), 1);
	}
});

test('the strip draws the root first, and the mark is around what is in sight', () => {
	const { colours, matches } = sceneOf(made);
	const pixels = new Uint32Array(500 * 36);
	drawMap(pixels, { tree: made.tree, colours, matches, isIcicle: true, scale: new MapScale(made.tree.depth),
		width: 500, height: 36 });
	assert.equal(pixels[0], (0xff000000 | colours.plainPaint(0).fillBits) >>> 0);
	assert.ok(pixels.subarray(0, 500).every((pixel) => pixel === pixels[0]), 'the root is all of the first line');
	assert.ok(pixels.subarray(20 * 500, 21 * 500).some((pixel) => pixel !== 0));
	assert.deepEqual(markOf({ width: 100, height: 36 }, { from: 25, to: 75 }, 100, { top: 0, bottom: 0.5 }),
		{ x: 25, y: 0, width: 50, height: 18 });
	assert.equal(markOf({ width: 100, height: 36 }, { from: 0, to: 1e-9 }, 100, { top: 0, bottom: 1 }).width, 2);
});

test('keys go to parents, children and siblings', () => {
	const { tree, labels } = modelOf(answerOf(['all', 0, ['a', 1, ['b', 5], ['c', 0]], ['d', 2, ['e', 1]]]), 'all', null);
	const name = (node: number) => labels.name[tree.label[node]!];
	const at = (wanted: string) => Array.from({ length: tree.size }, (_, node) => node).find((node) => name(node) === wanted)!;
	assert.equal(name(neighbour(tree, at('a'), 'down', true, 0)), 'b');
	assert.equal(name(neighbour(tree, at('a'), 'up', false, 0)), 'b');
	assert.equal(name(neighbour(tree, at('a'), 'up', true, 0)), 'all');
	assert.equal(name(neighbour(tree, at('b'), 'right', true, 0)), 'e', 'over what has no width, to a cousin');
	assert.equal(name(neighbour(tree, at('b'), 'right', true, at('a'))), 'b', 'not out of the zoomed');
	assert.equal(name(neighbour(tree, at('a'), 'left', true, 0)), 'a');
	assert.equal(name(neighbour(tree, at('b'), 'down', true, 0)), 'b');
	assert.equal(neighbour(tree, 0, 'up', true, 0), 0);
});

test('a frame in words', () => {
	const model = modelOf(answerOf(['all', 0, ['a', 30e6], ['kernel:b', 70e6]], ['all', 0, ['a', 100e6], ['kernel:b', 0]]),
		'all', null);
	const facts = new Facts(model.tree, model.labels, 'ns');
	assert.equal(facts.line(1, 0), 'Total 70.000 ms (70.00%), Self 70.000 ms (70.00%), grew: +70.00 points, new, ' +
		'kernel \u00b7 [kernel]');
	assert.deepEqual(facts.shares(2, 0).map(({ what, value, ofAll }) => [what, value, ofAll]),
		[['Total', '30.000 ms', '30.00%'], ['Self', '30.000 ms', '30.00%'],
			['Total before', '100.000 ms', '100.00%'], ['Self before', '100.000 ms', '100.00%']]);
	assert.deepEqual(facts.details(1, 0), { name: 'b', image: '[kernel]', kind: 'kernel', file: undefined,
		line: undefined, self: 70e6, total: 70e6, whole: 100e6, path: ['all', 'b'], pane: 0 });
});
