#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine that exists for this test: films programs whose truth is known.
export PATH=/bin:/usr/bin HOME=/tmp TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
cd /tmp || exit 1
events="on-cpu off-cpu run-queue idle lock threads mem-grow file-faults mem-alloc mem-inuse rss mem-beside on-gpu gpu-copies gpu-wait gpu-lanes hbm-alloc hbm-inuse rdma rdma-latency rdma-memory go-wait go-queue go-idle go-lanes task-lanes vthread-lanes requests deaths machine logs"
able= # of these, what is recorded here

# word NAME: what the kernel's command line says of it
word()
{
	tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"
}
only=$(word only)
soak_seconds=$(word soak)
variants=$(word variants)
until=$(word until)
echo 1 >/proc/sys/kernel/panic_on_oops

# Checks are counted. Those behind check_from, up to check_to, run.
check_count=0
check_from=0
check_to=1000

# test_case NAME COMMAND…; with only=NAME,… in the kernel's command line no others
test_case()
{
	name=$1
	shift
	check_count=$((check_count + 1))
	[ "$check_count" -gt "$check_from" ] && [ "$check_count" -le "$check_to" ] || return
	case ,${only:-$name}, in
	*",$name,"*) ;;
	*) return ;;
	esac
	if [ -n "$until" ] && [ "$(date +%s)" -ge "$until" ]; then
		echo "skipped $name: no time left"
	elif "$@"; then
		echo "passed $name"
	else
		echo "failed $name"
	fi
}

# of_turn WORD…: those that are due, of as many turns as the kernel's command line says in variants=N:TURN, at least one;
# without that all (tests/e2e/conftest.py).
of_turn()
{
	printf '%s\n' "$@" | awk -v variants="${variants:-1:0}" '{ words[NR - 1] = $0 }
		END { split(variants, v, ":")
			for (i = v[2] % v[1]; i < NR; i += v[1]) { print words[i]; found = 1 }
			if (!found) print words[v[2] % NR] }'
}

# share FILM OF PATTERN: of the time in stacks that match OF, the percentage that matches PATTERN too
share()
{
	stackcam report "$1" --format folded |
		awk -v of="$2" -v pattern="$3" '$0 ~ of { all += $NF } $0 ~ of && $0 ~ pattern { part += $NF }
			END { print (all ? int(100 * part / all) : 0) }'
}

# doctor_says PATTERN
doctor_says()
{
	[ -s doctor.txt ] || stackcam doctor >doctor.txt
	grep -q "$1" doctor.txt
}

# What doctor says, for the table of doc/kernels.md.
doctor_agrees()
{
	doctor_says 'can record on-CPU profiles here' && doctor_says '^ok *programs' &&
		awk '/^(ok|absent|missing|unknown) / { print "feature", $2, $1 }' doctor.txt
}

# Each event by itself: it is recorded, or what doctor says is missing is why not.
events_are_as_doctor_says()
{
	wrong=
	sed -n 's/^\(missing\|absent\) *[^ ]* *(for [^)]*) //p' doctor.txt >why.txt
	# shellcheck disable=SC2046,SC2086
	for event in $(of_turn $events); do
		stackcam record -q -e "$event" -o event.film -- true 2>event.txt
		status=$?
		if [ $status = 0 ]; then
			echo "feature -e_$event ok"
			able="${able:+$able,}$event"
		elif [ $status = 3 ] && grep -qFf why.txt event.txt; then
			echo "feature -e_$event missing"
		else
			echo "feature -e_$event failed"
			cat event.txt
			wrong="$wrong $event"
		fi
	done
	# others are due at another turn
	[ -z "$variants" ] || able=
	[ -z "$wrong" ]
}

# What is recorded here: as each event by itself has shown, or else what doctor says.
events_together()
{
	if [ -n "$able" ]; then
		echo "$able"
	elif doctor_says 'ok *socket-calls'; then
		echo "$events" | tr ' ' ,
	else
		echo "$events" | sed 's/ requests//' | tr ' ' ,
	fi
}

# The most instructions that the verifier may walk for one program: the kernel's limit is 1,000,000, and compilers, kernels
# and runtimes to come need room.
verified_max=200000

