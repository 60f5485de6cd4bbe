// SPDX-License-Identifier: Apache-2.0
// The timeline: moments to the ns, what each column of pixels shows, which tiles are asked for, the order of lanes.
import assert from 'node:assert/strict';
import test from 'node:test';
import { lengthOfTime, quantile } from '../src/format';
import type { CpusAnswer, DevicesAnswer, Gauge, LaneRow } from '../src/timeline/answers';
import { cpuRowsOf, CpuThreads } from '../src/timeline/cpus';
import { deviceRowsOf, DeviceWorks } from '../src/timeline/devices';
import { extentOf, goesOn } from '../src/timeline/extent';
import { rowsOf } from '../src/timeline/lanes';
import { lanesIn, lanesOf, livesOf, placesOfLanes, rowAt } from '../src/timeline/packs';
import { Columns, NOTHING, paintStrip } from '../src/timeline/paint';
import { runAt, unpackRuns } from '../src/timeline/runs';
import { scaleOf } from '../src/timeline/scale';
import { levelOf, stretchOf, TILE, type TileAnswer, Tiles, tilesOf, type Wish } from '../src/timeline/tiles';
import { exactly, Origin, tickText, ticksOf, wallTicksOf } from '../src/timeline/time';
import { fitted, moved, NARROWEST, Undo, zoomed } from '../src/timeline/viewport';

const origin = new Origin(1767322845000000001n);

test('moments are exact to the ns, and back', () => {
	for (const ns of [0, 1, 999_999_998, 999_999_999, 86_400_000_000_000, 4_503_599_627_370_497]) {
		assert.equal(origin.nsOf(origin.wordOf(ns)), ns);
		assert.equal(origin.offsetOf(String(1767322845000000001n + BigInt(ns))), ns);
	}
	assert.equal(origin.wordOf(999_999_999), '1767322846');
	assert.equal(origin.wordOf(1), '1767322845.000000002');
	for (const word of ['', 'now', '1.0000000001', '-1', '1e9', '99999999999', '</script>'])
		assert.ok(Number.isNaN(origin.nsOf(word)), word);
	assert.deepEqual([0, 7, 1234, 1_234_567, 1_234_567_890, -5].map(exactly),
		['0 ns', '7 ns', '1.234 us', '1.234567 ms', '1.234567890 s', '\u22125 ns']);
});

test('marks of a ruler are round, and at least so far apart', () => {
	assert.deepEqual(ticksOf({ from: 0, to: 1000 }, 150), [0, 200, 400, 600, 800]);
	for (const length of [100, 1e4, 1e9, 3.6e12]) {
		const ticks = ticksOf({ from: 12345, to: 12345 + length }, length / 9);
		assert.ok(ticks.length >= 3 && ticks.length <= 9, String(length));
	}
});

test('marks of long times are minutes and hours', () => {
	const marks = (length: number, least: number) => {
		const ticks = ticksOf({ from: 0, to: length }, least);
		return ticks.map((at) => tickText(at, ticks[1]! - ticks[0]!)).slice(0, 6);
	};
	assert.deepEqual(marks(6576e9, 700e9), ['0 s', '15 min', '30 min', '45 min', '1 h', '1 h 15 min']);
	assert.deepEqual(marks(90e9, 11e9), ['0 s', '15 s', '30 s', '45 s', '1 min', '1 min 15 s']);
	assert.deepEqual(marks(60e9, 9e9), ['0 s', '10 s', '20 s', '30 s', '40 s', '50 s']);
	assert.deepEqual(marks(10 * 86400e9, 100000e9).slice(0, 2), ['0 s', '48 h']);
	assert.deepEqual([59.4e9, 6_576_214_140_586, 3600e9].map(lengthOfTime), ['59.400 s', '1 h 49 min 36 s', '1 h']);
});

test('marks of times of day are round times of day', () => {
	const from = new Origin(1_767_322_845_500_000_000n); // 03:00:45.5
	assert.deepEqual(wallTicksOf({ from: 0, to: 1800e9 }, 280e9, from).map((at) => from.wallOf(at).slice(11, 19)),
		['03:05:00', '03:10:00', '03:15:00', '03:20:00', '03:25:00', '03:30:00']);
});

test('quantiles have the digits that are known of them', () => {
	assert.deepEqual(([[31, 100], [10_368, 20_499], [876_544, 904_400], [36_176_000, 150_632_000], [999_600, 2_000_000],
		[1_997_000_000, 3e9], [468_059, 468_059], [66_585_000, 66_900_000]] as const).map(([ns, most]) => quantile(ns, most)),
	['31 ns', '10.4 us', '880 us', '36 ms', '1.00 ms', '2.00 s', '468.059 us', '66 ms']);
});

