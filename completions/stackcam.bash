# SPDX-License-Identifier: Apache-2.0
# Completion for bash: verbs, options, and values that are known. Needs nothing but bash.

# What is filmed with -e. The help of 'stackcam record' has the same, with words.
_stackcam_events="on-cpu off-cpu run-queue idle lock threads mem-grow file-faults mem-alloc mem-inuse rss mem-beside on-gpu gpu-instructions gpu-copies gpu-wait gpu-lanes hbm-alloc hbm-inuse rdma rdma-latency rdma-memory go-wait go-queue go-idle go-lanes task-lanes vthread-lanes requests deaths machine logs"

_stackcam_reply()
{
	mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

# The last word of a list such as 12,34; $1: all words that can stand there.
_stackcam_list()
{
	local before=
	[[ $cur == *,* ]] && before=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
}

_stackcam_films()
{
	local name
	mapfile -t COMPREPLY < <(compgen -f -X '!*.film' -- "$cur")
	while IFS= read -r name; do
		COMPREPLY+=("$name/")
	done < <(compgen -d -- "$cur")
	compopt -o filenames -o nospace 2>/dev/null
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != */ ]] && compopt +o nospace 2>/dev/null
}

_stackcam_files()
{
	_stackcam_reply "$@"
	compopt -o filenames 2>/dev/null
}

# Numbers of running processes (proc), or of all threads (task).
_stackcam_ids()
{
	local path ids=
	case $1 in
	proc) set -- /proc/[0-9]* ;;
	task) set -- /proc/[0-9]*/task/[0-9]* ;;
	esac
	for path; do
		ids+=" ${path##*/}"
	done
	_stackcam_list "$ids"
}

# Names of running processes.
_stackcam_names()
{
	local file name
	COMPREPLY=()
	for file in /proc/[0-9]*/comm; do
		{ IFS= read -r name <"$file"; } 2>/dev/null || continue
		[[ $name == "$cur"* && " ${COMPREPLY[*]} " != *" $name "* ]] && COMPREPLY+=("$name")
	done
	compopt -o filenames 2>/dev/null
}

_stackcam_cgroups()
{
	local root path
	COMPREPLY=()
	for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
		[[ -e $root/cgroup.controllers ]] || continue
		for path in "$root/${cur#/}"*/; do
			[[ -d $path ]] && COMPREPLY+=("/${path#"$root"/}")
		done
		break
	done
	compopt -o nospace 2>/dev/null
}