# With all sources that there are: programs of uprobes, which can be preempted, have no stack for each CPU; and the verifier walks
# little for each program.
no_stack_is_shared()
{
	# shellcheck disable=SC2016
	stackcam record -q -e "$(events_together)" -o all.film -- sh -c 'loaded >loaded.txt; echo $? >status.txt' >all.txt 2>&1
	awk '$1 == "loaded" && $8 > most { most = $8; name = $2 } END { print "verified", name, most }' loaded.txt >most.txt
	cat most.txt
	[ "$(cat status.txt)" = 0 ] && grep -q 'requests_tls\|goroutines_site' loaded.txt &&
		awk -v most="$verified_max" '{ exit !($3 > 0 && $3 <= most) }' most.txt || {
		cat all.txt loaded.txt
		return 1
	}
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
	# to load the probes takes its time here
	omit 60 >/dev/null &
	stackcam record -q -F 99 -d 2 -o all.film || return 1
	kill $!
	[ "$(share all.film . ';c30')" -ge 20 ]
}

waits_are_reported()
{
	stackcam record -q -e off-cpu -o waits.film -- waits 2 >/dev/null || return 1
	[ "$(share waits.film ';wait_for_time' ';thread;live;wait_for_time;')" -ge 98 ]
}

waits_of_goroutines_are_reported()
{
	stackcam record -q -e go-wait -o go.film -- waits_go-stripped 20 >/dev/null || return 1
	[ "$(share go.film ';main[.]sleeper;' ';main[.]sleeper;main[.]sleeps;time[.]Sleep;runtime[.]gopark;[[]sleep[]]')" -ge 90 ]
}

# They run and wait.
lives_of_goroutines_are_reported()
{
	stackcam record -q -e go-lanes -o lanes.film -- waits_go-stripped 20 >/dev/null || return 1
	stackcam report -e go-lanes --format states lanes.film >lanes.txt || return 1
	grep -q ' running ' lanes.txt && grep -q ' sleep ' lanes.txt
}

# There is no Python here: the probe is loaded, no more.
lanes_of_tasks_are_loaded()
{
	stackcam record -q -e task-lanes -o tasks.film -- waits_go-stripped 1 >/dev/null
}

# There is no JVM here: the probes are loaded, no more.
lanes_of_virtual_threads_are_loaded()
{
	stackcam record -q -e vthread-lanes -o vthreads.film -- waits_go-stripped 1 >/dev/null
}

lives_are_reported()
{
	dump 100 >said.txt &
	pid=$!
	until grep -q ready said.txt; do :; done
	stackcam record -q -e threads -d 2 -p $pid -o lives.film || return 1
	kill $pid
	stackcam report --format states lives.film >lives.txt || return 1
	for kind in lock ipc socket-read poll sleep on-cpu; do
		grep -q "^  $kind " lives.txt || {
			cat lives.txt
			return 1
		}
	done
}

# What ended each wait for an io_uring, by each way in which its entries are completed.
entries_of_io_uring_are_reported()
{
	local way what
	ifconfig lo up
	for way in $(of_turn plain registered defer sqpoll async); do
		stackcam record -q -e threads --min-wait 0 -o uring.film -- uring $way /tmp >said.txt || return 1
		stackcam report --format states uring.film >uring.txt || return 1
		while read -r what; do
			case $way-$what in
			*-silent*) ! grep -qF "${what#silent: }, uring" uring.txt ;;
			*-fsync* | *-openat*) ;;
			*) [ $way = sqpoll ] && uname -r | grep -q '^6\.1\.\|^7\.' || grep -qF "  $what, uring" uring.txt ;;
			esac || {
				echo "$way: $what"
				cat uring.txt
				return 1
			}
		done <said.txt
	done
}

# owners_of_locks_are_named EVENT ARE_NAMED
owners_of_locks_are_named()
{
	# its threads live until the recorder, for which this machine may have no time, has looked at them
	stackcam record -q -e "$1" -o locks.film -- locks 120 kept >said.txt &
	recorder=$!
	until "$2"; do
		kill -0 $recorder 2>/dev/null || {
			cat locks.txt said.txt
			return 1
		}
		sleep 1
	done
	kill -USR1 "$(awk '$1 == "pid" { print $2 }' said.txt)"
	wait $recorder
}

