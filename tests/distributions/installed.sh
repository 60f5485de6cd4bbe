#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a fresh Debian that exists for this test: installs the package, uses it, and removes it.
#
#	installed.sh FILE.deb
#
# A line "told …" has a figure for the reader. Ends with 77 where packages cannot be fetched.
set -eu
deb=$1
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# ask PATH: an answer of serve, with the read token.
ask()
{
	local token
	token=$(awk '$2 == "read" { print $1 }' /tmp/store/tokens)
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET %s HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n' "$1" "$token" >&3
	cat <&3
	exec 3>&-
}

# told WORDS: since apt began.
told()
{
	echo "told $((($(date +%s%N) - begin) / 1000000)) ms from apt install $1"
}

# until_it COMMAND…: for at most a minute.
until_it()
{
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

has_samples()
{
	ask "/api/v1/series?from=-1h&to=now" | grep -q '"samples":[1-9]'
}

# The unit's command, by hand: there is no systemd that runs here. Its caller catches a failure, so set -e does not hold.
serves()
{
	stackcam serve --config /etc/stackcam.conf --listen 127.0.0.1:0 --store /tmp/store --user stackcam 2>/tmp/said &
	serve=$!
	until_it grep -q "the page is at" /tmp/said || return
	port=$(sed -n 's|.*the page is at http://127.0.0.1:\([0-9]*\)/.*|\1|p' /tmp/said)
	ask / | grep -q '<title>' || return
	until_it has_samples || return
	told "to a page with data"
	kill $serve && wait $serve
}

# the mirror's silence (77) is no fault of the package; what it depends on must be there
apt-get -q update || exit 77
apt-get -q -s install "$deb"
begin=$(date +%s%N)
apt-get -q -y --download-only install "$deb" || exit 77
apt-get -q -y install "$deb"
told "to a program"
# as the unit finds it: the folder is the user's
install -d -o stackcam -g stackcam -m 700 /tmp/store
serves || {
	kill $serve 2>/dev/null || true
	cat /tmp/said
	exit 1
}

stackcam record -a -d 1 -o /tmp/a.film
stackcam report /tmp/a.film | grep -q '[0-9]%'
# what it loads into other processes lies where it looks
stackcam record -e mem-alloc --mem-inject 1 -o /tmp/b.film -- sort /etc/passwd >/dev/null
[ -f /usr/share/bash-completion/completions/stackcam ]
units=$(dpkg -L stackcam | grep '/systemd/system/.*\.service$')
[ "$(echo "$units" | wc -l)" = 2 ]
for unit in $units; do
	# shellcheck disable=SC2016
	program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
	[ -x "$program" ]
done
# a fresh Debian has no manual pages in its smallest set, but the package has
dpkg-deb -c "$deb" | grep -q '/man1/stackcam-record\.1\.gz$'
getent passwd stackcam

mkdir -p /var/lib/stackcam
apt-get -q -y remove stackcam
[ ! -e /usr/bin/stackcam ] && [ -e /etc/stackcam.conf ] && [ -d /var/lib/stackcam ]
apt-get -q -y purge stackcam
[ ! -e /etc/stackcam.conf ] && [ ! -e /var/lib/stackcam ]
[ -z "$(find /etc /lib /usr /var/lib/systemd -name '*stackcam*' 2>/dev/null)" ]
