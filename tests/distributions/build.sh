#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2086
# Builds stackcam on another Debian than this one, with its compilers, headers and libraries, and films with what was
# built: on this machine's kernel, in a root of its own. Needs root and debootstrap.
#
#	build.sh BUILD SUITE	for example: build.sh build trixie
#
# Prints "passed distribution-SUITE", "failed …" or "skipped …: reason". The root and what is built there stay in
# BUILD/distributions for the next time.
set -u
build=$(readlink -f "$1")
suite=$2
here=$(dirname "$(readlink -f "$0")")
project=$(readlink -f "$here/../..")
root=$build/distributions/$suite/root
log=$build/distributions/$suite/log
mkdir -p "$build/distributions/$suite"
build_packages=
. "$project/scripts/packages.sh"
. "$here/root.sh"

ends()
{
	echo "$1 distribution-$suite${2:+: $2}"
	exit 0
}

# The page needs hundreds of packages, and comes from the same compiler everywhere.
wanted_packages()
{
	printf '%s\n' $build_packages | grep -vxE 'nodejs|npm' | sort | paste -sd ,
}

inside()
{
	in_root "$root" "$project" /project "$@"
}

builds_and_films()
{
	[ -f "$root/build/build.ninja" ] ||
		inside meson setup --buildtype=release -Dpage=disabled /build /project || return 1
	inside ninja -C /build src/stackcam || return 1
	inside /build/src/stackcam record -o /tmp/film -- \
		sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' || return 1
	inside sh -c '/build/src/stackcam report /tmp/film | grep -w "\[kernel\]\|dash"' || return 1
	# its compiler makes other programs, and the kernel may refuse one of a verb that films nothing here
	inside sh -c '/build/src/stackcam doctor | grep "^ok *programs "'
}

: >"$log"
why=$(roots_are_possible && make_root "$root" "$suite" "$(wanted_packages)") || ends skipped "$why"
builds_and_films && ends passed
tail -n 30 "$log" >&2
ends failed
