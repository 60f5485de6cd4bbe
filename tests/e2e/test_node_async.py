# SPDX-License-Identifier: Apache-2.0
"""Why Node.js has no lanes: what its runtime knows of asynchronous calls behind an await. Should one of these fail, look again."""

import json
import subprocess

from harness import PATIENCE
from test_node import node, version_of  # pylint: disable=unused-import

# What each of three calls is told of itself, behind each of four awaits.
CALLS = """
const { AsyncLocalStorage, executionAsyncId } = require('async_hooks');
const context = new AsyncLocalStorage();
async function call() {
    const ids = [];
    for (const wait of [() => null, () => new Promise((go) => setTimeout(go, 2)), () => require('fs').promises.stat('/'),
                        () => new Promise(setImmediate)]) {
        await wait();
        ids.push(executionAsyncId());
    }
    return ids;
}
const run = (number) => process.argv[1] === 'context' ? context.run({ number }, call) : call();
Promise.all([1, 2, 3].map(run)).then((ids) => console.log(JSON.stringify(ids)));
"""


def ids_of(command, *args):
    done = subprocess.run([*command, "-e", CALLS, *args], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return json.loads(done.stdout)


def test_no_call_has_an_id_behind_an_await(node):
    assert ids_of(node) == [[0] * 4] * 3


def test_contexts_have_ids_only_where_they_are_hooks(node):
    ids = [one for call in ids_of(node, "context") for one in call]
    # since 24 a context is a frame that V8 keeps (AsyncContextFrame), and hooks have no part in it
    if int(version_of(node)[1:].split(".")[0]) >= 24:
        assert not any(ids), ids
    else:
        # each continuation has one of its own: a call has as many as it awaits
        assert all(ids) and len(set(ids)) == len(ids), ids
