/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_FEATURE_H
#define ATTACH_FEATURE_H

#include <stdbool.h>

#include "base/fail.h"

/*
 * Finds out what this kernel, this user and this machine allow. Each feature is tried, not looked
 * up, because a container or a security module may forbid what the version, a capability or a
 * setting should allow. A trial leaves nothing behind.
 */
enum feature_id {
	FEATURE_KERNEL,
	FEATURE_PROCESS_NUMBERS,
	FEATURE_BTF,
	FEATURE_BPF,
	FEATURE_PERF_CPU,
	FEATURE_PERF_BPF,
	FEATURE_BPF_LOOP,
	FEATURE_RING_BUFFER,
	FEATURE_SHARED_ARRAYS,
	FEATURE_TRACEPOINTS,
	FEATURE_WAITS,
	FEATURE_TASK_LIST,
	FEATURE_SOCKET_CALLS,
	FEATURE_NULL_DEVICE,
	FEATURE_BPF_JIT,
	FEATURE_CYCLES,
	FEATURE_SAMPLE_RATE,
	FEATURE_KERNEL_SYMBOLS,
	FEATURE_MAP_FILES,
	FEATURE_OTHER_PROCESSES,
	FEATURE_DESCRIPTORS,
	FEATURE_CGROUP2,
	FEATURE_DEBUG_FILES,
	FEATURE_UPROBES,
	FEATURE_UPROBE_MULTI,
	FEATURE_UPROBE_SESSION,
	FEATURE_HOLD,
	FEATURE_BREAKPOINTS,
	FEATURE_PROGRAMS,
	FEATURE_LOCKDOWN,
	FEATURE_CAP_BPF,
	FEATURE_CAP_PERFMON,
	FEATURE_CAP_SYS_PTRACE,
	FEATURE_CAP_SYSLOG,
	FEATURE_CAP_CHECKPOINT_RESTORE,
	FEATURE_CAP_DAC_READ_SEARCH,
	FEATURE_COUNT
};

enum feature_state {
	FEATURE_OK,
	FEATURE_MISSING,
	FEATURE_UNKNOWN, /* could not be tried */
};

struct feature {
	const char *name;
	const char *needed_for;
	bool required; /* recording is impossible without it */
	enum feature_state state;
	int err;	 /* negative errno of the failed call, or 0 */
	char why[256];	 /* the result of the trial */
	char to_do[256]; /* advice; "": nothing needs to be done, or nothing can be done */
};

/* Tries one feature, any but FEATURE_PROGRAMS. */
void feature_probe(enum feature_id id, struct feature *feature);

/* Tries a feature and sets state, err, why and to_do; the other members are set already. */
typedef void feature_try(struct feature *feature);

/*
 * Tries all features, in order. programs: tries FEATURE_PROGRAMS, the programs of recordings
 * themselves (record/feature_programs.h).
 */
void features_probe(struct feature features[FEATURE_COUNT], feature_try *programs);

/*
 * Returns 0 if a feature exists or its state is unknown; otherwise a negative errno, with *why
 * saying that recording needs it.
 */
int feature_demand(enum feature_id id, struct fail *why);

/*
 * Explains why recording fails: fills *why with the first missing feature that is required, and
 * returns its error, -EPERM or -EOPNOTSUPP; 0: none is missing.
 */
int features_explain(struct fail *why);

/* "ok", "missing", "unknown" */
const char *feature_state_name(enum feature_state state);

#endif
