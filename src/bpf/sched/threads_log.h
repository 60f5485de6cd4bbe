/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_THREADS_LOG_H
#define BPF_SCHED_THREADS_LOG_H

/* The log of a CPU, into which nothing but what happens on that CPU is written (threads_abi.h). */

#include "bpf/sched/threads_abi.h"

/* Words of a log, less one: a power of two. Set before loading. */
const volatile __u32 threads_log_mask = 511;

struct threads_log_least {
	struct threads_log log;
	__u64 words[512];
};

/* Of each CPU; how large they are is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct threads_log_least);
} sched_logs SEC(".maps");

static __always_inline struct threads_log *log_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&sched_logs, &cpu);
}

#define WORD(log, at) (((__u64 *)((log) + 1))[(at)&threads_log_mask])

/* Room for that many words; false: it is full, which is counted. */
static __always_inline bool has_room(struct threads_log *log, __u64 words)
{
	if (log->head + words - log->tail <= (__u64)threads_log_mask + 1)
		return true;
	log->lost++;
	return false;
}

static __always_inline void publish(struct threads_log *log, __u64 words)
{
	/*
	 * A reader that sees it sees the words: x86-64 keeps the order of stores. Nothing else
	 * writes there meanwhile, as both who do hold interrupts off.
	 */
	barrier();
	*(volatile __u64 *)&log->head = log->head + words;
}

#endif
