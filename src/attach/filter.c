// SPDX-License-Identifier: Apache-2.0
#include "attach/filter.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include <bpf/bpf.h>

#include "bpf/filter_abi.h"
#include "attach/parts.h"
#include "bpf/probes.skel.h"

/*
 * Control groups of version 2 are decided in the kernel. False: some are not, and must be asked
 * for.
 */
static bool list_cgroups(struct probes *probes, const struct selection *selection)
{
	enum {
		MAX = sizeof(probes->rodata->filter_cgroup_ids) / sizeof(uint64_t)
	};
	struct selection_cgroup groups[MAX];
	int count = selection_cgroup_v2_ids(selection, groups, MAX), i;

	if (count < 0 || count > MAX)
		return false;
	for (i = 0; i < count; i++) {
		probes->rodata->filter_cgroup_ids[i] = groups[i].id;
		probes->rodata->filter_cgroup_levels[i] = groups[i].level;
	}
	probes->rodata->filter_cgroup_count = (uint32_t)count;
	return true;
}

void filter_prepare(struct probes *probes, const struct selection *selection)
{
	bool ask = selection->name_count != 0;

	if (selection->cgroup_count && !list_cgroups(probes, selection))
		ask = true;
	probes->rodata->filter_everything = selection->whole_machine;
	probes->rodata->filter_by_thread = selection->tid_count != 0;
	probes->rodata->filter_ask = ask;
	probes->rodata->filter_children = !selection->no_children;
	if (!selection->whole_machine)
		return;
	bpf_program__set_autoload(probes->progs.follow_fork, false);
	bpf_program__set_autoload(probes->progs.follow_exit, false);
}

static int list(struct probes *probes, pid_t id, uint8_t answer, struct fail *why)
{
	uint32_t key = (uint32_t)id;

	if (!bpf_map_update_elem(bpf_map__fd(probes->maps.filter_wanted), &key, &answer, BPF_ANY))
		return 0;
	return fail_errno(why, -errno, NULL, "cannot list process %d for filming", (int)id);
}

/* Whether a process is known to be selected. */
static bool filter_knows(const struct probes *probes, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	uint8_t answer;

	return !bpf_map_lookup_elem(bpf_map__fd(probes->maps.filter_wanted), &key, &answer) &&
	       answer != FILTER_NO;
}

bool filter_is_target(const struct probes *probes, const struct selection *selection, pid_t pid)
{
	if (filter_knows(probes, pid))
		return true;
	if ((selection->name_count || selection->cgroup_count) && selection_wants(selection, pid))
		return true;
	for (size_t i = 0; i < selection->tid_count; i++)
		if (parts_process_of_thread(selection->tids[i]) == pid)
			return true;
	return false;
}

int filter_add(struct probes *probes, pid_t pid, struct fail *why)
{
	return list(probes, pid, FILTER_YES, why);
}

int filter_add_at_exec(struct probes *probes, pid_t pid, struct fail *why)
{
	return list(probes, pid, FILTER_AT_EXEC, why);
}

int filter_fill(struct probes *probes, const struct selection *selection, struct fail *why)
{
	size_t i;
	int err;

	for (i = 0; i < selection->pid_count; i++) {
		err = list(probes, selection->pids[i], FILTER_YES, why);
		if (err)
			return err;
	}
	for (i = 0; i < selection->tid_count; i++) {
		err = list(probes, selection->tids[i], FILTER_YES, why);
		if (err)
			return err;
	}
	return 0;
}

bool filter_decide(struct probes *probes, const struct selection *selection, pid_t pid,
		   const char *comm, bool *gone)
{
	bool wanted = selection_wants(selection, pid);

	*gone = false;
	if (!wanted && kill(pid, 0) && errno == ESRCH) {
		*gone = selection->cgroup_count != 0;
		return selection_wants_name(selection, comm);
	}
	/* an answer that cannot be kept is asked for again with the next sample */
	list(probes, pid, wanted ? FILTER_YES : FILTER_NO, NULL);
	/* it may have executed another program just before that was listed, too late to be asked */
	if (!wanted && selection_wants(selection, pid)) {
		list(probes, pid, FILTER_YES, NULL);
		return true;
	}
	return wanted;
}