# The options of a verb. What stands here stands in its --help, too.
_stackcam_options()
{
	local question="-e --event -p --pid -t --tid -n --comm --name --focus --ignore --from --to
		--wait --idle --leaks --grown --request --by --lines --inlines --native --raw"

	case $1 in
	record)
		echo "-a --all -p --pid -t --tid -n --name --cgroup --no-children -u --user
			--no-randomize-addr -e --event --min-wait --wait-stacks --machine-rate --logs --gpu-instructions --logs-rate --markers --keep-query --fault-period --mem-interval --gpu-budget --mem-budget --mem-inject --mem-java --exact --go-min-wait
			-F --frequency --trace-ids --sample-cpu -d --duration -o --output --label --kernel-only --user-only
			--lines --inlines --flight --flight-memory -q --quiet --verbose -h --help"
		;;
	trace)
		echo "-p --pid -t --tid -n --name --cgroup --no-children -u --user
			--no-randomize-addr -f --function --no-function
			-l --lib --no-lib --inside --list --limit --exit --depth --min-time --slower
			--under --start-on --stop-on --args --redact --stack --summary --max-rate -e --event -d --duration -o --output --label
			--live --text --timestamps --cpu --process --no-tid --no-on-cpu --flat --fold
			--max-depth --color --no-color --raw -q --quiet --verbose -h --help"
		;;
	inspect)
		echo "-p --pid -t --tid -n --name --cgroup --no-children --inside --list -u --user --no-randomize-addr
			--when --rate --limit --no-end --exit -d --duration --string --elements --depth --stack --show --redact
			--summary --json -e --event -o --output --label --live --text -q --quiet --verbose -h --help"
		;;
	report)
		echo "--format --json -o --output --sort --columns --limit --min-percent --service --wide --no-color
			--callers --callees -h --help $question"
		;;
	replay)
		echo "--format -o --output -f --function --no-function --under -e --event -p --pid
			-t --tid -n --comm --name --from --to --max-depth --min-time --raw --flat
			--fold --timestamps --cpu --process --no-tid --no-on-cpu --no-args --color
			--no-color -h --help"
		;;
	diff)
		echo "--format -o --output --limit --fail-above --fail-on --service --wide --no-color
			-h --help $question"
		;;
	explain)
		echo "-p --process -t --thread -n --name --from --to --request --endpoint
			--slowest --gpu --spans --format
			-o --output -h --help"
		;;
	play) echo "--port --open -h --help" ;;
	mcp) echo "--allow-record -h --help" ;;
	schema) echo "-h --help" ;;
	resolve) echo "--debug-dir --cubin --no-debuginfod --lines --inlines --force -h --help" ;;
	threads)
		echo "-a --all -p --pid -t --tid -n --name --cgroup --each --format --lines --native
			--kernel-only --user-only -h --help"
		;;
	top)
		echo "-a --all -p --pid -t --tid -n --name --cgroup --no-children -e --event -F --frequency
			-d --delay --count -b --batch -h --help"
		;;
	doctor) echo "-p --pid --bucket --bucket-keys --sums --sums-cluster --tls-ca --json -h --help" ;;
	serve)
		echo "--listen --token-file --audit --user-header --trusted-proxy --read-open --tls-cert --tls-key --tls-client-ca --store --keep-age
			--keep-size --bucket --bucket-keys --bucket-ca --bucket-cache --sender-limit --debug-dir --debuginfod --sums --sums-cluster --sums-ca --camera --camera-events --camera-time --camera-memory
			--camera-after --camera-hang --camera-queue --camera-cpu --camera-pressure
			--camera-slow --camera-failed --camera-hourly
			-e --event -F --frequency --sample-cpu --markers --keep-query --no-record --label --service --user --config -h --help"
		;;
	upload) echo "--to --token-file --tls-ca --debug-dir -h --help" ;;
	keep) echo "--reason --pid --to --token-file --tls-ca -h --help" ;;
	agent)
		echo "--to --pyroscope --otlp --pprof-dir --token-file --tls-ca --tls-cert --tls-key --pyroscope-push
			--spool --spool-limit --pprof-limit --send-only -e --event -F --frequency --sample-cpu --markers --keep-query --span --names
			-d --duration --host --label --service --camera --camera-events --camera-time
			--camera-memory --camera-after --camera-hang --camera-queue --camera-cpu
			--camera-pressure --camera-slow --camera-failed --camera-hourly
			--user --config -h --help"
		;;
	esac
}

