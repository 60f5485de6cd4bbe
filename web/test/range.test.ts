// SPDX-License-Identifier: Apache-2.0
// How often live mode asks, and in how many steps a range is drawn.
import assert from 'node:assert/strict';
import test from 'node:test';
import { liveBeat } from '../src/state/range';

const lasting = (seconds: number) => ({ from: 1000, to: 1000 + seconds });

test('live mode asks when a sixtieth of the range is over', () => {
	assert.equal(liveBeat(null), 5000);
	assert.equal(liveBeat(lasting(60)), 5000);
	assert.equal(liveBeat(lasting(300)), 5000);
	assert.equal(liveBeat(lasting(15 * 60)), 15000);
	assert.equal(liveBeat(lasting(3600)), 30000);
	assert.equal(liveBeat(lasting(86400)), 30000);
});
