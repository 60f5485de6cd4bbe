#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2046,SC2086
# Builds stackcam on a Debian 12 machine, films the machine for 10 seconds and shows what was hot.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
. scripts/packages.sh

log=$(mktemp -t stackcam-run.XXXXXX) || exit 1
trap 'rm -f "$log"' EXIT

say()
{
	printf '%s\n' "$*"
}

# quietly WORDS COMMAND…: says what is done; what the command prints is shown only if it fails.
quietly()
{
	local words=$1
	shift
	printf '%s … ' "$words"
	if "$@" >"$log" 2>&1 </dev/null; then
		say "done"
	else
		say "failed"
		cat "$log" >&2
		say "run.sh: $words: '$*' failed; its output is above" >&2
		exit 1
	fi
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null; then
		say "You are not root: sudo is used to install packages and to film."
		as_root=(sudo)
		sudo -v || exit 1
	else
		say "run.sh: installing packages and filming need root, and there is no sudo:" \
			"run it as root" >&2
		exit 1
	fi
fi

if [ -n "$(missing_packages $build_packages)" ]; then
	if ! command -v apt-get >/dev/null; then
		say "run.sh: this is no Debian (there is no apt-get): install these by other means," \
			"then build with 'meson setup build && ninja -C build':" $build_packages >&2
		exit 1
	fi
	quietly "Installing what the build needs" install_packages $build_packages
fi

# Another compiler's new warning is no reason not to build here.
[ -f build/build.ninja ] ||
	quietly "Setting up the build" meson setup build --buildtype=release -Dwerror=false
quietly "Building stackcam" ninja -C build src/stackcam

stackcam=build/src/stackcam
say "Filming this machine for 10 seconds …"
"${as_root[@]}" $stackcam record -a -F 99 -d 10 -o stackcam.film
status=$?
if [ $status -ne 0 ]; then
	say "run.sh: filming failed (status $status); 'stackcam doctor' says what is allowed here:" >&2
	"${as_root[@]}" $stackcam doctor >&2
	exit $status
fi
[ ${#as_root[@]} -eq 0 ] || sudo chown "$(id -u):$(id -g)" stackcam.film

say
say "The hottest functions:"
$stackcam report stackcam.film --limit 15 || exit 1
$stackcam report stackcam.film --format html >stackcam.html || exit 1

say
say "The film:        $PWD/stackcam.film"
say "The flame graph: $PWD/stackcam.html (open it in a browser)"
say
say "What to try next:"
say "  $stackcam record -- COMMAND          films a command with its children"
say "  $stackcam record -p PID -d 10        films a process that runs already"
say "  $stackcam report --format tree       shows the film as a tree"
say "  $stackcam --help                     lists everything"
