#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2016
# Boots a Debian 12 with systemd under qemu, installs this build of stackcam as doc/serve.md says, and runs
# inside.sh there: the units must start it, and it must do under them what it does elsewhere. Takes some minutes,
# and root, whom debootstrap needs.
#
#	boot.sh BUILD [SERIES]	SERIES: of the kernel, 6.1 (the default) or 6.12
#
# Prints a line "passed NAME", "failed NAME" or "skipped NAME: reason" for each test. What is downloaded stays in
# BUILD/kernels and BUILD/systemd. Packages, beside those of tests/kernels: debootstrap, e2fsprogs, kmod.
set -eu
build=$(readlink -f "$1")
series=${2:-6.1}
here=$(dirname "$(readlink -f "$0")")
cache=$build/kernels
work=$build/systemd
log=$work/$series.log
mkdir -p "$cache" "$work"
. "$here/../kernels/kernel.sh"

skip()
{
	echo "skipped systemd: $*"
	exit 0
}

# The packages that hold the libraries of stackcam, and what inside.sh needs.
packages()
{
	local library
	for library in $(ldd "$build/src/stackcam" | grep -oE '/[^ )]+'); do
		dpkg -S "*/$(basename "$library")" 2>/dev/null | grep -v '^diversion' | cut -d: -f1 |
			grep -v -- -i386 | head -n 1
	done | sort -u
	echo systemd-sysv dbus curl bpftool procps
}

# make_root: BUILD/systemd/root, from the mirror that apt uses; again only where other packages are needed.
make_root()
{
	local mirror wanted
	wanted=$(packages | tr '\n ' ',,')
	[ "$(cat "$work/packages" 2>/dev/null)" != "$wanted" ] || return 0
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Codename: bookworm' | head -n 1)
	[ -n "$mirror" ] || return 1
	rm -rf "$work/root" "$work/root.new"
	debootstrap --variant=minbase --include="${wanted%,}" bookworm "$work/root.new" "$mirror" \
		>"$work/debootstrap.log" 2>&1 || return 1
	rm -rf "$work"/root.new/var/cache/apt/archives/*.deb "$work"/root.new/usr/share/{doc,man,locale}
	mv "$work/root.new" "$work/root"
	echo "$wanted" >"$work/packages"
}

# make_disk: a file system with that root, stackcam, and a service that runs inside.sh and turns the machine off.
make_disk()
{
	local root=$work/installed
	rm -rf "$root"
	cp -a "$work/root" "$root"
	DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
	install -m 755 "$here/inside.sh" "$root/usr/local/sbin/inside"
	install -m 644 "$here/inside.service" "$root/etc/systemd/system/inside.service"
	ln -sf /etc/systemd/system/inside.service "$root/etc/systemd/system/multi-user.target.wants/inside.service"
	# without one, systemd asks at its first start who the machine is
	echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
	echo filmed >"$root/etc/hostname"
	rm -f "$work/disk"
	truncate -s 1500M "$work/disk"
	mke2fs -q -F -t ext4 -d "$root" "$work/disk"
	rm -rf "$root"
}

# make_initrd KERNEL: Debian's kernels have disks and ext4 as modules.
make_initrd()
{
	local root modules release module
	root=$(mktemp -d)
	modules=$cache/$series
	release=$(basename "$1")
	release=${release#vmlinuz-}
	mkdir -p "$root"/{bin,proc,sys,dev,disk,modules}
	cp "$(command -v busybox)" "$root/bin/"
	depmod -b "$modules" "$release"
	for module in virtio_pci virtio_blk ext4; do
		modprobe -d "$modules" -S "$release" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' >"$root/list"
	xargs -a "$root/list" cp -t "$root/modules"
	{
		echo '#!/bin/busybox sh'
		echo 'b=/bin/busybox; $b mount -t proc p /proc; $b mount -t sysfs s /sys; $b mount -t devtmpfs d /dev'
		sed 's|.*/|$b insmod /modules/|' "$root/list"
		# the disk's device appears when its driver has found it
		echo 'until $b mount -t ext4 /dev/vda /disk 2>/dev/null; do $b sleep 0.1; done'
		echo 'for i in proc sys dev; do $b mount --move /$i /disk/$i; done'
		echo 'exec $b switch_root /disk /sbin/init'
	} >"$root/init"
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"
	rm -rf "$root"
}

[ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
for program in debootstrap qemu-system-x86_64 mke2fs depmod busybox cpio; do
	command -v "$program" >/dev/null || skip "there is no $program"
done
kernel=$(kernel_of "$series") || skip "the package of the kernel cannot be had here"
make_root || skip "a Debian 12 cannot be had here, see $work/debootstrap.log"
make_disk
make_initrd "$kernel"
# no_timer_check: whether interrupts come in time is not to be asked of an emulated machine
timeout 1500 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nographic -no-reboot \
	-kernel "$kernel" -initrd "$work/initrd.gz" -drive "file=$work/disk,format=raw,if=virtio" \
	-append "console=ttyS0 quiet panic=-1 no_timer_check systemd.show_status=0" </dev/null >"$log" 2>&1 || true
tr -d '\r' <"$log" | sed -n "s/^\(passed\|failed\|told\) \(.*\)/\1 systemd-\2/p"
grep -q '^passed the-end' <(tr -d '\r' <"$log") || {
	echo "failed systemd: it did not come to its end"
	tail -n 50 "$log" >&2
}
