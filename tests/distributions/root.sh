# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A Debian in a root of its own, which debootstrap makes of packages of the mirror that this machine's come from. Sourced
# by the scripts here, which name their log in $log.

# Seconds for an answer of the mirror, and for all packages.
silence=20 fetching=600

# What debootstrap, mounting and chroot need; prints why not.
roots_are_possible()
{
	if [ "$(id -u)" -ne 0 ]; then
		echo "a root of its own needs root"
	elif ! command -v debootstrap >/dev/null; then
		echo "there is no debootstrap"
	else
		return 0
	fi
	return 1
}

# The mirror that this machine's packages come from.
find_mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

# make_root FOLDER SUITE PACKAGES: a root with these packages (a list with commas), beside Debian's smallest set. It stays,
# and is made again only where other packages are needed. Prints why it cannot be had.
make_root()
{
	local folder=$1 suite=$2 packages=$3 mirror
	[ "$(cat "$folder.packages" 2>/dev/null)" != "$packages" ] || [ ! -d "$folder" ] || return 0
	mirror=$(find_mirror)
	if [ -z "$mirror" ]; then
		echo "this machine's packages come from no mirror of Debian"
		return 1
	fi
	if ! timeout $silence /usr/lib/apt/apt-helper download-file "${mirror%/}/dists/$suite/Release" \
		"$folder.Release" >>"$log" 2>&1; then
		echo "the mirror does not answer"
		return 1
	fi
	rm -rf --one-file-system "$folder" "$folder.new"
	if ! timeout $fetching debootstrap --variant=minbase ${packages:+--include="$packages"} "$suite" "$folder.new" \
		"$mirror" >>"$log" 2>&1; then
		echo "the packages could not be fetched, see $log"
		return 1
	fi
	rm -rf "$folder.new"/var/cache/apt/archives/*.deb
	mv "$folder.new" "$folder"
	echo "$packages" >"$folder.packages"
}

# in_root ROOT FOLDER PLACE COMMAND…: with a folder of this machine, read-only, at a place there. What is mounted goes
# with the command.
in_root()
{
	unshare --mount --propagation private sh -c '
		root=$1 folder=$2 place=$root$3
		shift 3
		for each in proc sys dev; do mount --rbind "/$each" "$root/$each" || exit; done
		mkdir -p "$place" && mount --bind "$folder" "$place" && mount -o remount,bind,ro "$place" || exit
		exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
		sh "$@" >>"$log" 2>&1
}
