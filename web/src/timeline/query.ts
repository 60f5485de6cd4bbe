// SPDX-License-Identifier: Apache-2.0
// What is searched for in the timeline: "class:lock thread:worker* longer:10ms", beside words of names and numbers.
import type { LaneRow } from './answers';
import { familyOf } from './classes';
import type { Runs } from './runs';

export interface Query {
	/** In lower case; of names, or a number. '': any */
	words: string;
	/** What names of each kind must be like; null: any. */
	thread: RegExp | null;
	process: RegExp | null;
	service: RegExp | null;
	/** Names of classes, or of their families; none: any. */
	classes: readonly string[];
	/** ns; 0: any */
	longer: number;
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const NAMES = ['thread', 'process', 'service'] as const;

/** "worker*", as a shell has it. */
function globOf(glob: string): RegExp {
	return new RegExp(`^${glob.replace(/[\\^$.|+()[\]{}]/g, '\\$&').replace(/\*+/g, '.*').replace(/\?/g, '.')}$`, 'i');
}

/** Words that the language does not have are searched for in names. */
export function queryOf(text: string): Query {
	const query: Query = { words: '', thread: null, process: null, service: null, classes: [], longer: 0 };
	const words: string[] = [];
	for (const part of text.trim().split(/\s+/)) {
		const [, key = '', value = ''] = /^(\w+):(.+)$/.exec(part) ?? [];
		const name = NAMES.find((one) => one === key), time = /^(\d+(?:\.\d+)?)(ns|us|ms|s)$/.exec(value);
		if (name)
			query[name] = globOf(value);
		else if (key === 'class')
			query.classes = [...query.classes, ...value.toLowerCase().split(',')];
		else if (key === 'longer' && time)
			query.longer = Number(time[1]) * UNITS[time[2]!]!;
		else
			words.push(part);
	}
	return { ...query, words: words.join(' ').toLowerCase() };
}

/** Whether it says anything of slices. */
export const isOfSlices = ({ classes, longer }: Query) => classes.length > 0 || longer > 0;

const isOfClass = ({ classes: wanted }: Query, name: string) => !wanted.length || wanted.includes(name) || wanted.includes(familyOf(name));

/** Whether a lane is one that is searched for: its names, and that it has slices of such a class. */
export function findsLane(query: Query, row: LaneRow, classes: readonly string[]): boolean {
	const { words } = query;
	return (!words || [row.comm, row.process, row.command, row.service].some((name) => name.toLowerCase().includes(words)) ||
			String(row.tid) === words || String(row.pid) === words) &&
		(query.thread?.test(row.comm) ?? true) && (query.process?.test(row.process) ?? true) && (query.service?.test(row.service) ?? true) &&
		(!query.classes.length || row.slices.some((count, i) => count > 0 && isOfClass(query, classes[i] ?? '')));
}

/** Whether a run does not fit what is searched for. The average decides for slices that are drawn as one. */
export function isFaint(query: Query, classes: readonly string[], runs: Runs, i: number): boolean {
	return !isOfClass(query, classes[runs.class[i]!] ?? '') || (runs.end[i]! - runs.start[i]!) / Math.max(runs.slices[i]!, 1) < query.longer;
}