/** Runs of [class, length, slices, part]. */
const runsOf = (...runs: [number, number, number?, number?][]) =>
	unpackRuns(runs.flatMap(([which, length, slices = 1, part = 1]) => [0, length, which, slices, Math.round(length * part)]), 0);

function columnsOf(width: number, perColumn: number, runs: ReturnType<typeof runsOf>, from = 0): number[] {
	const columns = new Columns(width);
	columns.add(runs, { from, perColumn }, { from: 0, to: 1e9 });
	columns.settle();
	return [...columns.class];
}

test('runs are unpacked with their gaps, and what is wrong ends them', () => {
	const runs = unpackRuns([5, 10, 1, 1, 10, 3, 20, 2, 7, 15], 100);
	assert.deepEqual([...runs.start], [105, 118]);
	assert.deepEqual([...runs.end], [115, 138]);
	assert.equal(runs.part[1], 0.75);
	assert.deepEqual([104, 105, 114, 115, 137, 138].map((at) => runAt(runs, at)), [-1, 0, 0, -1, 1, -1]);
	assert.equal(unpackRuns([0, 10, 1, 1, 10, -3, 20, 2, 7, 15], 0).count, 1);
	assert.equal(unpackRuns([0, 10, 1], 0).count, 0);
});

test('a column has the class that it has most of', () => {
	assert.deepEqual(columnsOf(4, 10, runsOf([0, 10], [1, 4], [2, 6], [3, 20])), [0, 2, 3, 3]);
	assert.deepEqual(columnsOf(1, 10, runsOf([0, 3], [1, 4], [0, 3])), [0], 'parts of a class add up');
	assert.deepEqual(columnsOf(1, 10, runsOf([0, 6, 5, 0.5], [1, 4])), [1], 'of a merged run, what is of its class');
	assert.deepEqual(columnsOf(3, 10, runsOf([0, 12], [1, 6])), [0, 1, NOTHING]);
});

test('no slice is dropped for being short: alone in its column it is seen', () => {
	const runs = unpackRuns([5, 1, 4, 1, 1], 0);
	assert.deepEqual(columnsOf(2, 1000, runs), [4, NOTHING]);
});

test('what is left and right of the picture is not in it', () => {
	assert.deepEqual(columnsOf(2, 10, runsOf([0, 100], [1, 100]), 90), [0, 1]);
	assert.deepEqual(columnsOf(2, 10, runsOf([0, 100]), 200), [NOTHING, NOTHING]);
});

test('columns of tiles beside each other are one picture', () => {
	const runs = runsOf([0, 15], [1, 25]), columns = new Columns(4);
	for (const clip of [{ from: 0, to: 20 }, { from: 20, to: 40 }])
		columns.add(runs, { from: 0, perColumn: 10 }, clip);
	columns.settle();
	assert.deepEqual([...columns.class], columnsOf(4, 10, runs));
});

test('bars stand on the lower edge, and what is not known is hatched', () => {
	const columns = new Columns(12);
	columns.class.set([0, 0, 1, 1, NOTHING, NOTHING, 2, 2, 2, 2, 2, 2]);
	const look = { colour: Uint32Array.of(7, 8, 9), height: Float64Array.of(1, 0.5, 1), isHatched: Uint8Array.of(0, 0, 1) };
	const pixels = new Uint32Array(12 * 6);
	paintStrip({ pixels, width: 12, top: 1, height: 4 }, columns, look);
	const rows = Array.from({ length: 6 }, (_, y) => [...pixels.subarray(12 * y, 12 * y + 12)]);
	assert.deepEqual(rows.map((row) => row.slice(0, 5)),
		[[0, 0, 0, 0, 0], [7, 7, 0, 0, 0], [7, 7, 0, 0, 0], [7, 7, 8, 8, 0], [7, 7, 8, 8, 0], [0, 0, 0, 0, 0]]);
	assert.ok(rows.slice(1, 5).every((row) => row.slice(6).filter((pixel) => pixel === 9).length === 2));
});

