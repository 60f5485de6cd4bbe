# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# What the scripts that build packages share: where the project is, its version, a copy of its sources.
project=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
. "$project/scripts/packages.sh"
version=$(sed -n "s/^\tversion: '\(.*\)',/\1/p" "$project/meson.build")

# Two builds of the same sources are the same, byte for byte: their times are that of the version.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*>  //p;T;q' "$project/dist/debian/changelog")" +%s)}
export LC_ALL=C TZ=UTC
umask 022

# say WORDS…: progress, beside what a script prints for others to read.
say()
{
	printf '%s\n' "$*" >&2
}

# sources_that EXPRESSION…: files of the project, as find knows them, without what was built there.
sources_that()
{
	(cd "$project" && find . \( -path './build*' -o -path ./.git -o -path './stackcam*' -o -name node_modules -o \
		-name __pycache__ \) -prune -o -type f "$@")
}

# is_current FILE: it is there, and no source is newer.
is_current()
{
	[ -f "$1" ] && [ -z "$(sources_that -newer "$1" -print -quit)" ]
}

# copy_sources FOLDER: the files of the working tree.
copy_sources()
{
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$project" && if [ -e .git ]; then
		git ls-files -z --cached --others --exclude-standard
	else
		sources_that -print0
	fi | xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' sh |
		tar --null -T - -cf -) | tar -xf - -C "$1"
}