owners_are_named()
{
	stackcam report -e lock --by holder --limit 0 locks.film >locks.txt 2>&1 || return 1
	for kind in normal pi robust heap; do
		grep -q "owner: hold-$kind " locks.txt || return 1
	done
}

# The lock of a file: its path, and the other process that holds it; in both events.
locks_of_files_are_reported()
{
	: >file.lock
	stackcam record -q -e lock,threads -o files.film -- sh -c '
		flock /tmp/file.lock -c "echo held >held.txt; sleep 3" &
		while ! [ -s held.txt ]; do sleep 0.1; done
		flock /tmp/file.lock -c true' || return 1
	stackcam report -e lock --by lock,holder files.film >files.txt 2>&1
	stackcam report --format states -e threads files.film >>files.txt 2>&1
	grep -q '\[flock of /tmp/file.lock\]  *\[owner: flock' files.txt &&
		grep -q 'lock .* flock of /tmp/file.lock, .*held by flock' files.txt || {
		cat files.txt >&2
		return 1
	}
}

# The same in the lives of threads: each lock with its holder.
holders_are_reported()
{
	stackcam report --format states-json locks.film >locks.txt 2>&1 || return 1
	for kind in normal pi robust heap; do
		grep -q "\"comm\":\"hold-$kind\",\"sure\":\"owner\"" locks.txt || return 1
	done
}

growth_is_reported()
{
	stackcam record -q -e mem-grow --fault-period 7 -o grow.film -- grows /tmp >/dev/null || return 1
	stackcam report -e mem-grow --format folded grow.film |
		awk '/;main;small_pages/ { small += $NF } /;huge_pages;\[huge page\]/ { huge += $NF }
			END { print small, huge; exit !(small > 60e6 && small < 74e6 && (!huge || huge > 110e6)) }' || {
		stackcam report -e mem-grow grow.film
		return 1
	}
}

allocations_are_counted()
{
	# by default a thread takes fewer samples of much, on a machine that is slow by chance far fewer
	stackcam record -q -e mem-alloc,mem-inuse --mem-interval 100000 -o heap.film -- allocates 1 >said.txt || return 1
	for event in mem-alloc mem-inuse; do
		stackcam report -e $event --format folded heap.film
	done | awk '/;all;leaks;malloc/ { sum += $NF } END { print sum; exit !(sum > 330e6 && sum < 460e6) }' || {
		stackcam report -e mem-alloc heap.film
		return 1
	}
}

what_is_logged_is_filmed()
{
	stackcam record -q -e logs,machine -d 20 -o logs.film -- sh -c 'echo a line; sleep 1; echo "<3>and an error" >&2' >/dev/null 2>&1 || return 1
	stackcam report --format logs logs.film >logs.txt && grep -q ' output: a line$' logs.txt && grep -q ' error: and an error$' logs.txt &&
		stackcam report --format machine logs.film | grep -q 'memory available'
}

# Since Linux 7 a thread can be preempted in a probe of a tracepoint, and the kernel does not run that for another one on
# the same CPU meanwhile. Here programs are slow, and it happens; that it did must be said.
is_said_as_skipped()
{
	uname -r | grep -q '^[789]\.' && stackcam report -e requests --format json "$1" | grep -q 'its probe ran already on that CPU'
}

requests_are_reported()
{
	if ! doctor_says 'ok *socket-calls'; then
		# no such kernel: it must say so
		stackcam record -q -e requests -d 1 -o no.film 2>no.txt
		grep -q 'no tracepoint sock_recv_length; use Linux 6.3' no.txt || {
			cat no.txt
			return 1
		}
		return 0
	fi
	stackcam record -q -e requests -o asks.film -- asks 50 >/dev/null || return 1
	stackcam report --format requests asks.film >asks.txt || return 1
	[ "$(grep -c '^ *50 *0 *0 .* \(served\|made\)  *asks  *http  *GET /item/[*]$' asks.txt)" = 2 ] || is_said_as_skipped asks.film || {
		cat asks.txt
		return 1
	}
}

