// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Keeps the list of wanted processes true while they fork, exec and exit. */
#include "bpf/filter.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u8 *answer;

	/* a new thread is covered by its process */
	if (!filter_children || from == to)
		return 0;
	answer = bpf_map_lookup_elem(&filter_wanted, &from);
	if (answer && *answer == FILTER_YES)
		bpf_map_update_elem(&filter_wanted, &to, answer, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task)
{
	__u32 pid = task->tgid;
	__u8 *answer = bpf_map_lookup_elem(&filter_wanted, &pid), yes = FILTER_YES;

	if (filter_command == pid)
		filter_command = 0;
	if (answer && *answer == FILTER_AT_EXEC)
		bpf_map_update_elem(&filter_wanted, &pid, &yes, BPF_ANY);
	/* it has another name now: a "no" must be asked for again */
	if (filter_ask && answer && *answer == FILTER_NO)
		bpf_map_delete_elem(&filter_wanted, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task)
{
	__u32 key = filter_by_thread ? task->pid : task->tgid;

	/* other threads of the process may live on */
	if (!filter_by_thread && task->signal->live.counter > 0)
		return 0;
	bpf_map_delete_elem(&filter_wanted, &key);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
