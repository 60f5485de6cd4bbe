#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a machine that exists for this test: stackcam under its units, from its installation to its end.
export LC_ALL=C
url=http://127.0.0.1:7171
store=/var/lib/stackcam

# test_case NAME COMMAND…: a test that fails shows what the journal has of the units.
test_case()
{
	local name=$1
	shift
	# in a shell of its own: an error of the shell itself ends that one
	if ("$@"); then
		echo "passed $name"
	else
		echo "failed $name"
		journalctl --no-pager -o cat -n 30 -u 'stackcam*'
	fi
}

# until_it COMMAND…: for at most some minutes, as the machine is emulated.
until_it()
{
	local end=$((SECONDS + 240))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 1
	done
}

pid_of()
{
	systemctl show -P MainPID "${1:-stackcam}"
}

# What watches this machine; programs of systemd are those of control groups.
probes()
{
	bpftool prog show | grep -cE '^[0-9]+: (perf_event|tracing|kprobe|tracepoint|raw_tracepoint)'
}

# As doc/serve.md says. The slow machine is the test's, so it has more time for it.
installed()
{
	mkdir -p /etc/systemd/system/stackcam{,-agent}.service.d
	printf '[Service]\nTimeoutStartSec=600\nWatchdogSec=300\nTimeoutStopSec=120\n' |
		tee /etc/systemd/system/stackcam{,-agent}.service.d/slow.conf >/dev/null
	systemd-sysusers && cp /usr/local/share/doc/stackcam/stackcam.conf /etc/stackcam.conf &&
		systemctl daemon-reload && systemctl enable --now stackcam
}

units_are_right()
{
	local said
	said=$(systemd-analyze verify --man=no /usr/local/lib/systemd/system/stackcam*.service 2>&1)
	[ -z "$said" ] || {
		echo "$said"
		return 1
	}
}

is_active()
{
	systemctl is-active -q "${1:-stackcam}"
}

answers()
{
	curl -sf "$url/api/v1/status" | grep -q '"version"' && curl -sf -o /dev/null "$url/"
}

# has_dropped UNIT: no thread may watch CPUs any more, one may read other processes, none is root's.
has_dropped()
{
	local task said caps uids others threads=0 able=0 attach=$((1 << 21 | 1 << 38)) user
	user=$(id -u stackcam)
	for task in /proc/"$(pid_of "$1")"/task/*; do
		# nothing: the thread has ended meanwhile
		said=$(awk '$1 == "CapEff:" { caps = $2 } $1 == "Uid:" { uids = $2 "," $3 "," $4 "," $5 }
			$1 == "NoNewPrivs:" || $1 == "Seccomp:" { others = others $2 }
			END { print caps, uids, others }' "$task/status" 2>/dev/null)
		read -r caps uids others <<<"$said"
		[ -n "$caps" ] || continue
		caps=$((16#$caps))
		threads=$((threads + 1))
		[ $caps -eq 0 ] || able=$((able + 1))
		[ $((caps & attach)) -eq 0 ] && [ "$uids" = "$user,$user,$user,$user" ] && [ "$others" = 12 ] || {
			echo "$task: $said"
			return 1
		}
	done
	echo "told threads-of-$1 $threads, of which $able have capabilities"
	[ $threads -gt 2 ] && [ $able -eq 1 ]
}

films_are_kept()
{
	local film
	film=$(find $store/films -name '*.film' | head -n 1)
	[ -n "$film" ] && [ "$(stat -c %U "$film")" = stackcam ] && [ "$(stat -c %a $store)" = 700 ]
}

has_samples()
{
	curl -sf "$url/api/v1/series?from=-1h&to=now" | grep -q '"samples":[1-9]'
}

score_is_told()
{
	local line
	line=$(systemd-analyze security --no-pager "$1" | tail -n 1)
	echo "told security-of-$1 ${line##*: }"
	[ -n "$line" ]
}

journal_has()
{
	journalctl --no-pager -o cat -u stackcam | grep -q "$1"
}

reloads()
{
	local before
	before=$(pid_of)
	echo 'keep-size = 1GB' >>/etc/stackcam.conf
	systemctl reload stackcam && until_it journal_has 'the configuration was read again' || return 1
	echo 'no-such = 1' >>/etc/stackcam.conf
	systemctl reload stackcam && until_it journal_has 'nothing is changed' || return 1
	sed -i '$d' /etc/stackcam.conf
	is_active && [ "$(pid_of)" = "$before" ]
}

restarts()
{
	local before films
	before=$(pid_of)
	films=$(find $store/films -name '*.film' | wc -l)
	systemctl restart stackcam && is_active && [ "$(pid_of)" != "$before" ] && until_it answers &&
		[ "$(find $store/films -name '*.film' | wc -l)" -ge "$films" ]
}

has_other_pid()
{
	[ "$(pid_of)" != 0 ] && [ "$(pid_of)" != "$1" ] && is_active
}

comes_back()
{
	local before
	before=$(pid_of)
	kill -9 "$before"
	until_it has_other_pid "$before" && until_it answers
}

# The agent sends to serve what it films itself.
agent_sends()
{
	printf 'to = %s\nspan = 5s\nhost = elsewhere\n' $url >/etc/stackcam-agent.conf
	systemctl start stackcam-agent && is_active stackcam-agent && until_it came_from_agent
}

came_from_agent()
{
	curl -sf "$url/api/v1/series?from=-1h&to=now" | grep -q '"elsewhere"'
}

# stops UNIT…: and nothing is left of it.
stops()
{
	systemctl stop "$@"
	[ "$(probes)" -eq "$none" ] && ! bpftool link show | grep -qv cgroup && ! pgrep -x stackcam >/dev/null &&
		[ "$(systemctl show -P Result "$1")" = success ]
}

uname -r
none=$(probes)
test_case units units_are_right
test_case install installed
test_case active is_active
test_case probes [ "$(probes)" -gt "$none" ]
test_case answers until_it answers
test_case privileges has_dropped stackcam
test_case security score_is_told stackcam
test_case samples until_it has_samples
test_case films films_are_kept
test_case reload reloads
test_case restart restarts
test_case killed comes_back
test_case agent agent_sends
test_case agent-privileges has_dropped stackcam-agent
test_case agent-security score_is_told stackcam-agent
test_case stop stops stackcam stackcam-agent
echo "passed the-end"
