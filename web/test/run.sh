#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page's unit tests, by node's own runner.
#
#	run.sh FOLDER [NAME...]		FOLDER is where web/build.sh has built the page; names as model, search
set -eu
here=$(dirname "$(readlink -f "$0")")
out=$(readlink -f "$1")
shift
# meson's status for a test that was skipped
[ -s "$out/app.js" ] || exit 77
cd "$here"
mkdir -p "$out/test"
rm -f "$out/test/"*.mjs
[ $# -gt 0 ] || set -- *.test.ts
for name; do
	NODE_PATH=$out/npm/node_modules "$out/npm/node_modules/.bin/esbuild" "${name%.test.ts}.test.ts" --bundle \
		--platform=node --format=esm --inject:./browser.ts --log-level=warning \
		--outfile="$out/test/${name%.test.ts}.test.mjs"
done
node --test "$out/test/"*.mjs
