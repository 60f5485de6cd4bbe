#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2046,SC2086
# Runs all tests, or the parts that are named: lint, unit, e2e, kernels, fuzz. The last line counts
# them.
#
#	FUZZ_SECONDS	how long each fuzz target runs (10)
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
. scripts/packages.sh

parts=${*:-lint unit e2e kernels fuzz}
for part in $parts; do
	case $part in
	lint | unit | e2e | kernels | fuzz) ;;
	*)
		echo "usage: test.sh [lint] [unit] [e2e] [kernels] [fuzz]" >&2
		exit 2
		;;
	esac
done

results=build-results
rm -rf $results
mkdir -p $results

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
	step "$@" && echo "passed $1" >>$results/checks
}

# set_up FOLDER OPTION…: a build folder; the environment may name another compiler.
set_up()
{
	local folder=$1
	shift
	[ -f "$folder/build.ninja" ] || meson setup "$folder" "$@"
}

# What compilers warn of in instrumented code is mostly wrong.
set_up_asan()
{
	set_up build-asan --buildtype=debugoptimized -Dwerror=false -Db_sanitize=address,undefined
}

# meson_tests FOLDER NAME OPTION…: runs the tests of a build folder.
meson_tests()
{
	local folder=$1 name=$2
	shift 2
	rm -f "$folder"/meson-logs/testlog.json
	meson test -C "$folder" --print-errorlogs "$@" || echo "(see $folder/meson-logs)"
	# Without a log not one test began: the build failed.
	cp "$folder"/meson-logs/testlog.json "$results/$name.json" 2>/dev/null ||
		echo "failed $name-build" >>$results/checks
}

# end_to_end NAME OPTION…: a run of pytest.
end_to_end()
{
	local name=$1
	shift
	# Debian's own python3 has pytest, another one in PATH may not.
	/usr/bin/python3 -B -m pytest -q -p no:cacheprovider --junit-xml=$results/"$name".xml "$@"
	# 5: nothing was collected.
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
	check format sh -c 'clang-format --dry-run -Werror "$@"' format $(sources)
	step lint-setup set_up build --buildtype=release || return
	# The skeletons that sources include.
	step lint-build ninja -C build src/stackcam || return
	check tidy run-clang-tidy -quiet -p build -j "$(nproc)" \
		-extra-arg=-Wno-unknown-warning-option '/src/[a-z]*/[a-z_]*\.c$'
}

run_unit()
{
	step setup set_up build --buildtype=release || return
	meson_tests build unit --suite unit
	step setup-asan set_up_asan || return
	meson_tests build-asan unit-asan --suite unit --timeout-multiplier 3
}

run_e2e()
{
	step e2e-setup set_up build --buildtype=release || return
	step e2e-build ninja -C build || return
	end_to_end e2e tests/e2e --build=build
	# Faults and reports once more, under the sanitizers.
	step e2e-asan-setup set_up_asan || return
	step e2e-asan-build ninja -C build-asan src/stackcam || return
	end_to_end e2e-asan tests/e2e/test_faults.py tests/e2e/test_output.py tests/e2e/test_diff.py \
		--build=build-asan --programs=build/tests/programs -k "not 10000 and not 5000"
}

# Other kernels, under qemu; their packages are downloaded the first time.
run_kernels()
{
	step kernels-setup set_up build --buildtype=release || return
	step kernels-build ninja -C build || return
	tests/kernels/boot.sh build | tee -a $results/checks
	[ "${PIPESTATUS[0]}" -eq 0 ] || echo "failed kernels" >>$results/checks
}

run_fuzz()
{
	local seconds=${FUZZ_SECONDS:-10}

	CC=clang step fuzz-setup set_up build-fuzz --buildtype=debugoptimized -Dfuzz=true \
		-Dwerror=false || return
	meson_tests build-fuzz fuzz --suite fuzz --num-processes 2 \
		--timeout-multiplier $((seconds / 60 + 1)) --test-args="-max_total_time=$seconds"
}

step packages install_packages $build_packages $test_packages || exit 1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
for part in $parts; do
	echo "== $part"
	run_"$part"
done
echo "== all ($SECONDS s)"
exec /usr/bin/python3 -B scripts/count_tests.py $results