requests_of_io_uring_are_reported()
{
	local way
	if ! doctor_says 'ok *socket-calls'; then
		return 0
	fi
	ifconfig lo up
	for way in 'plain recv' 'async message' 'defer select'; do
		# shellcheck disable=SC2086
		stackcam record -q -e requests -o served.film -- uring_server $way 4 10 >/dev/null || return 1
		stackcam report --format requests served.film >served.txt || return 1
		[ "$(grep -c '^ *40 *0 *0 .* \(served\|made\)  *uring_server  *http  *GET /item/[*]$' served.txt)" = 2 ] || is_said_as_skipped served.film || {
			echo "$way"
			cat served.txt
			return 1
		}
	done
}

# The slowest request, whose parts add up to its time.
requests_are_explained()
{
	doctor_says 'ok *socket-calls' || return 0
	stackcam record -q -e requests,threads,on-cpu -o why.film -- asks 50 >said.txt 2>&1 || {
		cat said.txt
		return 1
	}
	stackcam explain --format json why.film >why.txt 2>&1 || {
		cat why.txt
		return 1
	}
	# what is right inside of the list of parts: these have parts of their own
	awk '{ text = text $0 }
		END { sub(/.*"requests":\[/, "", text)
			match(text, /"duration":[0-9]+/); all = substr(text, RSTART + 11, RLENGTH - 11) + 0
			text = substr(text, index(text, "\"parts\":[") + 9)
			for (i = 1; i <= length(text) && depth >= 0; i++) {
				c = substr(text, i, 1)
				if (!quoted && depth == 1 && substr(text, i, 11) == "\"duration\":") sum += substr(text, i + 11, 20) + 0
				if (c == "\"" && substr(text, i - 1, 1) != "\\") quoted = !quoted
				if (!quoted && (c == "{" || c == "[")) depth++
				if (!quoted && (c == "}" || c == "]")) depth--
			}
			print all, sum; exit !(all > 0 && all == sum) }' why.txt >sum.txt || {
		cat sum.txt why.txt
		return 1
	}
	stackcam explain why.film >why.txt || return 1
	# one whose answer was skipped has no end, and is the slowest
	grep -q 'took .* in asks .*endpoint GET /item/' why.txt || is_said_as_skipped why.film || {
		cat why.txt
		stackcam report --format requests why.film
		return 1
	}
}

calls_are_replayed()
{
	stackcam trace -q -o calls.film -- calls_tree >said.txt || return 1
	stackcam replay calls.film >replayed.txt || return 1
	awk 'NR == FNR { if ($1 == "calls") said[$2] = $3; next }
		/[(][)](;| \{)/ { sub(/.*[|] */, ""); sub(/[(][)].*/, ""); found[$0]++ }
		END { for (name in said) { all++; if (found[name] != said[name]) wrong++ } exit wrong || !all }' said.txt replayed.txt || {
		cat said.txt replayed.txt
		return 1
	}
	stackcam diff calls.film calls.film >diff.txt && grep -q '^lost: *nothing' diff.txt
}

# It films the machine into its store, serves the page, and is well.
machine_is_served()
{
	ifconfig lo up
	mkdir store
	stackcam serve --store store --listen 127.0.0.1:7171 --read-open 2>serve.txt &
	server=$!
	omit 120 >/dev/null &
	load=$!
	until wget -q -O flame.txt http://127.0.0.1:7171/api/v1/flame 2>/dev/null && grep -q '"c30"' flame.txt; do
		kill -0 $server && kill -0 $load || break
		sleep 1
	done
	wget -q -O health.txt http://127.0.0.1:7171/health
	kill $load
	kill -INT $server
	wait $server && grep -q '"c30"' flame.txt && grep -q '"status":"ok"' health.txt || {
		cat serve.txt health.txt
		return 1
	}
}

# An agent's films arrive at a server that films nothing.
films_are_sent()
{
	ifconfig lo up
	echo "$(printf '%032d' 7) write" >tokens
	chmod 600 tokens
	stackcam serve --no-record --store arrived --listen 127.0.0.1:7272 --token-file tokens --read-open 2>receiver.txt &
	server=$!
	omit 120 >/dev/null &
	load=$!
	stackcam agent --to http://127.0.0.1:7272 --token-file tokens --spool spool --span 2s 2>agent.txt &
	agent=$!
	until wget -q -O flame.txt http://127.0.0.1:7272/api/v1/flame 2>/dev/null && grep -q '"c30"' flame.txt; do
		kill -0 $server && kill -0 $agent || break
		# on a busy machine it ends before films arrive
		kill -0 $load 2>/dev/null || {
			omit 120 >/dev/null &
			load=$!
		}
		sleep 1
	done
	kill $load
	kill -INT $agent
	wait $agent
	kill -INT $server
	wait $server && grep -q '"c30"' flame.txt || {
		cat receiver.txt agent.txt
		return 1
	}
}