test('tiles are powers of two, and cover what is in sight', () => {
	for (const perPixel of [1, 3, 1e3, 1e6, 123456789]) {
		const level = levelOf(perPixel);
		assert.ok(2 ** level <= perPixel && 2 ** level > perPixel / 2);
		const range = { from: 7.5 * perPixel, to: 1400 * perPixel };
		const tiles = tilesOf(level, range);
		assert.ok(stretchOf(tiles[0]!).from <= range.from && stretchOf(tiles.at(-1)!).to >= range.to && tiles.length <= 3);
	}
	assert.equal(levelOf(0.1), 0);
});

function tilesWith(answers: (lanes: string[]) => TileAnswer): [Tiles, Wish[]] {
	const asked: Wish[] = [];
	const tiles = new Tiles(new Origin(0n), async (range, pixel, lanes) => {
		asked.push({ tiles: [{ level: Math.log2(pixel), index: range.from / (pixel * TILE) }], lanes, short: [] });
		return answers(lanes);
	}, 1e12, () => {});
	return [tiles, asked];
}

const answerOf = (lanes: string[]): TileAnswer => ({
	base: '0', cut: false, lanes: new Map(lanes.map((lane) => [lane, (offset: number) => unpackRuns([0, 50, 1, 1, 50], offset)])),
});
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

test('a coarser tile stands in for one that is on its way', async () => {
	const [tiles, asked] = tilesWith(answerOf);
	tiles.want({ tiles: [{ level: 4, index: 0 }], lanes: ['1.1', '1.2'], short: [] });
	await settled();
	assert.equal(asked.length, 1);
	assert.equal(tiles.partOf('1.1', { level: 4, index: 0 })!.isFine, true);
	assert.equal(tiles.partOf('1.1', { level: 2, index: 3 })!.isFine, false);
	assert.equal(tiles.partOf('1.1', { level: 2, index: 4 }), null, 'beside the tile nothing is known');
	tiles.want({ tiles: [{ level: 4, index: 0 }], lanes: ['1.2', '1.3'], short: [] });
	await settled();
	assert.deepEqual(asked[1]!.lanes, ['1.3'], 'what is here is not asked for again');
});

test('lanes that have little come last, and more of them at once', async () => {
	const [tiles, asked] = tilesWith(answerOf), short = Array.from({ length: 300 }, (_, i) => `2.${i}`);
	tiles.want({ tiles: [{ level: 4, index: 0 }], lanes: ['1.1'], short });
	await settled();
	assert.deepEqual(asked.map(({ lanes }) => lanes.length), [1, 256, 44]);
	assert.deepEqual(asked[0]!.lanes, ['1.1']);
});

test('what failed is asked for again with the next wish, and not before', async () => {
	let count = 0;
	const tiles = new Tiles(new Origin(0n), async () => {
		count++;
		throw new Error('no');
	}, 1e12, () => {});
	tiles.want({ tiles: [{ level: 4, index: 0 }], lanes: ['1.1'], short: [] });
	await settled();
	assert.equal(count, 1);
	tiles.want({ tiles: [{ level: 4, index: 0 }], lanes: ['1.1'], short: [] });
	await settled();
	assert.equal(count, 2);
});

const cpusAnswer = (threads: [number, number, string][], runs: number[]): CpusAnswer => ({
	base: '0', length: 1000, classes: [], pixel: 1, cut: false,
	threads: threads.map(([pid, tid, comm]) => ({ pid, tid, comm, process: comm })), cpus: [{ cpu: 3, runs }],
});

test('threads of CPUs keep their numbers from one answer to the next', () => {
	const threads = new CpuThreads();
	const first = threads.unpack(cpusAnswer([[1, 1, 'a'], [2, 2, 'b']], [0, 10, 0, 1, 10, 0, 10, 1, 1, 10])).lanes.get('cpu3')!(0);
	const second = threads.unpack(cpusAnswer([[2, 2, 'b'], [2, 3, 'c']], [0, 10, 0, 1, 10, 5, 10, 1, 1, 10])).lanes.get('cpu3')!(100);
	assert.deepEqual([...first.thread!], [0, 1]);
	assert.deepEqual([...second.thread!], [1, 2]);
	assert.deepEqual([...second.start], [100, 115]);
	assert.deepEqual(threads.all.map(({ comm }) => comm), ['a', 'b', 'c']);
});

const devicesAnswer = (names: DevicesAnswer['names'], runs: number[], works: number[]): DevicesAnswer => ({
	base: '0', length: 100, pixel: 1, cut: false, left: 0, names, threads: [{ pid: 1, tid: 2, comm: 'launcher', process: 'train' }],
	streams: [{ host: 'h', pid: 1, process: 'train', device: 0, stream: 7, kernels: 2, copies: 0, bytes: 0,
		ns: { kernels: 20, copies: 0, idle: 80, unknown: 0 }, runs, works }],
});

