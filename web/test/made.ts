// SPDX-License-Identifier: Apache-2.0
// Made profiles, the same for the same numbers: for tests, and for bench/page.
import type { FlameAnswer, FlameLabels, FlameNodes, FunctionRow, Sum } from '../src/api/answers';

/** Numbers from 0 to 1 that look random (mulberry32). */
export function dice(seed: number): () => number {
	return () => {
		seed = seed + 0x6d2b79f5 | 0;
		let value = Math.imul(seed ^ seed >>> 15, 1 | seed);
		value = value + Math.imul(value ^ value >>> 7, 61 | value) ^ value;
		return ((value ^ value >>> 14) >>> 0) / 4294967296;
	};
}

export function sumOf(total: number, unit = 'ns'): Sum {
	return { from: 1000, to: 1060, samples: total, total, truncated: 0, guessed: 0, lost: 0, lost_samples: 0, unit,
		complete_from: 1000, complete_until: 1060, filmed: 60, by_films: false, by_paths: false, films_damaged: 0, films_unread: 0, films_unfetched: 0 };
}

/** A tree written as nested arrays: [name, self, ...children]; name may be "kind:name". */
export type Written = [name: string, self: number, ...children: Written[]];

export function answerOf(root: Written, before?: Written): FlameAnswer {
	const labels: FlameLabels = { name: [], image: [], kind: [] };
	const nodes: FlameNodes = { parent: [], label: [], self: [], total: [] };
	const known = new Map<string, number>();

	const add = ([name, self, ...children]: Written, parent: number): number => {
		const node = nodes.parent.push(parent) - 1;
		const [kind, own] = /^[a-z]+:(?!:)/.test(name) ? name.split(/:(.*)/s) as [string, string] : ['native', name];
		if (node > 0 && !known.has(name)) {
			known.set(name, labels.name.push(own) - 1);
			labels.image.push(kind === 'native' ? '/usr/bin/app' : kind === 'kernel' ? '[kernel]' : '');
			labels.kind.push(kind);
		}
		nodes.label.push(node > 0 ? known.get(name)! : -1);
		nodes.self.push(self);
		nodes.total.push(0);
		nodes.total[node] = children.reduce((sum, child) => sum + add(child, node), self);
		return nodes.total[node]!;
	};
	const total = add(root, 0);
	const answer: FlameAnswer = { sum: sumOf(total), unit: 'ns', labels, nodes, hidden: 0 };
	if (before) {
		const other = answerOf(before);
		if (other.nodes.parent.join() !== nodes.parent.join())
			throw new Error('both sides must have the same nodes');
		nodes.before_self = other.nodes.self;
		nodes.before_total = other.nodes.total;
		answer.before = other.sum;
	}
	return answer;
}

const IMAGES = ['/usr/bin/kv-server', '/usr/lib/x86_64-linux-gnu/libc.so.6', '/usr/lib/libstdc++.so.6', '[kernel]',
	'/usr/lib/libssl.so.3', '/usr/lib/jvm/libjvm.so', '/usr/bin/python3.11', '/srv/app/handler.py'];
const KINDS = ['native', 'native', 'native', 'kernel', 'native', 'java', 'native', 'python'];
const WORDS = ['parse', 'order', 'read', 'write', 'hash', 'lookup', 'encode', 'flush', 'lock', 'queue', 'copy', 'visit'];

function madeLabels(count: number, roll: () => number): FlameLabels {
	const labels: FlameLabels = { name: [], image: [], kind: [] };
	const word = () => WORDS[Math.floor(roll() * WORDS.length)]!;

	for (let i = 0; i < count; i++) {
		const image = Math.floor(roll() * IMAGES.length);
		const form = roll();
		labels.name.push(form < 0.4 ? `${word()}_${word()}_${i}`
			: form < 0.8 ? `store::${word()}::${word()}_${i}(std::string const&, unsigned long)` : `${word()}${i}`);
		labels.image.push(IMAGES[image]!);
		labels.kind.push(KINDS[image]!);
	}
	return labels;
}

