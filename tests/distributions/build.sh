#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2016,SC2086
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
project=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
work=$build/distributions/$suite
root=$work/root
log=$work/log
# Seconds for an answer of the mirror, and for all packages.
silence=20 fetching=600
mkdir -p "$work"
build_packages=
. "$project/scripts/packages.sh"

ends()
{
	echo "$1 distribution-$suite${2:+: $2}"
	exit 0
}

# The mirror that this machine's packages come from, with that suite.
find_mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

answers()
{
	timeout $silence /usr/lib/apt/apt-helper download-file "${1%/}/dists/$suite/Release" "$work/Release" >>"$log" 2>&1
}

# The page needs hundreds of packages, and comes from the same compiler everywhere.
wanted_packages()
{
	printf '%s\n' $build_packages | grep -vxE 'nodejs|npm' | sort
}

# make_root MIRROR: again only where other packages are needed.
make_root()
{
	rm -rf --one-file-system "$root" "$root.new"
	timeout $fetching debootstrap --variant=minbase --include="$(wanted_packages | paste -sd ,)" "$suite" \
		"$root.new" "$1" >>"$log" 2>&1 || return 1
	rm -rf "$root.new"/var/cache/apt/archives/*.deb
	mkdir "$root.new/project" "$root.new/build"
	mv "$root.new" "$root"
	wanted_packages >"$work/packages"
}

# in_root COMMAND…: what is mounted for it goes with it.
in_root()
{
	unshare --mount --propagation private sh -c '
		root=$1 project=$2
		shift 2
		for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder" || exit; done
		mount --bind "$project" "$root/project" && mount -o remount,bind,ro "$root/project" || exit
		exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
		sh "$root" "$project" "$@" >>"$log" 2>&1
}

builds_and_films()
{
	[ -f "$root/build/build.ninja" ] ||
		in_root meson setup --buildtype=release -Dpage=disabled /build /project || return 1
	in_root ninja -C /build src/stackcam || return 1
	in_root /build/src/stackcam record -o /tmp/film -- \
		sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' || return 1
	in_root sh -c '/build/src/stackcam report /tmp/film | grep -w "\[kernel\]\|dash"' || return 1
	# its compiler makes other programs, and the kernel may refuse one of a verb that films nothing here
	in_root sh -c '/build/src/stackcam doctor | grep "^ok *programs "'
}

: >"$log"
[ "$(id -u)" -eq 0 ] || ends skipped "a root of its own needs root"
command -v debootstrap >/dev/null || ends skipped "there is no debootstrap"
if [ "$(cat "$work/packages" 2>/dev/null)" != "$(wanted_packages)" ]; then
	mirror=$(find_mirror)
	[ -n "$mirror" ] || ends skipped "this machine's packages come from no mirror of Debian"
	answers "$mirror" || ends skipped "the mirror does not answer"
	make_root "$mirror" || ends skipped "the packages could not be fetched, see $log"
fi
builds_and_films && ends passed
tail -n 30 "$log" >&2
ends failed
