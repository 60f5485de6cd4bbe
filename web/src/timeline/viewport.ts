// SPDX-License-Identifier: Apache-2.0
// Which time is in sight: zooming, moving, and what undoes it.
import type { Stretch } from './time';

export const NARROWEST = 100; // ns

/** Within the whole, and not narrower than can be drawn. */
export function fitted({ from, to }: Stretch, whole: Stretch): Stretch {
	const length = Math.min(Math.max(to - from, NARROWEST), Math.max(whole.to - whole.from, NARROWEST));
	const middle = (from + to) / 2;
	const start = Math.min(Math.max(middle - length / 2, whole.from), Math.max(whole.to - length, whole.from));
	return { from: start, to: start + length };
}

/** Closer (factor below 1) or further; the moment at a part of the width stays where it is. */
export function zoomed({ from, to }: Stretch, part: number, factor: number, whole: Stretch): Stretch {
	const length = Math.min(Math.max((to - from) * factor, NARROWEST), whole.to - whole.from);
	const at = from + (to - from) * part;
	return fitted({ from: at - length * part, to: at + length * (1 - part) }, whole);
}

export function moved({ from, to }: Stretch, by: number, whole: Stretch): Stretch {
	return fitted({ from: from + by, to: to + by }, whole);
}

/** With a little of what is around it. */
export function widened({ from, to }: Stretch): Stretch {
	const around = (to - from) / 8;
	return { from: from - around, to: to + around };
}

const STEPS = 100;
const STILL = 600; // ms: what comes sooner after a step belongs to it

/** What was in sight before: one step for each time that the view came to rest, and for each jump. */
export class Undo {
	private readonly steps: Stretch[] = [];
	private last = -Infinity;

	/** To be called before a change; a jump is a step of its own. */
	note(view: Stretch, now: number, isJump = false): void {
		if (isJump || now - this.last > STILL) {
			this.steps.push(view);
			if (this.steps.length > STEPS)
				this.steps.shift();
		}
		this.last = now;
	}
	/** Null: there is nothing to undo. */
	back(): Stretch | null {
		this.last = -Infinity;
		return this.steps.pop() ?? null;
	}
}
