// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/vthreads_code.h"

#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "bpf/lanes/vthreads_abi.h"

void vthreads_code_begin(struct vthreads_code *code, struct bpf_program *program, int processes,
			 struct probed_refused *refused)
{
	code->program = program;
	code->processes = processes;
	code->refused = refused;
}

void vthreads_code_detach(struct vthreads_code *code)
{
	breakpoints_remove(&code->breakpoints, 0);
}

void vthreads_code_free(struct vthreads_code *code)
{
	breakpoints_free(&code->breakpoints);
	vec_free(&code->running);
}

static bool is_running(const struct vthreads_code *code, pid_t pid)
{
	vec_foreach (&code->running, running)
		if (running->pid == pid)
			return true;
	return false;
}

void vthreads_code_runs(struct vthreads_code *code, pid_t pid, uint32_t object)
{
	struct fail why = {0};

	if (is_running(code, pid) ||
	    vec_push(&code->running, (struct vthreads_running){pid, object, false}))
		return;
	fail_errno(&why, -ENOMEM, NULL, "cannot follow it");
	probed_refused_add(code->refused, &why);
}

/* Returns whether there is nothing left to be done. */
static bool follow(struct vthreads_code *code, const struct vthreads_running *running,
		   struct samples *samples)
{
	struct vthreads_process process;
	struct fail why = {0};
	uint32_t pid = (uint32_t)running->pid;
	int err;

	samples_follow_begin(samples, running->pid);
	err = samples_vthreads(samples, running->pid, running->object, &process, &why);

	if (err == -EAGAIN)
		return false;
	if (!err) {
		const uint64_t addresses[] = {process.first, process.end};

		err = breakpoints_add(&code->breakpoints, running->pid,
				      bpf_program__fd(code->program), addresses, 2, &why);
		process.since = clock_ns();
		if (!err && bpf_map_update_elem(code->processes, &pid, &process, BPF_ANY))
			err = fail(&why, -ENOSPC, NULL, "too many JVMs");
	}
	if (err && err != -ESRCH)
		probed_refused_add(code->refused, &why);
	return true;
}

void vthreads_code_look(struct vthreads_code *code, struct samples *samples)
{
	vec_foreach (&code->running, running)
		if (!running->is_over)
			running->is_over = follow(code, running, samples);
}

void vthreads_code_gone(struct vthreads_code *code, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t kept = 0;

	if (!is_running(code, pid))
		return;
	vec_foreach (&code->running, running)
		if (running->pid != pid)
			code->running.at[kept++] = *running;
	code->running.count = kept;
	breakpoints_remove(&code->breakpoints, pid);
	bpf_map_delete_elem(code->processes, &key);
}
