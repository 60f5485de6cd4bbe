// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* on-cpu: a perf event on each CPU fires F times a second and asks who is running. */
#include "capture.h"
#include "filter.h"

const volatile __u64 on_cpu_period; /* ns that one sample stands for; set before loading */

/* Bit 1..0 of the code segment: the privilege level. 3 is user mode. */
#define IN_USER_MODE(ctx) ((CODE_SEGMENT(&(ctx)->regs) & 3) == 3)

/* Inside execve() the stack that the registers speak of may be gone with the old program. */
static __always_inline bool is_in_exec(const struct probe_regs *entry)
{
	return entry->orig_ax == SYSCALL_EXECVE || entry->orig_ax == SYSCALL_EXECVEAT;
}

/* No system call, but an exception or an interrupt has led from user mode into the kernel. */
static __always_inline bool is_in_exception(const struct probe_regs *entry)
{
	return entry->orig_ax == ~0ul;
}

static __always_inline void take_user_stack(struct bpf_perf_event_data *ctx,
					    struct capture_scratch *scratch,
					    struct task_struct *task)
{
	/* what a kernel thread, or one that is exiting, has in its registers is not user code */
	if (!want_user || task->flags & PF_KTHREAD || !task->mm)
		return;
	if (!capture_registers(scratch, task))
		return;
	if (!IN_USER_MODE(ctx) && is_in_exec(&scratch->entry))
		return;
	if (!IN_USER_MODE(ctx) && is_in_exception(&scratch->entry))
		uprobes_undo_breakpoint(&scratch->walk, task);
	scratch->record.has_user = 1;
	capture_user(scratch, task);
}

static __always_inline void take_kernel_stack(struct bpf_perf_event_data *ctx,
					      struct capture_scratch *scratch)
{
	__u32 user_frames = scratch->record.user_frames;
	long bytes;

	if (!want_kernel || IN_USER_MODE(ctx))
		return;
	if (user_frames > UNWIND_FRAMES_MAX)
		return;
	bytes = bpf_get_stack(ctx, &scratch->frames[user_frames],
			      CAPTURE_KERNEL_FRAMES_MAX * sizeof(__u64), 0);
	if (bytes > 0)
		scratch->record.kernel_frames = bytes / sizeof(__u64);
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;
	enum filter_answer answer;

	/* the idle task: nobody runs */
	if (!bpf_get_current_pid_tgid())
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_ON_CPU);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, CAPTURE_ON_CPU, task, on_cpu_period);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	take_user_stack(ctx, scratch, task);
	take_kernel_stack(ctx, scratch);
	capture_send(scratch);
	capture_end(scratch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
