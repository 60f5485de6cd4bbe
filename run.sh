#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2046,SC2086,SC2154
# Builds stackcam on a Debian machine and starts "stackcam serve": it films the machine until Ctrl-C, and shows what
# it saw on a page. Without a terminal it films for 10 seconds, shows what was hot, and ends.
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

# packages_elsewhere: what to do where there is no apt-get.
packages_elsewhere()
{
	say "run.sh: there is no apt-get here. Install these (the names are Debian's):" $build_packages
	say "In other distributions they have these names, which nobody has tried:"
	say "  Fedora:" $fedora_packages
	say "  Arch Linux:" $arch_packages
	say "Then: meson setup build --buildtype=release && ninja -C build"
} >&2

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
		packages_elsewhere
		exit 1
	fi
	quietly "Installing what the build needs" install_packages $build_packages
fi

[ -f build/build.ninja ] ||
	quietly "Setting up the build" meson setup build --buildtype=release
quietly "Building stackcam" ninja -C build src/stackcam

stackcam=build/src/stackcam
store=stackcam-store
listen=127.0.0.1:${STACKCAM_PORT:-7171}
as_user=()
[ ${#as_root[@]} -eq 0 ] || as_user=(--user "$(id -un)")
serve=("${as_root[@]}" $stackcam serve --listen "$listen" --store $store "${as_user[@]}")

# not_allowed STATUS WORDS: what to say when nothing could be filmed; ends.
not_allowed()
{
	say "run.sh: $2 (status $1); 'stackcam doctor' says what is allowed here:" >&2
	"${as_root[@]}" $stackcam doctor >&2
	exit "$1"
}

if [ -t 0 ] && [ -t 1 ]; then
	say
	say "stackcam films this machine now. Open the address of the page, which follows below, in a browser to see what"
	say "runs where."
	say
	say "  The films:     $PWD/$store (a week of them, at most a tenth of the disk and 10 GB)"
	say "  From afar:     ssh -L 7171:$listen THIS-MACHINE, then the same address"
	say "  For good:      doc/serve.md tells how to install it as a service"
	say "  More to try:   $stackcam record -- COMMAND     films a command with its children"
	say "                 $stackcam record -p PID -d 10   films a process that runs already"
	say "                 $stackcam --help                lists everything"
	say
	say "Ctrl-C ends it; the films stay."
	say
	# it hears of the Ctrl-C by itself; the shell waits for it to close the film
	trap : INT
	"${serve[@]}"
	status=$?
	[ $status -eq 3 ] && not_allowed $status "filming failed"
	exit $status
fi

# Nobody looks: films for 10 seconds, and shows that all of it works.
said=$(mktemp -t stackcam-serve.XXXXXX) || exit 1
trap 'rm -f "$log" "$said"' EXIT
say "Filming this machine for 10 seconds …"
"${serve[@]}" 2>"$said" &
serving=$!
for _ in $(seq 300); do
	grep -q "the page is at" "$said" && break
	kill -0 $serving 2>/dev/null || break
	sleep 0.1
done
if ! grep -q "the page is at" "$said"; then
	"${as_root[@]}" kill $serving 2>/dev/null
	wait $serving
	status=$?
	cat "$said" >&2
	not_allowed $status "filming failed"
fi
sleep 10
no_proxy='*' python3 - "$listen" $store/tokens <<'EOF' || exit 1
import sys, urllib.error, urllib.request
page = f"http://{sys.argv[1]}/"
tokens = [line.split() for line in open(sys.argv[2]) if not line.startswith("#")]
token = next(token for token, allows in tokens if allows == "read")
status = urllib.request.Request(page + "api/v1/status", headers={"Authorization": f"Bearer {token}"})
with urllib.request.urlopen(status, timeout=30) as answer:
    assert answer.read()
try:
    with urllib.request.urlopen(page, timeout=30) as answer:
        assert answer.read()
    print("The page answers:", page)
except urllib.error.HTTPError as error:
    print(error.read().decode(), end="")
EOF
"${as_root[@]}" kill $serving
wait $serving
status=$?
grep -v "the page \(is at\|asks for a token\)" "$said" >&2
if [ $status -ne 0 ]; then
	say "run.sh: stackcam serve ended with status $status" >&2
	exit $status
fi
film=$(find $store/films -name '*.film' -printf '%T@ %p\n' | sort -n | sed -n '$s/^[^ ]* //p')

say
say "The hottest functions:"
$stackcam report "$film" --limit 15 || exit 1
$stackcam report "$film" --format html >stackcam.html || exit 1

say
say "The film:        $PWD/$film"
say "The flame graph: $PWD/stackcam.html (open it in a browser)"
say
say "On a terminal, run.sh films on and serves the page at http://$listen/ until Ctrl-C."
say "What to try next:"
say "  $stackcam record -- COMMAND          films a command with its children"
say "  $stackcam record -p PID -d 10        films a process that runs already"
say "  $stackcam report --format tree FILM  shows a film as a tree"
say "  $stackcam --help                     lists everything"
