/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_DEATHS_OOM_H
#define BPF_SCHED_DEATHS_OOM_H

/*
 * A process that the kernel kills since memory is used up (mm/oom_kill.c): before it gives anything
 * back, what it has, and what of its control group's memory is in use. The kernel marks it by
 * signal_struct.oom_mm.
 */

#include "bpf/capture/capture.h"
#include "bpf/sched/deaths_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct___oom {
	void *oom_mm;
};

struct counter___oom {
	long long counter;
};

/* Since Linux 6.2 a counter of each CPU; what CPUs keep for themselves, some 100 kB each, lacks */
struct percpu_counter___oom {
	long long count;
};
struct mm_struct___oom {
	struct percpu_counter___oom rss_stat[4];
};

/* before that */
struct mm_rss_stat {
	struct counter___oom count[4];
};
struct mm_struct___oom_before {
	struct mm_rss_stat rss_stat;
};

struct page_counter___oom {
	struct counter___oom usage;
	unsigned long max;
};

struct kernfs_node___oom {
	const char *name;
};

struct cgroup___oom {
	struct kernfs_node___oom *kn;
};

struct cgroup_subsys_state___oom {
	struct cgroup___oom *cgroup;
	struct cgroup_subsys_state___oom *parent;
};

struct mem_cgroup___oom {
	struct cgroup_subsys_state___oom css;
	struct page_counter___oom memory;
};

struct css_set___oom {
	struct cgroup_subsys_state___oom *subsys[14];
};

struct task_struct___oom {
	struct css_set___oom *cgroups;
};

#pragma clang attribute pop

enum cgroup_subsys_id___oom {
	memory_cgrp_id___oom = 4,
};

/* linux/mm_types_task.h */
enum {
	FILES,
	ANONYMOUS,
	SWAPPED,
	SHARED,
};

#define OOM_LEVELS    16
#define OOM_PAGE      4096ull
#define OOM_UNLIMITED (1ull << 50) /* more pages than any machine has */

static __always_inline bool oom_is(struct task_struct *task)
{
	struct signal_struct___oom *all = (void *)BPF_CORE_READ(task, signal);

	return BPF_CORE_READ(all, oom_mm);
}

static __always_inline __u64 oom_bytes(long long pages)
{
	return pages > 0 ? (__u64)pages * OOM_PAGE : 0;
}

/*
 * which: a constant, or the distance between two counters is not the kernel's. To ask whether the
 * kernel has a type that it does not have, libbpf would look through its modules, which takes more
 * privileges than a recorder may have.
 */
#define OOM_COUNTER(mm, which)                                                         \
	oom_bytes(bpf_core_field_exists(struct mm_struct___oom_before, rss_stat.count) \
			  ? BPF_CORE_READ((struct mm_struct___oom_before *)(mm),       \
					  rss_stat.count[which].counter)               \
			  : BPF_CORE_READ((struct mm_struct___oom *)(mm), rss_stat[which].count))

/* The group that has least left: that of the process, or one that it is in. None: limit is 0. */
static __always_inline void oom_group(struct task_struct *task, struct deaths_oom *oom)
{
	struct css_set___oom *groups =
		BPF_CORE_READ((struct task_struct___oom *)(void *)task, cgroups);
	int id = bpf_core_enum_value_exists(enum cgroup_subsys_id___oom, memory_cgrp_id___oom)
			 ? (int)bpf_core_enum_value(enum cgroup_subsys_id___oom,
						    memory_cgrp_id___oom)
			 : -1;
	struct cgroup_subsys_state___oom *group = NULL, *fullest = NULL;
	__u64 least = ~0ull;

	if (id < 0 || id >= 14)
		return;
	bpf_core_read(&group, sizeof(group), &groups->subsys[id]);
	for (int i = 0; i < OOM_LEVELS && group; i++) {
		struct mem_cgroup___oom *memory = (void *)group;
		__u64 limit = BPF_CORE_READ(memory, memory.max);
		__u64 used = (__u64)BPF_CORE_READ(memory, memory.usage.counter);
		__u64 left = used < limit ? limit - used : 0;

		if (limit < OOM_UNLIMITED && left < least) {
			least = left;
			oom->limit = limit * OOM_PAGE;
			oom->used = used * OOM_PAGE;
			fullest = group;
		}
		group = BPF_CORE_READ(group, parent);
	}
	if (fullest)
		bpf_probe_read_kernel_str(oom->group, sizeof(oom->group),
					  BPF_CORE_READ(fullest, cgroup, kn, name));
}

static __always_inline void oom_read(struct task_struct *task, struct deaths_oom *oom)
{
	void *mm = BPF_CORE_READ(task, mm);

	oom->files = OOM_COUNTER(mm, FILES);
	oom->anonymous = OOM_COUNTER(mm, ANONYMOUS);
	oom->swapped = OOM_COUNTER(mm, SWAPPED);
	oom->shared = OOM_COUNTER(mm, SHARED);
	oom_group(task, oom);
}

#endif
