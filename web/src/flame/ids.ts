// SPDX-License-Identifier: Apache-2.0
// Names of nodes for links: numbers made of the names on the way to a node, so that another answer
// with the same path has the same.
import type { Labels } from './labels';
import type { Tree } from './tree';

const PRIME = 0x01000193; // of FNV-1a
const SEEDS = [0x811c9dc5, 0x2f0b4c47] as const; // two hashes: both would have to be equal by chance
const DIGITS = 7; // that 32 bits have in base 36

function hashText(text: string, hash: number): number {
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
	return hash;
}

function join(parent: number, own: number): number {
	return Math.imul((parent << 5 | parent >>> 27) ^ own, 0x9e3779b1);
}

/** The same of the names on the way to a node, without the root's: of none ''. */
export function idOfNames(names: string[]): string {
	if (!names.length)
		return '';
	return SEEDS.map((seed) => {
		const hash = names.reduce((above, name) => join(above, hashText(name, seed)), 0);
		return (hash >>> 0).toString(36).padStart(DIGITS, '0');
	}).join('');
}

/** What stands for a node in a link: '' for the root, else 14 of [0-9a-z]. */
export function idOf(tree: Tree, labels: Labels, node: number): string {
	return node === 0 ? '' : idOfNames(tree.path(node).slice(1).map((step) => labels.name[tree.label[step]!]!));
}

function hashNodes(tree: Tree, labels: Labels, seed: number): Uint32Array {
	const ofLabel = Int32Array.from(labels.name, (name) => hashText(name, seed));
	const ofNode = new Uint32Array(tree.size);

	for (let node = 1; node < tree.size; node++)
		ofNode[node] = join(ofNode[tree.parent[node]!]!, ofLabel[tree.label[node]!]!);
	return ofNode;
}

/** The node that an id stands for; -1 if this tree has none. */
export function nodeOf(tree: Tree, labels: Labels, id: string): number {
	if (id === '')
		return 0;
	if (!/^[0-9a-z]{14}$/.test(id))
		return -1;
	const wanted = [id.slice(0, DIGITS), id.slice(DIGITS)].map((part) => parseInt(part, 36));
	const [a, b] = SEEDS.map((seed) => hashNodes(tree, labels, seed));
	for (let node = 1; node < tree.size; node++) {
		if (a![node] === wanted[0] && b![node] === wanted[1])
			return node;
	}
	return -1;
}