# The value of an option, if it takes one. Returns 1 if it takes none.
_stackcam_value()
{
	local verb=$1 option=$2

	case $verb,$option in
	replay,-e | replay,--event) _stackcam_reply -W "calls" ;;
	report,-e | report,--event | diff,-e | diff,--event) _stackcam_reply -W "$_stackcam_events calls" ;;
	*,-e | *,--event) _stackcam_list "$_stackcam_events" ;;
	record,-p | record,--pid | trace,-p | trace,--pid | inspect,-p | inspect,--pid | threads,-p | threads,--pid) _stackcam_ids proc ;;
	record,-t | record,--tid | trace,-t | trace,--tid | inspect,-t | inspect,--tid | threads,-t | threads,--tid) _stackcam_ids task ;;
	record,-n | record,--name | trace,-n | trace,--name | inspect,-n | inspect,--name | threads,-n | threads,--name) _stackcam_names ;;
	record,--cgroup | trace,--cgroup | inspect,--cgroup | threads,--cgroup) _stackcam_cgroups ;;
	record,-u | record,--user | trace,-u | trace,--user | inspect,-u | inspect,--user) _stackcam_reply -u ;;
	record,-F | record,--frequency | serve,-F | serve,--frequency | agent,-F | agent,--frequency)
		_stackcam_reply -W "19 49 99 199 499 999" ;;
	record,--markers | serve,--markers | agent,--markers) _stackcam_reply -W "0 1 2" ;;
	record,-o | record,--output | trace,-o | trace,--output) _stackcam_films ;;
	trace,--exit) _stackcam_reply -W "auto return ret inferred" ;;
	inspect,--exit) _stackcam_reply -W "ret return" ;;
	trace,--text | inspect,--text) _stackcam_files -f ;;
	report,--format)
		_stackcam_reply -W "table tree folded svg flame-svg html flame-html pprof speedscope json \
			heatmap histogram graph chrome firefox perfetto states states-json requests requests-json
			logs logs-json machine machine-json values values-json inspect inspect-json summary summary-json"
		;;
	threads,--format | explain,--format) _stackcam_reply -W "text json" ;;
	replay,--format) _stackcam_reply -W "text chrome perfetto" ;;
	replay,-o | replay,--output) _stackcam_files -f ;;
	diff,--format) _stackcam_reply -W "table folded svg html pprof speedscope json" ;;
	report,--sort) _stackcam_reply -W "total self calls avg max p99" ;;
	report,--columns)
		_stackcam_list "total self calls avg min max p50 p99 percent self-percent on-cpu inferred all"
		;;
	report,--by | diff,--by) _stackcam_list "process name cgroup container user service thread cpu image label endpoint wait waker lock holder" ;;
	report,--wait | diff,--wait)
		_stackcam_list "lock poll sleep disk file page-fault socket-read socket-write connect accept
			ipc child signal io_uring stopped ready work channel select sync
			network gc other"
		;;
	diff,--fail-on) _stackcam_reply -W "self total" ;;
	report,-o | report,--output | diff,-o | diff,--output) _stackcam_files -f ;;
	resolve,--debug-dir | upload,--debug-dir | serve,--debug-dir | serve,--store) _stackcam_files -d ;;
	serve,--token-file | serve,--tls-* | serve,--config | serve,--audit) _stackcam_files -f ;;
	serve,--bucket | doctor,--bucket) _stackcam_reply -W "s3:// s3+http://" ;;
	serve,--bucket-keys | serve,--bucket-ca | doctor,--bucket-keys | doctor,--tls-ca) _stackcam_files -f ;;
	serve,--camera | agent,--camera) _stackcam_names ;;
	serve,--camera-events | agent,--camera-events) _stackcam_list "$_stackcam_events" ;;
	serve,--camera-* | agent,--camera-*) ;;
	keep,--token-file | keep,--tls-ca | upload,--token-file | upload,--tls-ca) _stackcam_files -f ;;
	keep,--to | upload,--to) _stackcam_reply -W "http:// https://" ;;
	keep,--reason) ;;
	serve,--user) _stackcam_reply -u ;;
	serve,--listen) _stackcam_reply -W "127.0.0.1:7171 0.0.0.0:7171" ;;
	serve,--keep-age | serve,--keep-size | serve,--bucket-cache | serve,--sender-limit | serve,--user-header | serve,--trusted-proxy | serve,--sums | serve,--sums-cluster | serve,--label | serve,--service) ;;
	agent,--spool | agent,--pprof-dir) _stackcam_files -d ;;
	agent,--token-file | agent,--tls-ca | agent,--tls-cert | agent,--tls-key | agent,--config) _stackcam_files -f ;;
	agent,--names) _stackcam_reply -W "agent server" ;;
	agent,--user) _stackcam_reply -u ;;
	agent,--to | agent,--pyroscope | agent,--otlp) _stackcam_reply -W "http:// https://" ;;
	agent,--*-limit | agent,--span | agent,-d | agent,--duration | agent,--host | agent,--label | agent,--service | report,--service | diff,--service) ;;
	record,-d | record,--duration | trace,-d | trace,--duration | inspect,-d | inspect,--duration) ;;
	inspect,--inside | inspect,--when | inspect,--rate | inspect,--limit | inspect,--string) ;;
	inspect,--elements | inspect,--depth | inspect,--redact | inspect,--show) ;;
	trace,-[fl] | trace,--function | trace,--no-function | trace,--lib | trace,--no-lib) ;;
	trace,--inside | trace,--limit | trace,--depth | trace,--min-time | trace,--slower) ;;
	trace,--under | trace,--start-on | trace,--stop-on | trace,--stack | trace,--max-rate | trace,--max-depth) ;;
	report,-[ptn] | report,--pid | report,--tid | report,--comm | report,--name) ;;
	replay,-[fptn] | replay,--function | replay,--no-function | replay,--under) ;;
	replay,--pid | replay,--tid | replay,--comm | replay,--name | replay,--from | replay,--to) ;;
	replay,--max-depth | replay,--min-time) ;;
	diff,-[ptn] | diff,--pid | diff,--tid | diff,--comm | diff,--name) ;;
	report,--focus | report,--ignore | report,--from | report,--to) ;;
	report,--limit | report,--min-percent | report,--callers | report,--callees) ;;
	diff,--focus | diff,--ignore | diff,--from | diff,--to) ;;
	diff,--limit | diff,--fail-above | play,--port) ;;
	*) return 1 ;;
	esac
	return 0
}

