#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Boots Debian's kernels under qemu and runs inside.sh there with this build of stackcam: the probes
# must load and tell the truth on kernels other than the one at hand.
#
#	boot.sh BUILD [KERNEL…]	KERNEL: a series and parameters, as 6.19 or 6.19+preempt=full (default: each series)
#
# A series with "-all" behind it, as 6.12-all, has all modules, for which there are tests of its own: rdma.
#
# With SOAK_SECONDS a program that all sources look at runs at the end for as long. The parameter only=NAME,…, as in
# 6.19+only=soak, has one test run. With STACKCAM_VARIANTS=N:TURN, of what is tried in many ways each N-th way is, others at
# another turn. With STACKCAM_UNTIL, in seconds since 1970, tests that have not begun by then are skipped.
#
# Prints a line "passed NAME", "failed NAME" or "skipped NAME: reason" for each test, and what failed ones said to standard
# error. Kernels are downloaded as Debian packages into BUILD/kernels and unpacked there, not installed.
# shellcheck disable=SC1091,SC2086,SC2154
set -eu
build=$(readlink -f "$1")
shift
here=$(dirname "$(readlink -f "$0")")
cache=$build/kernels
SOAK_SECONDS=${SOAK_SECONDS-}
mkdir -p "$cache"
. "$here/kernel.sh"
. "$here/rdma.sh"

# add_program FILE: the file and the libraries that it needs go into the image.
add_program()
{
	cp -L "$1" "$root/usr/bin/"
	add_libraries "$1"
}

# add_libraries FILE: those that it needs.
add_libraries()
{
	local library
	for library in $(ldd "$1" 2>/dev/null | grep -oE '/[^ )]+'); do
		mkdir -p "$root/$(dirname "$library")"
		cp -Ln "$library" "$root/$library" 2>/dev/null || true
	done
}

# add_languages: Debian's Python with uvloop, as far as echoes.py needs it, and of Java a small runtime. What is missing
# here is not in the image.
add_languages()
{
	local file modules
	modules=$(/usr/bin/python3 -c 'import asyncio, encodings.idna, uvloop, sys
for module in list(sys.modules.values()):
	print(getattr(module, "__file__", None) or "")' 2>/dev/null) && add_program "$(readlink -f /usr/bin/python3)" &&
		ln -s "$(basename "$(readlink -f /usr/bin/python3)")" "$root/usr/bin/python3" || modules=
	for file in $modules; do
		mkdir -p "$root/$(dirname "$file")"
		cp -L "$file" "$root/$file"
		case $file in *.so) add_program "$file" ;; esac
	done
	cp "$here"/soak/*.py "$here"/soak/*.sh "$root/usr/inject/"
	jlink --add-modules java.base --strip-java-debug-attributes --output "$root/usr/java" >/dev/null 2>&1 &&
		javac -d "$root/usr/java" "$here/soak/Churns.java" || rm -rf "$root/usr/java"
	for file in "$root"/usr/java/bin/java "$root"/usr/java/lib/*.so "$root"/usr/java/lib/server/*.so; do
		[ ! -e "$file" ] || add_libraries "$file"
	done
}

make_image()
{
	local applet
	root=$(mktemp -d)
	chmod 755 "$root"
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,usr/bin,usr/lib/x86_64-linux-gnu,lib64}
	ln -s usr/lib "$root/lib"
	cp "$(command -v busybox)" "$root/bin/"
	for applet in sh mount cat cmp grep awk sleep poweroff uname kill wc ifconfig cut sed tr true rm ps tail sort ls wget dmesg date; do
		ln -s busybox "$root/bin/$applet"
	done
	add_program "$build/src/stackcam"
	add_program "$(command -v flock)"
	add_program "$(command -v setpriv)"
	for program in omit deep signal forker waits locks dump grows allocates asks loaded soak calls_tree calls_recursion calls_longjmp calls_exceptions inspected arguments uring uring_server; do
		add_program "$build/tests/programs/$program"
	done
	mkdir "$root/usr/inject"
	[ -z "$SOAK_SECONDS" ] || add_languages
	cp "$build"/inject/libstackcam-{memory,gpu}.so "$root/usr/inject/"
	# where Go is not, it is not tested
	if [ -e "$build/tests/programs/waits_go-stripped" ]; then
		add_program "$build/tests/programs/waits_go-stripped"
	fi
	cp "$here/inside.sh" "$root/init"
	chmod 755 "$root/init"
	image=$cache/image-$$.gz
	trap 'rm -f "$image" "$image".*' EXIT
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$image"
	rm -rf "$root"
}

# said_of_failed LOG: what a machine said of each test that failed, since the test before.
said_of_failed()
{
	tr -d '\r' <"$1" | awk '/^passed / { said = ""; next } { said = said $0 "\n" } /^failed / { printf "%s", said; said = "" }'
}

# boot KERNEL IMAGE LOG: no_timer_check: whether interrupts come in time is not to be asked of an emulated machine. The time
# only ends one that hangs: beside others on a busy machine it takes several times as long as alone.
boot()
{
	local parameters=
	case $1 in
	*+*) parameters=$(echo "${1#*+}" | tr + ' ') ;;
	esac
	[ -z "$SOAK_SECONDS" ] || parameters="$parameters soak=$SOAK_SECONDS"
	[ -z "${STACKCAM_UNTIL-}" ] || parameters="$parameters until=$STACKCAM_UNTIL"
	[ -z "${STACKCAM_VARIANTS-}" ] || parameters="$parameters variants=$STACKCAM_VARIANTS"
	timeout $((1800 + 3 * ${SOAK_SECONDS:-0})) qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m 2048 -nographic -no-reboot \
		-kernel "$(kernel_of "${1%%+*}")" -initrd "$2" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check $parameters" </dev/null >"$3" 2>&1 || true
}

[ $# -gt 0 ] || set -- $kernel_series
make_image
for kernel; do
	kernel_of "${kernel%%+*}" >/dev/null || {
		echo "skipped kernel-$kernel: its package cannot be had here, see $cache/${kernel%%+*}.fetched"
		continue
	}
	log=$cache/$kernel.log
	whole=$image
	case ${kernel%%+*} in
	*-all)
		# an image goes on where another one is behind it
		if rdma_image "${kernel%%+*}" "$image.rdma"; then
			whole=$image.whole
			cat "$image" "$image.rdma" >"$whole"
		else
			echo "skipped kernel-$kernel-rdma: its programs cannot be had here, see $cache/rdma.fetched"
		fi
		;;
	esac
	boot "$kernel" "$whole" "$log"
	tr -d '\r' <"$log" | sed -n "s/^\(passed\|failed\|skipped\) \(.*\)/\1 kernel-$kernel-\2/p"
	said_of_failed "$log" | tail -n 200 >&2
	grep -q '^passed the-end' "$log" || {
		echo "failed kernel-$kernel: it did not come to its end"
		tail -n 50 "$log" >&2
	}
done
