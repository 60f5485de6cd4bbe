#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2046,SC2086
# Runs the tests, and counts them in its last line.
#
#	test.sh			all of them: lint unit replay e2e kernels
#	test.sh PART…		these parts, also those that take long and are no part of all:
#		tidy		clang-tidy on all files, its analyzer too; lint has that on those that changed, less deep
#		distributions	builds on Debian 13 and films with that; what is downloaded stays in the build folder
#		packages	builds the packages of dist/, and installs and removes them on fresh Debians; the tarball
#				and the image run in roots of their own
#		fuzz		each fuzz target runs for FUZZ_SECONDS (60); replay has them read their corpus
#	test.sh changed		the parts, and of e2e the files, that what changed can reach (scripts/reach.py)
#
# What changed are the commits since SINCE, a revision (scripts/reach.py says which one otherwise), and what is not
# committed.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
. scripts/packages.sh
. tests/kernels/kernel.sh

parts=${*:-lint unit replay e2e kernels}
end_to_end_files=tests/e2e
if [ "$parts" = changed ]; then
	parts=$(scripts/reach.py parts ${SINCE:-}) || exit 1
	end_to_end_files=$(scripts/reach.py e2e ${SINCE:-}) || exit 1
	echo "changes reach: ${parts:-nothing that is tested}"
fi
for part in $parts; do
	case $part in
	lint | tidy | unit | replay | fuzz | e2e | kernels | distributions | packages) ;;
	*)
		echo "usage: test.sh [changed | lint | tidy | unit | replay | fuzz | e2e | kernels | distributions | packages]…" >&2
		exit 2
		;;
	esac
done

results=build-results
rm -rf $results
mkdir -p $results

# end_of PERCENT: when that part of STACKCAM_MINUTES is over, in seconds since 1970; nothing without it.
end_of()
{
	[ -z "${STACKCAM_MINUTES-}" ] || echo $(($(date +%s) - SECONDS + STACKCAM_MINUTES * 60 * $1 / 100))
}

# is_late PERCENT NAME: whether it is too late to begin that; then it counts as skipped.
is_late()
{
	local end
	end=$(end_of "$1")
	[ -n "$end" ] && [ "$(date +%s)" -ge "$end" ] || return 1
	echo "skipped $2: no time left" >>$results/checks
}

# step NAME COMMAND…: something that the tests need; its output is shown if it fails.
step()
{
	local name=$1 log=$results/$1.log begin=$SECONDS
	shift
	if "$@" >"$log" 2>&1 </dev/null; then
		echo "ok      $name ($((SECONDS - begin)) s)"
		return 0
	fi
	echo "FAILED  $name ($((SECONDS - begin)) s)"
	tail -n 200 "$log"
	echo "failed $name" >>$results/checks
	return 1
}

# check NAME COMMAND…: a step that is a test itself.
check()
{
	is_late 80 "$1" && return
	step "$@" && echo "passed $1" >>$results/checks
}

# set_up FOLDER OPTION…: a build folder; the environment may name another compiler. One that run.sh made
# does not know of compilers that were installed for the tests.
set_up()
{
	local folder=$1 again=
	shift
	[ ! -f "$folder/build.ninja" ] || again=--reconfigure
	meson setup $again "$folder" "$@"
}

# One build for the sanitizers and the fuzzers. What compilers warn of in instrumented code is mostly wrong. lld links
# its 300 programs in half the time.
set_up_sanitized()
{
	CC=clang CC_LD=lld CXX_LD=lld set_up build-fuzz --buildtype=debugoptimized -Dfuzz=true -Db_lundef=false
}

# It ends when it is too late for the tests that need it.
build_sanitized()
{
	local end
	end=$(end_of 80)
	is_late 80 build-sanitized ||
		chrt --idle 0 timeout $((end ? end - $(date +%s) + 1 : 0)) ninja -C build-fuzz || is_late 80 build-sanitized
}

# wants PART…: whether one of them is to be run.
wants()
{
	local part
	for part in "$@"; do
		case " $parts " in
		*" $part "*) return 0 ;;
		esac
	done
	return 1
}

# meson_tests FOLDER NAME OPTION…: runs the tests of a build folder.
meson_tests()
{
	local folder=$1 name=$2
	shift 2
	is_late 80 "$name" && return
	rm -f "$folder"/meson-logs/testlog.json
	meson test -C "$folder" --print-errorlogs "$@" || echo "(see $folder/meson-logs)"
	# Without a log not one test began: the build failed.
	cp "$folder"/meson-logs/testlog.json "$results/$name.json" 2>/dev/null ||
		echo "failed $name-build" >>$results/checks
}

# What is filmed keeps one CPU busy, and there is a worker for each: with one more the tests end no earlier, and some fail
# as what they film gets no CPU. The tests of a file share what they film, and stay together.
workers=(-n "$(nproc)" --dist loadfile)