test('what a stream ran keeps its name and its launch, in each answer', () => {
	const works = new DeviceWorks(), gemm = { name: 'gemm', kind: 'kernel' } as const, copy = { name: 'gemm', kind: 'copy' } as const;
	const first = works.unpack(devicesAnswer([gemm], [5, 10, 0, 1, 10, 5, 10, 0, 3, 8], [10, 0, 1, 4, 9, 0, 0, 0])).lanes.get('gpu1.0.7')!(0);
	const second = works.unpack(devicesAnswer([copy, gemm], [0, 10, 1, 1, 10, 0, 10, 0, 1, 10], [10, 0, 9, 4, 10, 64])).lanes.get('gpu1.0.7')!(100);
	assert.deepEqual([...first.thread!, ...second.thread!], [0, 0, 0, 1]);
	assert.deepEqual(works.workOf(first, 0), { name: gemm, busy: 10, bytes: 0, launcher: { pid: 1, tid: 2, comm: 'launcher', process: 'train' }, since: 4 });
	assert.deepEqual(works.workOf(first, 1), { name: gemm, busy: 9, bytes: 0, launcher: null, since: 0 });
	// of a thread that is not in the list, and of an answer that ends too soon
	assert.equal(works.workOf(second, 0)!.launcher, null);
	assert.deepEqual(works.workOf(second, 1), { name: copy, busy: 10, bytes: 64, launcher: null, since: 0 });
	assert.equal(works.workOf(second, -1), null);
});

test('names have hues of their own while there are some, copies are low, and what is not known is hatched', () => {
	const works = new DeviceWorks();
	const names = Array.from({ length: 8 }, (_, i) => ({ name: `kernel ${i}`, kind: 'kernel' as const }));
	works.unpack(devicesAnswer([...names, { name: 'copy', kind: 'copy' }, { name: '', kind: 'unknown' }], [], []));
	const { look, place } = works.lookOf('dark');
	assert.equal(new Set([...place].slice(0, 8).map((at) => look.colour[at])).size, 8);
	assert.deepEqual([0, 8, 9].map((i) => [look.height[place[i]!], look.isHatched[place[i]!]]), [[1, 0], [0.5, 0], [1, 1]]);
});

test('many streams are folded until a reader unfolds them', () => {
	const { streams } = devicesAnswer([], [], []), many = Array.from({ length: 17 }, (_, i) => ({ ...streams[0]!, stream: i }));
	assert.deepEqual(deviceRowsOf(streams, []).map(({ key }) => key), ['devices', 'gpu1.0.7']);
	assert.equal(deviceRowsOf(streams, ['devices']).length, 1);
	assert.equal(deviceRowsOf(many, []).length, 1);
	assert.equal(deviceRowsOf(many, ['devices']).length, 18);
	assert.deepEqual(deviceRowsOf([], []), []);
});

test('the thread that is chosen fills the lanes of CPUs, and those of its process come next', () => {
	const threads = new CpuThreads();
	threads.unpack(cpusAnswer([[1, 1, 'a'], [2, 2, 'b'], [2, 3, 'c']], []));
	const heights = (chosen: string) => {
		const { look, place } = threads.lookOf('light', chosen);
		return [...place].map((at) => look.height[at]);
	};
	assert.deepEqual(heights(''), [0.75, 0.75, 0.75]);
	assert.deepEqual(heights('2.3'), [0.5, 0.75, 1]);
	const { look, place } = threads.lookOf('light', '');
	assert.equal(look.colour[place[1]!], look.colour[place[2]!], 'threads of one process have one colour');
	assert.ok(look.colour[place[0]!] !== look.colour[place[1]!]);
});

