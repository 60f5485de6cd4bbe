#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether the probes of a build fit the types of Debian's kernels, which are read and not booted.
#
#	types.sh BUILD [SERIES…]	default: all that kernel.sh knows
#
# Prints a line "passed NAME", "failed NAME" or "skipped NAME: reason" for each; what does not fit goes to standard error.
# shellcheck disable=SC1091,SC2086,SC2154
set -eu
build=$(readlink -f "$1")
shift
here=$(dirname "$(readlink -f "$0")")
cache=$build/kernels
. "$here/kernel.sh"

[ $# -gt 0 ] || set -- $kernel_series
for series; do
	if ! kernel=$(kernel_of "$series"); then
		echo "skipped types-$series: its package cannot be had here, see $cache/$series.fetched"
	elif /usr/bin/python3 -B "$here/kernel_types.py" "$build/src/bpf/probes.bpf.o" "$here/../../src/bpf" "$kernel" >&2; then
		echo "passed types-$series"
	else
		echo "failed types-$series"
	fi
done
