#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stores processes anew: make.sh BUILD-FOLDER NAME COMMAND…, or make.sh BUILD-FOLDER alone for what Debian has. The
# command gets a program of this folder, without the environment, so that nothing of the machine comes along.
#
#	make.sh build cpython-3.13 LD_LIBRARY_PATH=/opt/python3.13/lib /opt/python3.13/bin/python3.13 work.py
#
# UNTIL is what must stand in the stack, WARM how many seconds the program works before. ROOT is a folder that is the
# command's root, as tests/e2e/suites.py unpacks them; the program is in /tmp/stored then.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/stored
shift

store()
{
	local name=$1 pid status=0
	shift
	# what is stored has the paths: they shall not be those of this machine
	[ -z "${ROOT:-}" ] || set -- unshare --mount --propagation private sh -ec '
		mount --bind "$1" /mnt
		for folder in proc dev tmp; do mount --rbind /$folder /mnt/$folder; done
		shift
		exec chroot /mnt "$@"' sh "$ROOT" "$@"
	(cd $work && exec env -i "$@") >/dev/null 2>&1 &
	pid=$!
	# compiled code comes after a while
	sleep "${WARM:-2}"
	"$build/tests/unit/runtime/store" --until "${UNTIL:-busy}" $pid "$here/$name" || status=$?
	kill -9 $pid
	wait $pid 2>/dev/null || true
	[ $status -eq 0 ] && ls -l "$here/$name.process"
}

mkdir -p $work
trap 'rm -rf $work' EXIT
cp "$here"/work.* "$here"/Work.java $work/
! command -v javac >/dev/null || javac --release 8 -Xlint:-options -d $work $work/Work.java
! command -v go >/dev/null ||
	env HOME=$work GO111MODULE=off go build -ldflags='-s -w' -o $work/work-go $work/work.go

if [ $# -gt 0 ]; then
	store "$@"
	exit
fi
store cpython-3.11-debian /usr/bin/python3 work.py
for version in 5.1 5.2 5.3 5.4; do
	store lua-$version lua$version work.lua
done
store luajit-2.1 luajit work.lua
store luajit-2.1-interpreted luajit -joff work.lua
store v8-node18 node work.js
store v8-interpreted node --no-opt --no-sparkplug work.js
export UNTIL=descend # busy becomes a part of what calls it
store hotspot-17 java -XX:+UseSerialGC -Xmx64m -cp . Work
store hotspot-17-interpreted java -Xint -XX:+UseSerialGC -Xmx64m -cp . Work
export UNTIL=work-go # native frames
store go-1.19 ./work-go