test('a slice that lies in several tiles is one slice, as long as it is', () => {
	const part = (from: number, to: number, ...packed: number[]) => ({ runs: unpackRuns(packed, from), clip: { from, to }, isFine: true });
	// class 1 from 50 to 250, cut where tiles of 100 end; then class 2, and class 2 again: one merged with others
	const parts = [part(0, 100, 0, 50, 0, 1, 50, 0, 50, 1, 1, 50), part(100, 200, 0, 100, 1, 1, 100),
		part(200, 300, 0, 50, 1, 1, 50, 0, 50, 2, 1, 50), part(300, 400, 0, 100, 2, 3, 100)];
	for (const at of [60, 150, 220])
		assert.deepEqual(extentOf(parts, at), { from: 50, to: 250, isMore: false });
	assert.deepEqual(extentOf(parts, 10), { from: 0, to: 50, isMore: false });
	assert.deepEqual(extentOf(parts, 270), { from: 250, to: 300, isMore: false });
	// what is beside these tiles is not known
	assert.deepEqual(extentOf(parts.slice(1), 150), { from: 100, to: 250, isMore: true });
	assert.deepEqual(extentOf(parts.slice(0, 2), 150), { from: 50, to: 200, isMore: true });
	assert.equal(extentOf([], 5), null);
	assert.equal(goesOn(parts[1]!, 0, parts[0]), true);
	assert.equal(goesOn(parts[3]!, 0, parts[2]), false);
});

test('a small part of the CPUs looks small beside a large one', () => {
	const gauge = (group: string, ...values: (number | null)[]): Gauge =>
		({ group, name: '', object: '', title: '', unit: 'ns', level: false, average: 0, least: 0, most: 0, last: 0, values } as unknown as Gauge);
	const user = gauge('cpu', 1.5e9, null), stolen = gauge('cpu', 1e6), disk = gauge('disk', 100);
	assert.deepEqual([user, stolen, disk].map((one) => scaleOf(one, [user, stolen, disk])), [1.5e9, 1.5e9, 100]);
});

test('many CPUs are folded until a reader unfolds them', () => {
	const many = Array.from({ length: 64 }, (_, i) => i);
	assert.deepEqual(cpuRowsOf([0, 1], []).map(({ key }) => key), ['cpus', 'cpu0', 'cpu1']);
	assert.equal(cpuRowsOf([0, 1], ['cpus']).length, 1);
	assert.equal(cpuRowsOf(many, []).length, 1);
	assert.equal(cpuRowsOf(many, ['cpus']).length, 65);
	assert.deepEqual(cpuRowsOf([], []), []);
});

test('zooming keeps its moment, stays within the whole, and can be undone', () => {
	const whole = { from: 0, to: 1e9 };
	const close = zoomed(whole, 0.25, 0.1, whole);
	assert.equal(close.to - close.from, 1e8);
	assert.equal(close.from + (close.to - close.from) * 0.25, 2.5e8);
	assert.deepEqual(zoomed(close, 0.5, 1e9, whole), whole);
	assert.equal(zoomed(close, 0.5, 1e-30, whole).to - zoomed(close, 0.5, 1e-30, whole).from, NARROWEST);
	assert.deepEqual(moved(close, 1e12, whole), { from: 9e8, to: 1e9 });
	assert.deepEqual(fitted({ from: -5, to: 5 }, { from: 0, to: 1000 }), { from: 0, to: NARROWEST });
	const undo = new Undo();
	undo.note(whole, 0);
	undo.note(close, 100);
	undo.note(close, 200, true);
	assert.deepEqual([undo.back(), undo.back(), undo.back()], [close, whole, null]);
});

const laneOf = (pid: number, tid: number, comm: string, ns: number[], first = 0, last = 1000): LaneRow =>
	({ host: 'h', pid, tid, goroutine: comm.startsWith('goroutine'), kind: comm.startsWith('goroutine') ? 'goroutine' : 'thread', comm, process: `p${pid}`, service: `s${pid}`, command: `/srv/p${pid} -x`, not_linked: [], first, last, ns, slices: ns.map((time) => (time ? 1 : 0)) });
const CLASSES = ['on-cpu', 'lock'];
const LANES = [laneOf(1, 1, 'main', [5, 90]), laneOf(1, 2, 'io', [50, 0]), laneOf(9, 9, 'idle', [1, 0])];
const keys = (chosen: Partial<Parameters<typeof rowsOf>[2]>) => rowsOf(LANES, CLASSES,
	{ order: 'busy', find: '', pinned: [], hidden: [], folded: [], isApart: false, ...chosen }, 1000).map(({ kind, key }) => `${kind[0]}${key}`);

/** A server that starts a thread for each request: two at a time, 20 of 50 ns each, beside one that is always there. */
const REQUESTS = [laneOf(1, 1, 'main', [5, 90]), ...Array.from({ length: 20 }, (_, i) =>
	laneOf(1, 100 + i, 'worker', [1, 1], Math.floor(i / 2) * 60, Math.floor(i / 2) * 60 + 50))];
const USUAL = { order: 'busy', find: '', pinned: [], hidden: [], folded: [], isApart: false } as const;