# A flight recorder keeps its last seconds when it is asked to; what it wrote is played, and resolves.
last_seconds_are_kept()
{
	ifconfig lo up
	omit 120 >/dev/null &
	load=$!
	stackcam record -q --flight 30s -e threads,on-cpu -p $load -o flight.film 2>flight.txt &
	recorder=$!
	until kept=$(stackcam keep --pid $recorder --reason asked 2>keep.txt); do
		kill -0 $recorder && kill -0 $load || break
		sleep 1
	done
	kill $load
	kill -INT $recorder
	wait $recorder
	[ -n "$kept" ] && stackcam resolve --no-debuginfod "$kept" >resolved.txt 2>&1 && [ "$(share "$kept" ';c30' 'main;c1;c2;c3')" -ge 90 ] &&
		film_is_played "$kept" || {
		cat flight.txt keep.txt resolved.txt played.txt
		return 1
	}
}

film_is_played()
{
	stackcam play "$1" >played.txt 2>&1 &
	player=$!
	until grep -q 'http://' played.txt; do
		kill -0 $player || return 1
		sleep 1
	done
	# the address may end with a token
	address=$(sed -n '/http:/{s|.*\(http://[^ ]*\).*|\1|p;q}' played.txt)
	base=$(echo "$address" | sed 's|\(http://[^/]*\).*|\1|')
	token=$(echo "$address" | sed -n 's|.*token=\([^&]*\).*|\1|p')
	wget -q -O played-flame.txt ${token:+--header "Authorization: Bearer $token"} "$base/api/v1/flame"
	kill -INT $player
	wait $player
	grep -q '"c30"' played-flame.txt
}

# As another user with the capabilities of the unit of systemd: each event that root can record, or what it lacks is said.
few_privileges_are_enough()
{
	caps=-all,+bpf,+perfmon,+sys_ptrace,+syslog,+checkpoint_restore,+dac_read_search
	mkdir -p few && chmod 777 few
	# Debian's 3 asks for CAP_SYS_ADMIN
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	for event in on-cpu off-cpu,threads,lock mem-alloc requests; do
		case $event in
		requests) doctor_says 'ok *socket-calls' || continue ;;
		# before Linux 6.6 only root may set uprobes
		mem-alloc) doctor_says 'ok *uprobe-multi' || continue ;;
		esac
		/usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps \
			stackcam record -q -e $event -d 1 -a -o few/few.film 2>few.txt || {
			echo "$event"
			cat few.txt
			return 1
		}
		rm -f few/few.film
	done
}

marked_requests_are_reported()
{
	where=1
	if ! doctor_says 'ok *socket-calls'; then
		return 0
	fi
	doctor_says 'ok *null-device' || where=2
	# shellcheck disable=SC2016
	stackcam record -q -e requests --markers $where -o marked.film -- sh -c 'for i in 1 2 3 4 5 6 7 8; do
		echo "stackcam: begin id=$i endpoint=job" >/dev/null
		echo "stackcam: end id=$i status=ok" >/dev/null
	done' || return 1
	stackcam report --format requests marked.film >marked.txt || return 1
	grep -q '^ *8 *0 *0 .* served  *sh  *marker  *job$' marked.txt || {
		stackcam doctor | grep null-device
		cat marked.txt
		return 1
	}
}

deaths_have_a_last_scene()
{
	stackcam record -q -e deaths -o deaths.film -- sh -c 'sleep 1; kill -SEGV $$'
	stackcam report -e deaths --format folded deaths.film | grep -q 'SIGSEGV, sent by process'
}

