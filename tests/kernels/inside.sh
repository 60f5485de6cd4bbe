#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine that exists for this test: films programs whose truth is known.
export PATH=/bin:/usr/bin HOME=/tmp TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
cd /tmp

# test NAME COMMAND…
test_case()
{
	name=$1
	shift
	if "$@"; then
		echo "passed $name"
	else
		echo "failed $name"
	fi
}

# share FILM OF PATTERN: of the time in stacks that match OF, the percentage that matches PATTERN too
share()
{
	stackcam report "$1" --format folded |
		awk -v of="$2" -v pattern="$3" '$0 ~ of { all += $NF } $0 ~ of && $0 ~ pattern { part += $NF }
			END { print (all ? int(100 * part / all) : 0) }'
}

doctor_agrees()
{
	stackcam doctor >doctor.txt && grep -q 'can record on-CPU profiles here' doctor.txt
}

chain_is_whole()
{
	stackcam record -q -F 499 -o omit.film -- omit 3 >/dev/null || return 1
	[ "$(share omit.film ';c30' '^_start;.*;main;c1;c2;c3;.*;c28;c29;c30')" -ge 98 ]
}

recursion_is_whole()
{
	stackcam record -q -F 199 -o deep.film -- deep 3 >/dev/null || return 1
	[ "$(share deep.film ';deep_leaf' '^_start;.*;main;deep;deep;deep;.*;deep_leaf')" -ge 98 ]
}

signal_frames_are_crossed()
{
	stackcam record -q -F 199 -o signal.film -- signal 2 >/dev/null || return 1
	[ "$(share signal.film ';handler_leaf' '^_start;.*;main;.*handler')" -ge 98 ]
}

children_are_followed()
{
	stackcam record -q -F 199 -o forker.film -- forker 3 >/dev/null || return 1
	[ "$(share forker.film . ';child_work')" -ge 50 ]
}

whole_machine()
{
	omit 4 >/dev/null &
	stackcam record -q -F 99 -d 2 -o all.film || return 1
	[ "$(share all.film . ';c30')" -ge 20 ]
}

uname -r
test_case doctor doctor_agrees
test_case chain chain_is_whole
test_case recursion recursion_is_whole
test_case signal signal_frames_are_crossed
test_case children children_are_followed
test_case machine whole_machine
echo "passed the-end"
poweroff -f
