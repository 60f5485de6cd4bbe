#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# split_debug.sh PROGRAM OUT: copies PROGRAM to OUT without symbols; these go to OUT.debug, which
# OUT names in its debug link.
set -eu

objcopy --only-keep-debug "$1" "$2.debug"
objcopy --strip-all "$1" "$2"
cd "$(dirname "$2")"
objcopy --add-gnu-debuglink="$(basename "$2").debug" "$(basename "$2")"