threads_are_listed()
{
	# its threads are made by then, but may have had no time yet to wait
	dump 100 >said.txt &
	pid=$!
	until threads_are_there; do
		kill -0 $pid 2>/dev/null || {
			cat threads.txt said.txt
			return 1
		}
		sleep 1
	done
	kill $pid
}

threads_are_there()
{
	stackcam threads -p $pid >now.txt 2>&1 || return 1
	cat now.txt >threads.txt
	grep -q '^  3 threads: locker' threads.txt && grep -q 'waits: ipc (read)' threads.txt &&
		grep -q 'wait_for_pipe  .dump.' threads.txt && grep -q 'never_wait  .dump.' threads.txt
}

# told PROGRAM [OPTION…]: it is traced, ends well, and each function was called as often as it says
told()
{
	program=$1
	shift
	stackcam trace -q "$@" -o calls.film -- "$program" >said.txt || return 1
	stackcam report calls.film >report.txt || return 1
	awk 'NR == FNR { if ($1 == "calls") said[$2] = $3; next }
		$6 in said { found++; if ($5 != said[$6]) wrong++ }
		END { for (name in said) all++; exit wrong || !all || found != all }' said.txt report.txt || {
		cat said.txt report.txt
		return 1
	}
}

calls_are_counted()
{
	told calls_tree
}

calls_by_ret_are_counted()
{
	told calls_tree --exit ret
}

calls_are_summed_up()
{
	told calls_tree --summary
}

jumps_do_no_harm()
{
	told calls_longjmp
}

exceptions_do_no_harm()
{
	stackcam trace -q -o calls.film -- calls_exceptions >traced.txt && calls_exceptions >plain.txt &&
		cmp -s traced.txt plain.txt
}

recursion_is_survived()
{
	stackcam trace -q -o calls.film -- calls_recursion >traced.txt && calls_recursion >plain.txt &&
		cmp -s traced.txt plain.txt
}

values_are_shown()
{
	stackcam inspect -q --json count catches -- inspected 3 2>calls.txt || return 1
	grep -q '"function":"count","args":\[{"name":"n","type":"long int","value":2},{"name":"name","type":"const char \*","value":"even"}\],"results":\[{"name":"","type":"long int","value":3}\],"latency_ns":[0-9]' calls.txt &&
		grep -c '"function":"catches"' calls.txt | grep -qx 3
}

# Each call has its own arguments, as the tracer's probe runs first, although it is at the same place; and its own result.
arguments_are_with_their_calls()
{
	local how
	for how in auto ret; do
		stackcam trace -q --args --exit "$how" -f fib -o args.film -- arguments 3 2 >args.txt || return 1
		stackcam report --format inspect args.film >args.txt || return 1
		for n in 'fib(n=3) = 2  6' 'fib(n=2) = 1  6' 'fib(n=1) = 1  12' 'fib(n=0) = 0  6'; do
			[ "$(grep -c "${n% *}" args.txt)" = "${n##* }" ] || {
				cat args.txt >&2
				return 1
			}
		done
	done
}

# All sources look at threads of which some preempt others in the probes; a tracer counts their calls. Nothing breaks, no
# call is missed, and memory is what the program says.
soak_is_survived()
{
	stackcam record -q -e "$(echo "$1" | sed 's/^,//')" -o soak.film -- \
		stackcam trace -q --summary --max-rate 0 -f counted -o calls.film -- soak "$2" >said.txt 2>soak.txt || {
		cat soak.txt said.txt
		return 1
	}
	stackcam report calls.film >report.txt
	stackcam report -e mem-alloc --format folded soak.film >>report.txt
	stackcam report -e on-cpu --format folded soak.film >cpu.txt
	cat said.txt soak.txt
	awk 'NR == FNR { said[$1] = $NF; next } $6 == "counted" { gsub(",", "", $5); calls = $5 } /;takes;malloc/ { bytes += $NF }
		END { print calls, bytes; exit !(calls == said["calls"] && bytes > 0.7 * said["bytes"] && bytes < 1.3 * said["bytes"]) }' said.txt report.txt || {
		cat report.txt
		return 1
	}
	grep -q ';encrypts;' cpu.txt
}

