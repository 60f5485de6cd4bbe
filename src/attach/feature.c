// SPDX-License-Identifier: Apache-2.0
#include "attach/feature.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "attach/feature_probes.h"

static const struct known {
	const char *name;
	feature_try *try;
	bool required;
	const char *needed_for;
} known[FEATURE_COUNT] = {
	[FEATURE_KERNEL] = {"kernel", feature_try_kernel, true, "recording"},
	[FEATURE_PROCESS_NUMBERS] = {"process-numbers", feature_try_process_numbers, true,
				     "recording"},
	[FEATURE_BTF] = {"btf", feature_try_btf, true, "recording"},
	[FEATURE_BPF] = {"bpf", feature_try_bpf, true, "recording"},
	[FEATURE_PERF_CPU] = {"perf-cpu", feature_try_perf_cpu, true, "recording"},
	[FEATURE_PERF_BPF] = {"perf-bpf", feature_try_perf_bpf, true, "recording"},
	[FEATURE_BPF_LOOP] = {"bpf-loop", feature_try_bpf_loop, true, "unwinding in the kernel"},
	[FEATURE_RING_BUFFER] = {"ring-buffer", feature_try_ring_buffer, true, "recording"},
	[FEATURE_SHARED_ARRAYS] = {"shared-arrays", feature_try_shared_arrays, true,
				   "unwind tables"},
	[FEATURE_TRACEPOINTS] = {"tracepoints", feature_try_tracepoints, true,
				 "following children"},
	[FEATURE_WAITS] = {"off-cpu", feature_try_waits, false, "waits, with the kernel's frames"},
	[FEATURE_TASK_LIST] = {"task-list", feature_try_task_list, false,
			       "thread dumps, and waits that began before the recording"},
	[FEATURE_SOCKET_CALLS] = {"socket-calls", feature_try_socket_calls, false, "requests"},
	[FEATURE_NULL_DEVICE] = {"null-device", feature_try_null_device, false,
				 "markers of requests, at no cost for other system calls"},
	[FEATURE_BPF_JIT] = {"bpf-jit", feature_try_bpf_jit, false, "a low cost per sample"},
	[FEATURE_CYCLES] = {"cycles", feature_try_cycles, false,
			    "samples inside of code that blocks interrupts"},
	[FEATURE_SAMPLE_RATE] = {"sample-rate", feature_try_sample_rate, false,
				 "the default of 99 samples a second"},
	[FEATURE_KERNEL_SYMBOLS] = {"kernel-symbols", feature_try_kernel_symbols, false,
				    "names of kernel functions"},
	[FEATURE_MAP_FILES] = {"map-files", feature_try_map_files, false,
			       "programs that were deleted or lie in containers"},
	[FEATURE_OTHER_PROCESSES] = {"other-processes", feature_try_other_processes, false,
				     "processes of other users"},
	[FEATURE_DESCRIPTORS] = {"descriptors", feature_try_descriptors, false,
				 "one open file per program and library"},
	[FEATURE_CGROUP2] = {"cgroup2", feature_try_cgroup2, false,
			     "--cgroup decided in the kernel"},
	[FEATURE_DEBUG_FILES] = {"debug-files", feature_try_debug_files, false,
				 "names and lines of stripped programs"},
	[FEATURE_UPROBES] = {"uprobes", feature_try_uprobes, false, "tracing functions"},
	[FEATURE_UPROBE_MULTI] = {"uprobe-multi", feature_try_uprobe_multi, false,
				  "tracing many functions at once"},
	[FEATURE_UPROBE_SESSION] = {"uprobe-session", feature_try_uprobe_session, false,
				    "tracing entry and exit with one probe"},
	[FEATURE_HOLD] = {"hold", feature_try_hold, false,
			  "tracing the first calls of programs and libraries that start later"},
	[FEATURE_BREAKPOINTS] = {"breakpoints", feature_try_breakpoints, false,
				 "probes in code that a runtime has generated"},
	/* what tries it is known above */
	[FEATURE_PROGRAMS] = {"programs", NULL, false,
			      "events that nothing above keeps from being recorded"},
	[FEATURE_LOCKDOWN] = {"lockdown", feature_try_lockdown, true, "reading kernel memory"},
	[FEATURE_CAP_BPF] = {"cap-bpf", feature_try_cap_bpf, false, "loading probes"},
	[FEATURE_CAP_PERFMON] = {"cap-perfmon", feature_try_cap_perfmon, false, "sampling CPUs"},
	[FEATURE_CAP_SYS_PTRACE] = {"cap-sys-ptrace", feature_try_cap_sys_ptrace, false,
				    "processes of other users"},
	[FEATURE_CAP_SYSLOG] = {"cap-syslog", feature_try_cap_syslog, false,
				"names of kernel functions"},
	[FEATURE_CAP_CHECKPOINT_RESTORE] = {"cap-checkpoint-restore",
					    feature_try_cap_checkpoint_restore, false,
					    "programs that were deleted or lie in containers"},
	[FEATURE_CAP_DAC_READ_SEARCH] = {"cap-dac-read-search", feature_try_cap_dac_read_search,
					 false, "programs that this user may not read"},
};

static void set_words(struct feature *feature, const char *format, va_list args)
{
	vsnprintf(feature->why, sizeof(feature->why), format, args);
}

void feature_is_ok(struct feature *feature, const char *format, ...)
{
	va_list args;

	feature->state = FEATURE_OK;
	va_start(args, format);
	set_words(feature, format, args);
	va_end(args);
}

void feature_is_missing(struct feature *feature, int err, const char *to_do, const char *format,
			...)
{
	va_list args;

	feature->state = FEATURE_MISSING;
	feature->err = err;
	snprintf(feature->to_do, sizeof(feature->to_do), "%s", to_do ? to_do : "");
	va_start(args, format);
	set_words(feature, format, args);
	va_end(args);
}

void feature_is_unknown(struct feature *feature, int err, const char *format, ...)
{
	va_list args;

	feature->state = FEATURE_UNKNOWN;
	feature->err = err;
	va_start(args, format);
	set_words(feature, format, args);
	va_end(args);
}

static void probe(enum feature_id id, feature_try *try, struct feature *feature)
{
	/* libbpf reports what it tries to standard error otherwise */
	libbpf_print_fn_t print = libbpf_set_print(NULL);

	*feature = (struct feature){
		.name = known[id].name,
		.needed_for = known[id].needed_for,
		.required = known[id].required,
	};
	try(feature);
	libbpf_set_print(print);
}

void feature_probe(enum feature_id id, struct feature *feature)
{
	probe(id, known[id].try, feature);
}

void features_probe(struct feature features[FEATURE_COUNT], feature_try *programs)
{
	for (int id = 0; id < FEATURE_COUNT; id++)
		probe((enum feature_id)id, id == FEATURE_PROGRAMS ? programs : known[id].try,
		      &features[id]);
}

int feature_demand(enum feature_id id, struct fail *why)
{
	struct feature feature;

	feature_probe(id, &feature);
	if (feature.state != FEATURE_MISSING)
		return 0;
	return fail(why, feature.err == -EPERM || feature.err == -EACCES ? -EPERM : -EOPNOTSUPP,
		    feature.to_do, "cannot record: %s: %s", feature.name, feature.why);
}

int features_explain(struct fail *why)
{
	int err = 0;

	for (int id = 0; id < FEATURE_COUNT && !err; id++)
		if (known[id].required)
			err = feature_demand((enum feature_id)id, why);
	return err;
}

const char *feature_state_name(enum feature_state state)
{
	static const char *const names[] = {"ok", "missing", "unknown"};

	return names[state];
}
