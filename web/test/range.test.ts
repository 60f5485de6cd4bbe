// SPDX-License-Identifier: Apache-2.0
// How often live mode asks, and in how many steps a range is drawn.
import assert from 'node:assert/strict';
import test from 'node:test';
import { liveBeat, stepsOf } from '../src/state/range';

const lasting = (seconds: number) => ({ from: 1000, to: 1000 + seconds });

test('live mode asks less often where a step is a minute', () => {
	assert.equal(liveBeat(null), 5000);
	assert.equal(liveBeat(lasting(300)), 5000);
	for (const minutes of [10, 15, 60, 1440]) {
		assert.equal(liveBeat(lasting(minutes * 60)), 10000);
		assert.ok(stepsOf(lasting(minutes * 60)) <= minutes + 1);
	}
	assert.ok(stepsOf(lasting(300)) > 6);
});