# With all sources programs in Go, Python (asyncio, uvloop) and Java do what they do without, and each is seen, in its own
# words.
languages_are_survived()
{
	ifconfig lo up
	stackcam record -q -e "$1" -o languages.film -- sh /usr/inject/languages.sh "$2" >said.txt 2>soak.txt || {
		cat soak.txt said.txt
		return 1
	}
	cat said.txt soak.txt
	stackcam report -e on-cpu --format folded languages.film >cpu.txt
	[ "$(grep -c '^[a-z]* 0 ' said.txt)" = 4 ] && grep -q '^asyncio 0 echoes [1-9]' said.txt && grep -q '^uvloop 0 echoes [1-9]' said.txt &&
		grep -q '^java 0 churned [1-9]' said.txt && grep -q ';serves' cpu.txt && grep -q 'Churns.round' cpu.txt && grep -q ';main[.]' cpu.txt || {
		sort -n -k2 -t' ' cpu.txt | tail -n 20
		return 1
	}
}

# in_rdma COMMAND…: of the programs that measure RDMA, in their own root.
in_rdma()
{
	busybox chroot /rdma "$@"
}

# A device without hardware, over a network interface that keeps all to itself.
rdma_is_there()
{
	for module in udp_tunnel ip6_udp_tunnel configfs ib_core ib_uverbs iw_cm ib_cm rdma_cm rdma_ucm crc32_generic rdma_rxe dummy; do
		[ ! -e /modules/$module.ko ] || busybox insmod /modules/$module.ko || return 1
	done
	for folder in proc sys dev tmp; do
		busybox mkdir -p /rdma/$folder
		busybox mount --bind /$folder /rdma/$folder || return 1
	done
	in_rdma /bin/ip link set lo up
	in_rdma /bin/ip addr add 10.9.0.1/24 dev dummy0 && in_rdma /bin/ip link set dummy0 up &&
		in_rdma /usr/bin/rdma link add rxe0 type rxe netdev dummy0 || return 1
	[ -e /dev/infiniband/uverbs0 ] || {
		busybox mkdir -p /dev/infiniband
		busybox mknod /dev/infiniband/uverbs0 c $(sed 's/:/ /' /sys/class/infiniband_verbs/uverbs0/dev)
	}
}

# rdma_film FILM PROGRAM WORD…: films one of them while it transfers to another one of the kind; what it prints is in FILM.txt.
rdma_film()
{
	film=$1
	shift
	in_rdma "$@" >server.txt 2>&1 &
	sleep 2
	stackcam record -q -e rdma,rdma-latency,rdma-memory -o "$film" -- busybox chroot /rdma "$@" 127.0.0.1 >"$film.txt" || return 1
	wait
}

# rdma_number FILM EVENT total|samples
rdma_number()
{
	stackcam report -e "$2" --format json "$1" | sed -n "s/.*\"$3\":\([0-9]*\)[,}].*/\1/p" | head -n 1
}

# rdma_bytes FILM WORDS: of operations of that kind
rdma_bytes()
{
	stackcam report -e rdma --format folded "$1" | awk -v words="[RDMA $2]" 'index($0, words) { sum += $NF } END { print sum + 0 }'
}

# rdma_is FILM EXPECTED FOUND WHAT
rdma_is()
{
	[ "$2" = "$3" ] && return
	echo "$4: $3, not $2"
	cat "$1.txt"
	for event in rdma rdma-latency rdma-memory; do
		stackcam report -e $event "$1"
	done
	return 1
}