# Where the command of "record" or "trace" begins among the words, or nothing.
_stackcam_command_at()
{
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			echo $((i + 1))
			return
			;;
		-a | -q | -h | --all | --no-children | --no-randomize-addr | --kernel-only | --user-only | --lines | \
			--inlines | --quiet | --verbose | --help) ;;
		--list | --summary | --live | --timestamps | --cpu | --process | --no-tid | \
			--no-on-cpu | --flat | --fold | --color | --no-color | --raw) ;;
		-[ptneFdoflu] | --*)
			# its value, which bash splits from it at '='
			((i++))
			[[ ${COMP_WORDS[i]} == "=" ]] && ((i++))
			;;
		-*) ;;
		*)
			echo $i
			return
			;;
		esac
	done
}

_stackcam()
{
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb=${COMP_WORDS[1]} at

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_stackcam_reply -W "record trace inspect report explain replay diff play resolve threads top doctor serve keep agent upload mcp schema help version -h --help --version"
		return
	fi
	if [[ $verb == record || $verb == trace ]]; then
		at=$(_stackcam_command_at)
		if [[ $at ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$at"
			elif ((COMP_CWORD == at)); then
				_stackcam_files -c
			else
				_stackcam_files -f
			fi
			return
		fi
	fi
	# --option=value comes as three words
	if [[ $cur == "=" ]]; then
		cur=
	elif [[ $previous == "=" ]] && ((COMP_CWORD > 2)); then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	_stackcam_value "$verb" "$previous" && return
	if [[ $cur == -* ]]; then
		_stackcam_reply -W "$(_stackcam_options "$verb")"
		return
	fi
	case $verb in
	help) ((COMP_CWORD == 2)) && _stackcam_reply -W "record trace inspect report explain replay diff play resolve threads top doctor serve keep agent upload mcp schema" ;;
	record | trace) _stackcam_files -c ;;
	upload) _stackcam_files -f ;;
	schema) _stackcam_reply -W "report diff summary explain requests states logs machine values inspect threads doctor" ;;
	report | explain | replay | diff | play | resolve | mcp) _stackcam_films ;;
	esac
}

complete -F _stackcam stackcam
