// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * on-gpu: what libstackcam-gpu.so (inject/gpu.c) reports of launches and kernels, each by a nop
 * with a probe.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/gpu/on_gpu_abi.h"

/*
 * Sends a record of what was before, with the time of capture_now(): also where the end of the
 * recording becomes known between that and this.
 */
static __always_inline void send_past(void *record, __u32 size)
{
	void *ring = capture_ring();

	if (!ring)
		capture_count_loss(CAPTURE_SOURCE_ON_GPU, CAPTURE_LOSS_NO_RING);
	else if ((capture_shared && !capture_may_fill(CAPTURE_SOURCE_ON_GPU, size)) ||
		 bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_ON_GPU, CAPTURE_LOSS_RING_FULL);
}

static __noinline void send_ran(struct probe_regs *ctx, bool is_one, __u32 undecided)
{
	struct on_gpu_ran record = {
		.head = {ON_GPU_RAN, sizeof(record), capture_now()},
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
	};

	if (is_one) {
		record.number = REGS_ARG1(ctx);
		record.end = REGS_ARG3(ctx);
		record.ns = record.end - REGS_ARG2(ctx);
		record.work = REGS_ARG4(ctx);
		record.bytes = REGS_ARG5(ctx);
		record.count = 1;
	} else {
		record.work = REGS_ARG1(ctx);
		record.ns = REGS_ARG2(ctx);
		record.count = REGS_ARG3(ctx);
		record.end = REGS_ARG4(ctx);
		record.number = (__u32)REGS_ARG5(ctx);
		record.site = REGS_ARG5(ctx) >> 32;
		record.bytes = REGS_ARG6(ctx);
		record.more = record.number != 0;
	}
	send_past(&record, sizeof(record));
}

static __noinline void send_samples(struct probe_regs *ctx, __u32 undecided)
{
	struct on_gpu_samples record = {
		.head = {ON_GPU_SAMPLES, sizeof(record), bpf_ktime_get_ns()},
		.code = REGS_ARG1(ctx),
		.function = REGS_ARG2(ctx),
		.offset = REGS_ARG3(ctx),
		.reason = REGS_ARG4(ctx),
		.count = REGS_ARG5(ctx),
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
	};

	capture_send_record(CAPTURE_SOURCE_ON_GPU, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

static __noinline void send_waited(struct probe_regs *ctx, __u32 undecided)
{
	struct on_gpu_waited record = {
		.head = {ON_GPU_WAITED, sizeof(record), capture_now()},
		.call = REGS_ARG1(ctx),
		.ns = REGS_ARG2(ctx),
		.end = REGS_ARG3(ctx),
		.work = REGS_ARG4(ctx),
		.work_ns = REGS_ARG5(ctx),
		.all_ns = REGS_ARG6(ctx),
		.pid = bpf_get_current_pid_tgid() >> 32,
		.undecided = undecided,
	};

	send_past(&record, sizeof(record));
}

/* The kind of a record with an identity. */
static __always_inline __u32 kind_of(__u64 place)
{
	if (place == ON_GPU_PLACE_NAME)
		return ON_GPU_NAME;
	if (place == ON_GPU_PLACE_WORKS)
		return ON_GPU_WORKS_RAN;
	if (place == ON_GPU_PLACE_CAPTURE)
		return ON_GPU_CAPTURE;
	return place == ON_GPU_PLACE_WAIT ? ON_GPU_WAIT : ON_GPU_LAUNCH;
}

SEC("uprobe")
int on_gpu_site(struct probe_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();
	struct capture_scratch *scratch;
	__u32 words = 0;

	if (answer == FILTER_NO)
		return 0;
	if (place == ON_GPU_PLACE_KERNEL || place == ON_GPU_PLACE_REST) {
		send_ran(ctx, place == ON_GPU_PLACE_KERNEL, answer == FILTER_ASK);
		return 0;
	}
	if (place == ON_GPU_PLACE_SAMPLES) {
		send_samples(ctx, answer == FILTER_ASK);
		return 0;
	}
	if (place == ON_GPU_PLACE_WAITED) {
		send_waited(ctx, answer == FILTER_ASK);
		return 0;
	}
	scratch = capture_begin(CAPTURE_SOURCE_ON_GPU, CAPTURE_WALKER_UPROBE);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, kind_of(place), task, 0);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = REGS_ARG1(ctx);
	/* what ran before the recording's end is reported behind it */
	if (place == ON_GPU_PLACE_NAME || place == ON_GPU_PLACE_WORKS)
		scratch->record.head.time = capture_clamped(scratch->record.head.time);
	if (place == ON_GPU_PLACE_NAME) {
		words = ON_GPU_NAME_BYTES / 8;
		scratch->record.identity.value = REGS_ARG2(ctx);
		scratch->behind[0] = REGS_ARG3(ctx);
		/* what cannot be read is empty */
		if (REGS_ARG1(ctx) && bpf_probe_read_user_str(scratch->behind, ON_GPU_NAME_BYTES,
							      (const void *)REGS_ARG2(ctx)) < 0)
			scratch->behind[0] = 0;
	} else if (place == ON_GPU_PLACE_WORKS) {
		words = ON_GPU_WORKS * ON_GPU_WORK_WORDS;
		/* what cannot be read is none */
		if (bpf_probe_read_user(scratch->behind, words * sizeof(__u64),
					(const void *)REGS_ARG1(ctx)))
			__builtin_memset(scratch->behind, 0, words * sizeof(__u64));
	} else if (want_user && capture_registers(scratch, task)) {
		capture_wants_walk(scratch);
	}
	capture_walk(ctx, scratch, &walk_uprobe, 0, words, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