# What programs print themselves is what they transferred: iterations, bytes, and how long one takes.
rdma_is_measured()
{
	rdma_is_there || return 1
	rdma_film pairs /usr/bin/ibv_rc_pingpong -d rxe0 -g 1 -n 100 || return 1
	grep -q '^819200 bytes in' pairs.txt || return 1
	rdma_is pairs 409600 "$(rdma_bytes pairs send)" "bytes sent" && rdma_is pairs 409600 "$(rdma_bytes pairs receive)" "bytes received" &&
		rdma_is pairs 200 "$(rdma_number pairs rdma samples)" operations &&
		rdma_is pairs 100 "$(rdma_number pairs rdma-latency samples)" latencies || return 1
	rdma_film sends /usr/bin/ib_send_bw -d rxe0 -x 1 -n 200 -s 4096 || return 1
	grep -qE '^ *4096 +200 ' sends.txt || return 1
	rdma_is sends 819200 "$(rdma_bytes sends send)" "bytes sent" && rdma_is sends 200 "$(rdma_number sends rdma samples)" operations || return 1
	rdma_film reads /usr/bin/ib_read_lat -d rxe0 -x 1 -n 300 -s 4096 -U || return 1
	rdma_is reads 1228800 "$(rdma_bytes reads read)" "bytes read" && rdma_is reads 300 "$(rdma_number reads rdma samples)" operations &&
		rdma_is reads 300 "$(rdma_number reads rdma-latency samples)" latencies || return 1
	# by the program, of all but the last one, in us, each up to the next request
	total=$(rdma_number reads rdma-latency total)
	awk -v ns="$total" -F ', ' '/^[0-9]+, / { sum += $2; count++ }
		END { print "latency by ib_read_lat", sum / count, "us, here", ns / 300000; exit !(count && ns / 300000 > 0.95 * sum / count && ns / 300000 < 1.05 * sum / count) }' reads.txt
}

kernel_has_no_complaint()
{
	! dmesg | grep -E 'BUG:|WARNING:|Oops|stall|blocked for more than'
}

# checks FROM TO
checks()
{
	check_count=0 check_from=$1 check_to=$2
	test_case chain chain_is_whole
	test_case recursion recursion_is_whole
	test_case signal signal_frames_are_crossed
	test_case children children_are_followed
	test_case machine whole_machine
	test_case waits waits_are_reported
	if [ -e /usr/bin/waits_go-stripped ]; then
		test_case goroutines waits_of_goroutines_are_reported
		test_case lanes-of-goroutines lives_of_goroutines_are_reported
		test_case lanes-of-tasks lanes_of_tasks_are_loaded
		test_case lanes-of-virtual-threads lanes_of_virtual_threads_are_loaded
	fi
	test_case locks owners_of_locks_are_named lock owners_are_named
	test_case locks-of-files locks_of_files_are_reported
	test_case lives lives_are_reported
	test_case io_uring entries_of_io_uring_are_reported
	test_case requests-io_uring requests_of_io_uring_are_reported
	test_case holders owners_of_locks_are_named threads holders_are_reported
	test_case memory-growth growth_is_reported
	test_case allocations allocations_are_counted
	test_case logs what_is_logged_is_filmed
	test_case requests requests_are_reported
	test_case marked-requests marked_requests_are_reported
	test_case explain requests_are_explained
	test_case replay calls_are_replayed
	test_case serve machine_is_served
	test_case agent films_are_sent
	test_case keep last_seconds_are_kept
	test_case few-privileges few_privileges_are_enough
	test_case deaths deaths_have_a_last_scene
	test_case threads threads_are_listed
	test_case calls calls_are_counted
	test_case calls-ret calls_by_ret_are_counted
	test_case calls-summary calls_are_summed_up
	test_case calls-jumps jumps_do_no_harm
	test_case calls-exceptions exceptions_do_no_harm
	test_case calls-recursion recursion_is_survived
	test_case inspect values_are_shown
	test_case arguments arguments_are_with_their_calls
	if [ -e /modules/rdma_rxe.ko ]; then
		test_case rdma rdma_is_measured
	fi
}

# Each check once. The time may be over before the last ones, so that others are the first ones at each turn (of_turn).
run_checks()
{
	checks 0 0
	check_turn=${variants:-1:0}
	check_turn=$((${check_turn#*:} * 7 % check_count))
	checks "$check_turn" "$check_count"
	checks 0 "$check_turn"
	check_count=0 check_from=0 check_to=1000
}

uname -r
test_case doctor doctor_agrees
test_case events events_are_as_doctor_says
test_case private-stacks no_stack_is_shared
run_checks
if [ -n "$soak_seconds" ]; then
	test_case soak soak_is_survived "$(events_together)" "$soak_seconds"
	if [ -e /usr/java ] && [ -e /usr/bin/python3 ]; then
		test_case soak-languages languages_are_survived "$(events_together)" "$soak_seconds"
	else
		echo "skipped soak-languages: there is no Python with uvloop, or no Java, where this was made"
	fi
fi
test_case kernel-log kernel_has_no_complaint
echo "passed the-end"
poweroff -f
