#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the page.
#
#	build.sh FOLDER MODE	writes into FOLDER index.html, app.js, more.js (the views that load when one is opened), chunk.js
#				(what both need), chinese.js (the page's words in Chinese), app.css and icon.svg, the
#				page of serve and play;
#				offline.js and offline.css, of which offline.py makes that of one flame graph; and
#				page.d for ninja
#
# Needs Node.js (18 or later) and npm, which fetches the packages of package-lock.json into FOLDER/npm, once for
# each state of that file. None of their scripts is run. Where they cannot be fetched, MODE "auto" makes empty files:
# a stackcam without its page is of more use than none.
set -eu
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1/npm"
target=$1
out=$(readlink -f "$1")

if ! cmp -s "$here/package-lock.json" "$out/npm/fetched"; then
	rm -f "$out/npm/fetched"
	cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$out/npm/"
	(cd "$out/npm" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error) || {
		if [ "$2" = auto ]; then
			echo "web/build.sh: the packages of the page could not be fetched by npm: stackcam is" \
				"built without its page; 'touch web/build.sh' lets the next build try again" >&2
			for file in index.html app.js more.js chunk.js chinese.js app.css icon.svg offline.js offline.css; do
				: >"$out/$file"
			done
			echo "$target/index.html:" >"$out/page.d"
			exit 0
		fi
		echo "web/build.sh: the packages of the page could not be fetched by npm" >&2
		exit 1
	}
	cp "$here/package-lock.json" "$out/npm/fetched"
fi

cd "$here"
export NODE_PATH="$out/npm/node_modules"

# bundle OPTION…: what all of the page's files have in common.
bundle()
{
	"$out/npm/node_modules/.bin/esbuild" --bundle --minify --format=esm --target=es2022 --charset=utf8 \
		--external:./chinese.js --legal-comments=none --log-level=warning --jsx=automatic \
		--jsx-import-source=preact --outdir="$out" "$@"
}

bundle app=src/main.tsx --splitting --chunk-names='[name]' --metafile="$out/meta.json"
rm -f "$out/more.css" # app.css has it
bundle chinese=src/text/chinese.ts offline=src/offline/main.tsx --metafile="$out/meta_alone.json"
node depfile.mjs "$target/index.html" "$out/meta.json" "$out/meta_alone.json" >"$out/page.d"
cp index.html icon.svg "$out/"
