// SPDX-License-Identifier: Apache-2.0
// What frames are called. Names come from targets: here they become safe to show.
import type { FlameLabels } from '../api/answers';
import { safe } from '../format';
import type { FunctionName } from './contract';

/** The name of the node that stands for a parent's children that an answer had no room for. */
const SMALLER = '[smaller]';

/** Columns; the last label is the root's. */
export class Labels {
	readonly size: number;
	readonly root: number;
	/** as they came, for asking the server */
	readonly rawName: string[];
	readonly rawImage: string[];
	readonly name: string[];
	readonly image: string[];
	readonly kind: string[];
	private readonly file: string[];
	private readonly line: number[];

	constructor(from: FlameLabels, rootName: string) {
		this.root = from.name.length;
		this.size = this.root + 1;
		this.rawName = from.name;
		this.rawImage = from.image;
		this.name = [...from.name.map(safe), safe(rootName)];
		this.image = [...from.image.map(safe), ''];
		this.kind = [...from.kind, 'group'];
		this.file = from.file ?? [];
		this.line = from.line ?? [];
	}

	/** "src/parse.c", or nothing */
	fileOf(label: number): string | undefined {
		const file = this.file[label];
		return file ? safe(file) : undefined;
	}

	lineOf(label: number): number | undefined {
		return this.line[label] || undefined;
	}

	/** "src/parse.c:120", or nothing */
	place(label: number): string {
		const file = this.fileOf(label) ?? '';
		const line = this.lineOf(label);
		return file && line ? `${file}:${line}` : file;
	}

	/** As the server knows it. */
	functionName(label: number): FunctionName {
		return { name: this.rawName[label] ?? '', image: this.rawImage[label] ?? '' };
	}

	isMark(label: number): boolean {
		return this.kind[label] === 'mark';
	}

	isSmaller(label: number): boolean {
		return this.name[label] === SMALLER && this.isMark(label);
	}

	/** Whether it is code, which can be focused, hidden or shown in a sandwich. */
	isFunction(label: number): boolean {
		return !['mark', 'group', 'label'].includes(this.kind[label]!);
	}
}
