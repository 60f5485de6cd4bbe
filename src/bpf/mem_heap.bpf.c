// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mem-alloc and mem-inuse of programs that libstackcam-memory.so was loaded into (inject/): it has
 * chosen the samples, and tells of each by executing a nop that has a probe. At that place the
 * stack is as it was when malloc() was called.
 */
#include "capture.h"
#include "filter.h"
#include "mem_heap_abi.h"

static __always_inline void tell_free(struct probe_regs *ctx, struct task_struct *task,
				      bool undecided)
{
	struct mem_heap_free record = {
		.head = {MEM_HEAP_FREE, sizeof(record), bpf_ktime_get_ns()},
		.address = ctx->di,
		.pid = task->tgid,
		.undecided = undecided,
	};
	void *ring = capture_ring();

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	if (!ring)
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_NO_RING);
	else if (capture_output(ring, CAPTURE_SOURCE_MEM_HEAP, &record, sizeof(record),
				BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_RING_FULL);
}

SEC("uprobe")
int mem_heap_site(struct probe_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();
	struct capture_scratch *scratch;
	__u32 frames;

	if (answer == FILTER_NO)
		return 0;
	if (place == MEM_HEAP_PLACE_FREE) {
		tell_free(ctx, task, answer == FILTER_ASK);
		return 0;
	}
	if (place == MEM_HEAP_PLACE_LOST) {
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_UNSEEN);
		return 0;
	}
	scratch = capture_begin(CAPTURE_SOURCE_MEM_HEAP);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, MEM_HEAP_ALLOC, task, ctx->dx);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = ctx->di;
	if (want_user && capture_registers(scratch, task)) {
		scratch->record.has_user = 1;
		capture_user(scratch, task);
	}
	frames = scratch->record.user_frames;
	if (frames < CAPTURE_FRAMES_MAX)
		scratch->frames[frames] = ctx->si;
	capture_send_with(scratch, 1);
	capture_end(scratch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
