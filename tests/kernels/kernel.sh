# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Debian's kernels, for the tests that boot them. Sourced; $cache is where they are kept.

# kernel_of RELEASE: the path of a kernel of that series; downloads it when it is not there.
kernel_of()
{
	local release=$1 package
	if ! ls "$cache/$release"/boot/vmlinuz-* >/dev/null 2>&1; then
		package=$(apt-cache search --names-only "^linux-image-${release//./\\.}\\.[0-9][^ ]*-amd64\$" |
			awk '{print $1}' | grep -vE 'cloud|rt-|unsigned|dbg' | sort -V | tail -n 1)
		[ -n "$package" ] || return 1
		(cd "$cache" && apt-get download -qq "$package" >/dev/null 2>&1) || return 1
		dpkg-deb -x "$cache/$package"_*.deb "$cache/$release.new" || return 1
		rm -f "$cache/$package"_*.deb
		rm -rf "$cache/${release:?}"
		mv "$cache/$release.new" "$cache/$release"
	fi
	ls "$cache/$release"/boot/vmlinuz-* | head -n 1
}