test('threads that live for a short time share rows', () => {
	const rows = rowsOf(REQUESTS, CLASSES, USUAL, 1000);
	assert.deepEqual(rows.map(({ kind, lanes }) => [kind, lanes.length]), [['process', 0], ['lane', 0], ['pack', 10], ['pack', 10]]);
	const pack = rows[2]!, keysAt = (moment: number) => lanesOf(rowAt(pack, moment)).map(({ key }) => key);
	assert.deepEqual(keysAt(0), ['1.100']);
	assert.deepEqual(keysAt(60), ['1.102']);
	assert.equal(rowAt(pack, 55), pack); // between two of them
	assert.equal(rowAt(pack, 5000), pack);
	assert.deepEqual(lanesIn(pack, { from: 55, to: 121 }).map(({ key }) => key), ['1.102', '1.104']);
	assert.equal(placesOfLanes(rows).get('1.119'), 3);
	assert.equal(rowsOf(REQUESTS, CLASSES, { ...USUAL, isApart: true }, 1000).length, 22);
	// where they live at the same time there is nothing to share
	assert.ok(rowsOf(REQUESTS.map((row) => ({ ...row, first: 0, last: 10 })), CLASSES, USUAL, 1000).every(({ kind }) => kind !== 'pack'));
	assert.ok(rowsOf(REQUESTS.slice(0, 8), CLASSES, USUAL, 1000).every(({ kind }) => kind !== 'pack'));
});

test('time in which nothing of any thread is known is not shown', () => {
	assert.deepEqual(livesOf(REQUESTS.slice(3, 7), 1000), { from: 60, to: 170 });
	assert.deepEqual(livesOf([], 1000), { from: 0, to: 1000 });
});

test('short processes of one name are one', () => {
	const compilers = Array.from({ length: 30 }, (_, i) => ({ ...laneOf(100 + i, 100 + i, 'cc', [1, 0], i * 30, i * 30 + 30), process: 'cc' }));
	const rows = rowsOf([laneOf(1, 1, 'make', [1, 90]), ...compilers], CLASSES, USUAL, 1000);
	assert.deepEqual(rows.map(({ kind, key, processes, threads }) => [kind, key, processes, threads]),
		[['process', 'name cc', 30, 30], ['pack', 'name cc pack 0', 0, 0], ['process', '1', 0, 1], ['lane', '1.1', 0, 0]]);
	assert.equal(rowsOf(compilers, CLASSES, { ...USUAL, hidden: ['name cc'] }, 1000).length, 0);
	assert.equal(rowsOf(compilers, CLASSES, { ...USUAL, folded: ['name cc'] }, 1000).length, 1);
	assert.equal(rowsOf(compilers, CLASSES, { ...USUAL, isApart: true }, 1000).length, 60);
});

test('lanes are grouped, sorted, found, pinned, hidden and folded', () => {
	assert.deepEqual(keys({}), ['p1', 'l1.2', 'l1.1', 'p9', 'l9.9']);
	assert.deepEqual(keys({ order: 'waiting' }), ['p1', 'l1.1', 'l1.2', 'p9', 'l9.9']);
	assert.deepEqual(keys({ order: 'tid' }), ['p1', 'l1.1', 'l1.2', 'p9', 'l9.9']);
	assert.deepEqual(keys({ find: 'IO' }), ['p1', 'l1.2']);
	const beside = [...LANES, laneOf(1, 1, 'goroutine 1', [2, 0]), laneOf(7, 3, 'goroutine 3', [1, 1])];
	const rows = (hidden: string[]) => rowsOf(beside, CLASSES, { order: 'tid', find: '', pinned: [], hidden, folded: [], isApart: false }, 1000).map(({ key }) => key);
	assert.deepEqual(rows([]), ['1', '1.1', '1.2', '1.g', '1.g1', '7.g', '7.g3', '9', '9.9']);
	assert.deepEqual(rows(['1.g']), ['1', '1.1', '1.2', '7.g', '7.g3', '9', '9.9']);
	assert.deepEqual(keys({ find: '9' }), ['p9', 'l9.9']);
	assert.deepEqual(keys({ find: '/srv/p9' }), ['p9', 'l9.9']);
	assert.deepEqual(keys({ pinned: ['9.9', '7.7'] })[0], 'lpinned 9.9');
	assert.deepEqual(keys({ hidden: ['1.2', '9'] }), ['p1', 'l1.1']);
	assert.deepEqual(keys({ folded: ['1'] }), ['p1', 'p9', 'l9.9']);
});