# end_to_end NAME OPTION…: a run of pytest.
end_to_end()
{
	local name=$1
	shift
	# Debian's own python3 has pytest, another one in PATH may not.
	/usr/bin/python3 -B -m pytest -q -p no:cacheprovider --junit-xml=$results/"$name".xml "$@"
	# Else it crashed, or nothing was collected.
	case $? in
	0 | 1) ;;
	*) echo "failed $name" >>$results/checks ;;
	esac
}

sources()
{
	find src tests -name '*.[ch]' -o -name '*.cc'
}

run_lint()
{
	# another version formats in another way
	if clang-format --version | grep -q " version 14\."; then
		check format sh -c 'clang-format --dry-run -Werror "$@"' format $(sources)
	else
		echo "skipped format: only clang-format 14 decides" >>$results/checks
	fi
	check comment-width scripts/comment_width.py
	check words scripts/words.py
	check glossary scripts/glossary.py
	check languages scripts/languages.py
	# The page's types; its packages are those of the build and the compiler. Not where there is no page.
	if [ -s build/web/app.js ]; then
		step page-packages sh -c 'cd web && npm ci --ignore-scripts' &&
			check page-types sh -c 'cd web && node_modules/.bin/tsc'
	fi
}

# Patterns for all sources, as scripts/reach.py prints those of some.
all_sources()
{
	find src -name '*.c' ! -name '*.bpf.c' -printf '/src/%P$\n' | sort
}

# run_tidy [OPTION…] PATTERN…: clang-tidy on files of src, until the time is over: then what it found so far counts, and
# $results/tidy-late is there.
run_tidy()
{
	local end left=0 status
	end=$(end_of 95)
	if [ -n "$end" ]; then
		left=$((end - $(date +%s)))
		[ $left -gt 0 ] || left=1
	fi
	timeout $left chrt --idle 0 run-clang-tidy -quiet -p build -j "$(nproc)" -extra-arg=-Wno-unknown-warning-option "$@" |
		tee $results/tidy-found
	status=${PIPESTATUS[0]}
	[ "$status" -eq 124 ] || return "$status"
	: >$results/tidy-late
	! grep -q "error:" $results/tidy-found
}

# tidied NAME COMMAND…: as check; skipped if not all files had their turn.
tidied()
{
	is_late 80 "$1" && return
	rm -f $results/tidy-late
	step "$@" || return
	if [ -e $results/tidy-late ]; then
		echo "skipped $1: no time left for all files"
	else
		echo "passed $1"
	fi >>$results/checks
}

# of_turn WORD…: those that are due, of as many turns as STACKCAM_VARIANTS says (tests/e2e/conftest.py); without it all.
of_turn()
{
	printf '%s\n' "$@" | awk -v variants="${STACKCAM_VARIANTS:-1:0}" 'split(variants, v, ":") && NR % v[1] == v[2] % v[1]'
}

# run_analyzer PATTERN…: the part of clang-tidy that takes 30 times as long as all others. It goes a third as far in
# each function as it does in `tidy`, which takes a third of the time.
run_analyzer()
{
	[ $# -eq 0 ] || run_tidy -checks='-bugprone-*' -extra-arg=-Xclang -extra-arg=-analyzer-config \
		-extra-arg=-Xclang -extra-arg=max-nodes=75000 "$@"
}

# What only computes: chrt puts it behind the programs that are filmed meanwhile. First what other parts wait for.
run_behind()
{
	if wants unit replay fuzz e2e; then
		step setup-sanitized set_up_sanitized &&
			step build-sanitized build_sanitized
	fi
}

# await NAME: waits for what runs beside, which is no child of the shell that asks.
await()
{
	tail -f /dev/null -s 1 --pid="${besides[$1]}"
}

# Nothing waits for these but the end.
run_sanitized_behind()
{
	chrt --idle --pid 0 $BASHPID
	await behind
	part unit "unit, sanitized" run_unit_sanitized
	part replay replay run_replay
}

# These compute and download; they film only what they start.
run_elsewhere_behind()
{
	chrt --idle --pid 0 $BASHPID
	await tidy
	part kernels types run_types
	part distributions distributions run_distributions
}

run_tidy_behind()
{
	await sanitized
	if wants tidy; then
		tidied tidy run_tidy $(all_sources)
	elif wants lint; then
		tidied tidy run_tidy -checks='-clang-analyzer-*' $(of_turn $(all_sources))
		tidied tidy-changed run_analyzer $(of_turn $(scripts/reach.py tidy ${SINCE:-}))
	fi
}

run_unit()
{
	meson_tests build unit --suite unit
}

run_unit_sanitized()
{
	meson_tests build-fuzz unit-sanitized --suite unit --timeout-multiplier 10
}

run_e2e()
{
	STACKCAM_UNTIL=$(end_of 60) end_to_end e2e "${workers[@]}" $end_to_end_files --build=build
}

# What failed while other tests ran beside it must pass three times alone, when nothing else runs; those that do are
# named in the end. Where many fail, it is not the load.
again_most=16 again_times=3
run_again()
{
	local failed time

	mapfile -t failed < <(/usr/bin/python3 -B scripts/count_tests.py --failed $results/e2e.xml)
	[ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le $again_most ] || return 0
	mkdir -p $results/again
	for ((time = 1; time <= again_times; time++)); do
		end_to_end again/$time --build=build --tb=no -rN "${failed[@]}"
	done
}

# Faults and reports once more, under the sanitizers.
run_e2e_sanitized()
{
	STACKCAM_UNTIL=$(end_of 75) end_to_end e2e-sanitized "${workers[@]}" tests/e2e/test_faults.py tests/e2e/test_output.py tests/e2e/test_diff.py \
		--build=build-fuzz --programs=build/tests/programs -k "not 10000 and not 5000"
}

# Each second turn has the same kernel (kernels_of_turn), so that its ways must change with each second one.
variants_of_kernels()
{
	local variants=${STACKCAM_VARIANTS-}
	case $variants in
	*:*) echo "${variants%%:*}:$((${variants##*:} / 2))" ;;
	esac
}

