/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_FEATURE_PROBES_H
#define ATTACH_FEATURE_PROBES_H

#include "attach/feature.h"

/*
 * The trials of feature.c. Each sets state, err, why and to_do of a feature; the other members are
 * set already.
 */

/* feature_bpf.c: features of BPF */
feature_try feature_try_bpf, feature_try_bpf_loop, feature_try_ring_buffer,
	feature_try_shared_arrays, feature_try_tracepoints, feature_try_waits,
	feature_try_task_list, feature_try_socket_calls, feature_try_null_device,
	feature_try_bpf_jit, feature_try_perf_bpf, feature_try_uprobe_multi,
	feature_try_uprobe_session, feature_try_hold, feature_try_lockdown;

/* feature_system.c: perf events, files and settings */
feature_try feature_try_kernel, feature_try_process_numbers, feature_try_btf, feature_try_perf_cpu,
	feature_try_cycles, feature_try_sample_rate, feature_try_kernel_symbols,
	feature_try_map_files, feature_try_other_processes, feature_try_descriptors,
	feature_try_cgroup2, feature_try_debug_files, feature_try_uprobes, feature_try_breakpoints,
	feature_try_cap_bpf, feature_try_cap_perfmon, feature_try_cap_sys_ptrace,
	feature_try_cap_syslog, feature_try_cap_checkpoint_restore, feature_try_cap_dac_read_search;

/* Set the result of a trial; format is for why. */
void feature_is_ok(struct feature *feature, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* err: negative errno, 0 if no call failed. to_do may be null. */
void feature_is_missing(struct feature *feature, int err, const char *to_do, const char *format,
			...) __attribute__((format(printf, 4, 5)));

void feature_is_unknown(struct feature *feature, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
