# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2154,SC2086
# RDMA without a device: the kernel's rxe, which sends over a network interface, and the programs of Debian that measure by it.
# Sourced by boot.sh, behind kernel.sh.

# In the order in which they are loaded; what a kernel has built in is not there.
rdma_modules="udp_tunnel ip6_udp_tunnel configfs ib_core ib_uverbs iw_cm ib_cm rdma_cm rdma_ucm crc32_generic rdma_rxe dummy"
rdma_packages="perftest ibverbs-utils ibverbs-providers iproute2"
rdma_programs="usr/bin/ib_send_bw usr/bin/ib_read_lat usr/bin/ib_write_bw usr/bin/ibv_rc_pingpong usr/bin/rdma"

# rdma_fetch: downloads the programs of this machine's suite, with all that they need, and unpacks them into $cache/rdma.
rdma_fetch()
{
	local suite file
	[ ! -d "$cache/rdma" ] || return 0
	kernel_index || return 1
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	rm -rf "$cache/rdma.new"
	mkdir -p "$cache/rdma.new"/usr/{bin,sbin,lib,lib64}
	for file in bin sbin lib lib64; do
		ln -s "usr/$file" "$cache/rdma.new/$file"
	done
	kernel_apt timeout 600 apt-get -qq -y -t "$suite" --no-install-recommends --download-only install $rdma_packages || return 1
	for file in "$cache"/apt/archives/*.deb; do
		dpkg-deb -x "$file" "$cache/rdma.new" || return 1
	done
	rm -f "$cache"/apt/archives/*.deb
	mv "$cache/rdma.new" "$cache/rdma"
}

# rdma_image SERIES FILE: what is to be added to the image for a kernel that has rxe: its modules, and the programs.
rdma_image()
{
	local modules root name file
	modules=$(find "$cache/$1" -name 'rdma_rxe.ko*' | head -n 1)
	modules=${modules%/drivers/infiniband/*}
	[ -n "$modules" ] || return 1
	(flock 9 && rdma_fetch) >"$cache/rdma.fetched" 2>&1 9>"$cache/lock" || return 1
	root=$(mktemp -d)
	mkdir -p "$root"/{modules,rdma}
	for name in $rdma_modules; do
		file=$(find "$modules" -name "$name.ko*" | head -n 1)
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/$name.ko" ;;
		?*) cp "$file" "$root/modules/$name.ko" ;;
		esac
	done
	# in a root of their own, as their libraries may be others than those that stackcam needs here
	# where this machine's suite keeps programs and libraries in /usr alone, the first ones are links to there
	(cd "$cache/rdma" && {
		printf '%s\n' $rdma_programs bin/ip usr/bin/ip bin sbin lib lib64
		find etc/libibverbs.d lib/ lib64/ usr/lib64 usr/lib/x86_64-linux-gnu -maxdepth 3 '(' -name '*.so*' -o -name '*.driver' ')'
	} | while read -r file; do [ ! -e "$file" ] || echo "$file"; done | sort -u | cpio -pdm --quiet "$root/rdma")
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$2"
	rm -rf "$root"
}
