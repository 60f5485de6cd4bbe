#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2086,SC2154
# Builds the package of Debian, checks it, and installs, uses and removes it on fresh Debians, which have nothing but
# Debian's smallest set. Needs root; what it needs of packages it installs.
#
#	packages.sh BUILD [PACKAGES]	PACKAGES: where those of dist/build-* are, if no source is newer
#
# The tarball runs on a fresh Debian, and the image in a root of its own.
#
# Prints a line "passed NAME", "failed NAME" or "skipped NAME: reason" for each test. Fresh roots stay in
# BUILD/distributions for the next time. How long it took to a page with data is told on standard error.
set -u
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
project=$(readlink -f "$here/../..")
work=$build/distributions/packages
log=$work/log
mkdir -p "$work/built"
packages=$(readlink -f "${2:-$work/built}")
mkdir -p "$packages"
exec 3>&2
. "$project/dist/common.sh"
. "$here/root.sh"
deb=$packages/stackcam_${version}_amd64.deb

# test_case NAME COMMAND…: what it printed is shown if it fails.
test_case()
{
	local name=$1
	shift
	: >"$log"
	"$@" >>"$log" 2>&1
	case $? in
	0) echo "passed package-$name" ;;
	77) echo "skipped package-$name: packages could not be fetched" ;;
	*)
		echo "failed package-$name"
		tail -n 60 "$log" >&2
		;;
	esac
}

builds_deb()
{
	"$project/dist/build-deb" "$packages" && return
	grep -q "could not be fetched by npm" "$log" && return 77
	return 1
}

# Errors and warnings of lintian, which knows Debian's policy. Hints of lower levels are not counted.
is_clean()
{
	lintian --fail-on error,warning "${deb%.deb}.changes"
}

# has_version: the changelog of the package and meson.build have the same.
has_version()
{
	[ "$(dpkg-deb -f "$deb" Version)" = "$version" ]
}

# Another build in another folder has the same bytes.
is_the_same_again()
{
	rm -rf "$work/again" && "$project/dist/build-deb" "$work/again/elsewhere" && cmp "$deb" "$work/again/elsewhere/$(basename "$deb")"
}

# goes_in_and_out SUITE: on a root that is made for it, and removed.
goes_in_and_out()
{
	local root=$work/installed status
	rm -rf --one-file-system "$root"
	cp -a "$work/$1" "$root" && cp "$here/installed.sh" "$root/root/" && cp /etc/resolv.conf "$root/etc/" || return
	in_root "$root" "$packages" /packages bash /root/installed.sh "/packages/$(basename "$deb")"
	status=$?
	sed -n "s/^told /$1: /p" "$log" >&3
	rm -rf --one-file-system "$root"
	return $status
}

# runs_elsewhere: the tarball, in a folder of a root that has none of its libraries.
runs_elsewhere()
{
	local root=$work/elsewhere
	rm -rf --one-file-system "$root"
	cp -a "$work/trixie" "$root" || return
	# shellcheck disable=SC2016
	in_root "$root" "$packages" /packages sh -ec '
		mkdir -p /srv/some/where && cd /srv/some/where && tar -xzf "/packages/$1"
		cd / && stackcam=$(echo /srv/some/where/*/bin/stackcam)
		if ldd "$stackcam" | grep "not found"; then exit 1; fi
		$stackcam record -o /tmp/film -- sh -c "i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done"
		$stackcam report /tmp/film | grep -w dash
		$stackcam record -e mem-alloc --mem-inject 1 -o /tmp/film -- sort /etc/passwd
		PATH=$(dirname "$stackcam"):$PATH && stackcam doctor | grep "^ok *programs "' sh "stackcam-$version-x86_64.tar.gz"
	local status=$?
	rm -rf --one-file-system "$root"
	return $status
}

if ! install_packages $build_packages $deb_packages $image_packages patchelf debootstrap >"$log" 2>&1; then
	echo "skipped packages: what builds them could not be fetched, see $log"
	exit 0
fi
is_current "$deb" || test_case deb builds_deb
is_current "$deb" || exit 0
test_case version has_version
test_case lint is_clean
why=$(roots_are_possible) || {
	echo "skipped package-roots: $why"
	exit 0
}
for suite in bookworm trixie; do
	if why=$(make_root "$work/$suite" "$suite" ""); then
		test_case "$suite" goes_in_and_out "$suite"
	else
		echo "skipped package-$suite: $why"
	fi
done
test_case tarball "$project/dist/build-tarball" "$packages"
[ ! -d "$work/trixie" ] || test_case tarball-runs runs_elsewhere
test_case image "$project/dist/build-image" "$packages"
test_case image-runs "$here/image.py" "$packages/stackcam-$version-image.tar" "$work/image"
# a second build takes minutes; where turns are taken, other checks come first
[ -n "${STACKCAM_VARIANTS-}" ] || test_case reproducible is_the_same_again