/**
 * A tree of so many nodes, most of them deep, as profiles are: a walk goes on from a node near the last
 * one.
 */
export function madeAnswer(size: number, { seed = 1, depth = 60, labels: count = 4000, isDiff = false } = {}): FlameAnswer {
	const roll = dice(seed);
	const labels = madeLabels(count, roll);
	const parent = [-1], level = [0], self = [0], label = [-1];
	const stack = [0];

	while (parent.length < size) {
		const up = roll() < 0.5 ? 1 + Math.floor(roll() ** 12 * stack.length) : 0;
		stack.length = Math.max(stack.length - up, 1);
		if (stack.length >= depth)
			stack.length = Math.ceil(roll() * depth);
		const above = stack[stack.length - 1]!;
		const node = parent.push(above) - 1;
		level.push(stack.length);
		label.push(Math.floor(roll() ** 2 * count));
		self.push(roll() < 0.6 ? Math.ceil(1e6 * roll() ** 8 * 1000) : 0);
		stack.push(node);
	}
	return withTotals(labels, { parent, label, self, total: [] }, isDiff ? roll : null);
}

function withTotals(labels: FlameLabels, nodes: FlameNodes, roll: (() => number) | null): FlameAnswer {
	const sums = (self: number[]) => {
		const total = [...self];
		for (let node = total.length - 1; node > 0; node--)
			total[nodes.parent[node]!]! += total[node]!;
		return total;
	};
	nodes.parent[0] = 0;
	nodes.total = sums(nodes.self);
	nodes.guess = nodes.self.map((_, node) => Number(node % 97 === 5));
	const answer: FlameAnswer = { sum: sumOf(nodes.total[0]!), unit: 'ns', labels, nodes, hidden: 0 };
	if (roll) {
		nodes.before_self = nodes.self.map((self) => Math.round(self * 2 * roll() ** 2));
		nodes.before_total = sums(nodes.before_self);
		answer.before = sumOf(nodes.before_total[0]!);
	}
	answer.functions = functionsOf(answer);
	return answer;
}

/** The same answer in the order of the server: siblings by total, largest first, each before its children. */
export function inOrder(answer: FlameAnswer): FlameAnswer {
	const { nodes } = answer;
	const children: number[][] = nodes.parent.map(() => []);
	const order: number[] = [], place: number[] = [];
	const waiting = [0];

	for (let node = nodes.parent.length - 1; node > 0; node--)
		children[nodes.parent[node]!]!.push(node);
	while (waiting.length) {
		const node = waiting.pop()!;
		place[node] = order.push(node) - 1;
		waiting.push(...children[node]!.sort((a, b) => nodes.total[a]! - nodes.total[b]!));
	}
	const moved = Object.fromEntries(Object.entries(nodes).map(([name, column]: [string, number[]]) =>
		[name, order.map((node) => column[node]!)])) as unknown as FlameNodes;
	moved.parent = moved.parent.map((above) => place[above]!);
	return { ...answer, nodes: moved };
}

/** Self and total of each function; where it calls itself, the total counts once. */
export function functionsOf({ labels, nodes }: Pick<FlameAnswer, 'labels' | 'nodes'>): FunctionRow[] {
	const rows = labels.name.map((name, i): FunctionRow => ({ name, image: labels.image[i]!, kind: labels.kind[i]!,
		self: 0, total: 0, ...(nodes.before_total && { before_self: 0, before_total: 0 }) }));

	for (let node = 1; node < nodes.parent.length; node++) {
		const row = rows[nodes.label[node]!]!;
		row.self += nodes.self[node]!;
		if (nodes.before_self)
			row.before_self! += nodes.before_self[node]!;
		let above = nodes.parent[node]!;
		while (above > 0 && nodes.label[above] !== nodes.label[node])
			above = nodes.parent[above]!;
		if (above > 0)
			continue;
		row.total += nodes.total[node]!;
		if (nodes.before_total)
			row.before_total! += nodes.before_total[node]!;
	}
	return rows.filter((row) => row.total > 0 || row.before_total).sort((a, b) => b.self - a.self);
}
