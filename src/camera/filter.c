// SPDX-License-Identifier: Apache-2.0
#include "camera/filter.h"

#include <errno.h>
#include <stdint.h>

#include <bpf/bpf.h>

#include "probes.skel.h"

void filter_prepare(struct probes *probes, const struct selection *selection)
{
	bool ask = selection->name_count || selection->cgroup_count;

	probes->rodata->filter_everything = selection->whole_machine;
	probes->rodata->filter_by_thread = selection->tid_count != 0;
	probes->rodata->filter_ask = ask;
	probes->rodata->filter_children = !selection->no_children;
	if (!selection->whole_machine)
		return;
	bpf_program__set_autoload(probes->progs.follow_fork, false);
	bpf_program__set_autoload(probes->progs.follow_exec, false);
	bpf_program__set_autoload(probes->progs.follow_exit, false);
}

static int list(struct probes *probes, pid_t id, uint8_t answer, struct fail *why)
{
	uint32_t key = (uint32_t)id;

	if (!bpf_map_update_elem(bpf_map__fd(probes->maps.filter_wanted), &key, &answer, BPF_ANY))
		return 0;
	return fail_errno(why, -errno, NULL, "cannot list process %d for filming", (int)id);
}

int filter_add(struct probes *probes, pid_t pid, struct fail *why)
{
	return list(probes, pid, 1, why);
}

int filter_fill(struct probes *probes, const struct selection *selection, struct fail *why)
{
	size_t i;
	int err;

	for (i = 0; i < selection->pid_count; i++) {
		err = list(probes, selection->pids[i], 1, why);
		if (err)
			return err;
	}
	for (i = 0; i < selection->tid_count; i++) {
		err = list(probes, selection->tids[i], 1, why);
		if (err)
			return err;
	}
	return 0;
}

bool filter_decide(struct probes *probes, const struct selection *selection, pid_t pid)
{
	bool wanted = selection_wants(selection, pid);

	/* an answer that cannot be kept is asked for again with the next sample */
	list(probes, pid, wanted, NULL);
	return wanted;
}
