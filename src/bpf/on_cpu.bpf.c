// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* on-cpu: a perf event on each CPU fires F times a second and asks who is running. */
#include "bpf/capture/event.h"
#include "bpf/filter.h"

/* Set before loading. */
const volatile __u64 on_cpu_period;    /* ns that one sample stands for */
const volatile bool on_cpu_sample_cpu; /* samples have the number of their CPU */

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;
	enum filter_answer answer;

	/* the idle task: no thread runs */
	if (!bpf_get_current_pid_tgid())
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_ON_CPU, CAPTURE_WALKER_EVENT);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, CAPTURE_ON_CPU, task, on_cpu_period);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	if (on_cpu_sample_cpu)
		scratch->record.identity.cpu = bpf_get_smp_processor_id() + 1;
	event_user_stack(ctx, scratch, task);
	capture_walk(ctx, scratch, &walk_event, event_kernel_frames(ctx), 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
