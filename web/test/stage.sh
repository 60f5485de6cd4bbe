#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds stage.html, which shows FlamePanel alone.
#
#	stage.sh FOLDER OUTPUT-FOLDER	FOLDER is where web/build.sh has built the page
set -eu
here=$(dirname "$(readlink -f "$0")")
npm=$(readlink -f "$1")/npm/node_modules
mkdir -p "$2"
out=$(readlink -f "$2")
cd "$here"
NODE_PATH=$npm "$npm/.bin/esbuild" stage.tsx --bundle --minify --format=iife --target=es2022 --charset=utf8 \
	--jsx=automatic --jsx-import-source=preact --log-level=warning --outfile="$out/stage.js"
cat >"$out/stage.html" <<'END'
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>stage</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="stage.css">
<style>body { height: 100vh; padding: 0 16px; }</style>
<body></body>
<script src="stage.js"></script>
</html>
END