# run_kernel KERNEL: another kernel, under qemu; its package is downloaded the first time. It keeps one CPU busy, no more.
# At the end a program is looked at by all sources for SOAK_SECONDS: ten minutes, or less where there is a turn.
run_kernel()
{
	local soak=600
	[ -z "${STACKCAM_VARIANTS-}" ] || soak=40
	STACKCAM_UNTIL=$(end_of 85) STACKCAM_VARIANTS=$(variants_of_kernels) SOAK_SECONDS=${SOAK_SECONDS:-$soak} \
		tests/kernels/boot.sh build "$1" | tee -a $results/checks
	[ "${PIPESTATUS[0]}" -eq 0 ] || echo "failed kernel-$1" >>$results/checks
}

# What is read of all kernels, without booting them; what the tests that boot them need is downloaded with it.
run_types()
{
	tests/kernels/types.sh build | tee -a $results/checks
	[ "${PIPESTATUS[0]}" -eq 0 ] || echo "failed types" >>$results/checks
}

# Those beside the oldest one: where the environment says a turn, one. At each second turn that is the newest, else another,
# or one with full preemption.
kernels_of_turn()
{
	local others=${kernel_series#* } turn=${STACKCAM_VARIANTS-} more
	turn=${turn#*:}
	more=(${others% *} $(printf '%s+preempt=full ' $kernel_series) 6.12-all+only=rdma)
	case ${STACKCAM_VARIANTS-} in
	*:*) [ $((turn % 2)) -eq 0 ] && echo "${others##* }" || echo "${more[turn / 2 % ${#more[@]}]}" ;;
	*) echo "${others##* } ${more[*]}" ;;
	esac
}

run_kernels_of_turn()
{
	local kernel
	for kernel in $(kernels_of_turn); do
		run_kernel "$kernel"
	done
}

# Another Debian than this one, in a root of its own; its packages are downloaded the first time.
run_distributions()
{
	is_late 60 distributions && return
	mkdir -p build
	tests/distributions/build.sh build trixie | tee -a $results/checks
}

# What dist/ builds, from nothing.
run_packages()
{
	mkdir -p build
	chrt --idle 0 tests/distributions/packages.sh build | tee -a $results/checks
}

# Each fuzz target reads its corpus once.
run_replay()
{
	meson_tests build-fuzz replay --suite fuzz --test-args=-runs=0
}

run_fuzz()
{
	local seconds=${FUZZ_SECONDS:-60}

	meson_tests build-fuzz fuzz --suite fuzz --num-processes 2 \
		--timeout-multiplier $((seconds / 60 + 1)) --test-args="-max_total_time=$seconds"
}

# beside NAME FUNCTION ARGUMENT…: starts it; what it says is shown by ended.
declare -A besides
beside()
{
	"${@:2}" >$results/"$1"-beside.log 2>&1 &
	besides[$1]=$!
}

ended()
{
	wait "${besides[$1]}"
	echo "== $1"
	cat $results/"$1"-beside.log
}

# part PART TITLE FUNCTION: runs it if that part is wanted, and says when.
part()
{
	wants $1 || return 0
	echo "== $2 ($SECONDS s)"
	$3
}

run_all()
{
	if wants lint tidy unit e2e kernels; then
		step setup set_up build --buildtype=release -Dwerror=true || return
		step build ninja -C build || return
	fi
	part lint lint run_lint
	part unit unit run_unit
	beside behind run_behind
	beside sanitized run_sanitized_behind
	beside tidy run_tidy_behind
	beside elsewhere run_elsewhere_behind
	part e2e e2e run_e2e
	ended behind
	wants kernels && beside kernels-of-turn run_kernels_of_turn
	part e2e "e2e, sanitized" run_e2e_sanitized
	wants kernels && beside kernel-oldest run_kernel "${kernel_series%% *}"
	part packages packages run_packages
	wants kernels && ended kernels-of-turn
	wants kernels && ended kernel-oldest
	ended elsewhere
	ended sanitized
	ended tidy
	part e2e "e2e, again what failed" run_again
	part fuzz fuzz run_fuzz
}

step packages install_packages $build_packages $test_packages || exit 1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
run_all
echo "== all ($SECONDS s)"
exec /usr/bin/python3 -B scripts/count_tests.py $results $again_times
