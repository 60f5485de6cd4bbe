// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hbm-alloc and hbm-inuse: what programs allocate of a device's memory by its driver library. A
 * probe where a function begins takes the stack, and one at its return the address and whether it
 * was done. Calls that give memory back are recorded where they begin: behind them, the address may
 * be another thread's.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/gpu/hbm_abi.h"

/* The most calls that are open at a time: threads that allocate. */
#define HBM_OPEN_MAX 16384

/* The present second, and the stacks that were taken in it. */
__u64 hbm_second, hbm_taken;

/* A call of a thread that has not returned. */
struct hbm_open {
	__u64 thread_start; /* tells it from a later thread of the same number */
	__u64 sp;	    /* where its return address is */
	__u64 key;
	__u64 to;		/* where the function puts an address or a handle */
	__u64 bytes, row, rows; /* row: where it puts the bytes of a row */
	__u64 handle;
	struct hbm_array array;
	__u32 call;
	__u32 undecided;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HBM_OPEN_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct hbm_open);
} hbm_open SEC(".maps");

/* A description of two dimensions has no depth: what stands behind it is the format. */
static __noinline void read_array(struct probe_regs *ctx, struct hbm_open *open)
{
	struct hbm_array *array = &open->array;
	__u64 from = REGS_ARG2(ctx);

	/* what cannot be read is 0, of which an array has no bytes */
	bpf_probe_read_user(&array->width, 2 * sizeof(__u64), (const void *)from);
	from += 2 * sizeof(__u64);
	if (open->call != HBM_CALL_ARRAY) {
		bpf_probe_read_user(&array->depth, sizeof(__u64), (const void *)from);
		from += sizeof(__u64);
	}
	bpf_probe_read_user(&array->format, 2 * sizeof(__u32), (const void *)from);
	if (open->call == HBM_CALL_MIPMAPS)
		array->levels = (__u32)REGS_ARG3(ctx);
}

static __noinline void send_change(__u32 call, __u64 address, __u64 bytes, __u64 handle,
				   __u32 undecided)
{
	struct hbm_change record = {
		.head = {HBM_CHANGE, sizeof(record), bpf_ktime_get_ns()},
		.address = address,
		.bytes = bytes,
		.handle = handle,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.call = call,
		.undecided = undecided,
	};

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	capture_send_record(CAPTURE_SOURCE_HBM, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

/* -- returns ----------------------------------------------------------------------------------- */

static __always_inline void send_end(const struct hbm_open *open, __u32 result)
{
	struct hbm_end record = {
		.head = {HBM_END, sizeof(record), bpf_ktime_get_ns()},
		.key = open->key,
		.bytes = open->bytes,
		.array = open->array,
		.pid = bpf_get_current_pid_tgid() >> 32,
		.call = open->call,
		.result = result,
		.undecided = open->undecided,
	};
	__u64 row = 0;

	if (!result) {
		/* what cannot be read is 0 */
		bpf_probe_read_user(&record.address, sizeof(record.address),
				    (const void *)open->to);
		if (open->call == HBM_CALL_ALLOCATE_ROWS) {
			bpf_probe_read_user(&row, sizeof(row), (const void *)open->row);
			record.bytes = row * open->rows;
		}
	}
	capture_send_record(CAPTURE_SOURCE_HBM, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

static __always_inline void send_done(const struct hbm_open *open)
{
	__u64 handle = open->handle;

	if (open->call == HBM_CALL_RETAIN)
		bpf_probe_read_user(&handle, sizeof(handle), (const void *)open->to);
	send_change(open->call, open->to, open->bytes, handle, open->undecided);
}

/* A function has returned: the one that was called from outside, if the stack is as it was then. */
static __noinline int ended(__u64 sp, __u32 result)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct hbm_open *open = bpf_map_lookup_elem(&hbm_open, &thread);

	if (!open || sp - sizeof(sp) < open->sp)
		return 0;
	if (open->call != HBM_CALL_MAP && open->call != HBM_CALL_RETAIN)
		send_end(open, result);
	else if (!result)
		send_done(open);
	bpf_map_delete_elem(&hbm_open, &thread);
	return 0;
}

/* -- entries ----------------------------------------------------------------------------------- */

/*
 * One function may call another one, or leave by a jump to it: that is one call. What a thread had
 * open and never returned from is over when the stack is higher again.
 */
static __always_inline bool is_within(__u64 thread, __u64 sp, struct task_struct *task)
{
	const struct hbm_open *open = bpf_map_lookup_elem(&hbm_open, &thread);

	return open && open->sp >= sp && open->thread_start == task->start_time;
}

/* The key is one that no other call of a process has. Returns 0: the call is not to be followed. */
static __noinline __u64 open_call(struct probe_regs *ctx, __u32 call, __u32 undecided)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = bpf_get_current_pid_tgid();
	struct hbm_open open = {
		.thread_start = task->start_time,
		.sp = ctx->sp,
		.key = bpf_ktime_get_ns() << 8 | (bpf_get_smp_processor_id() & 0xff),
		.to = REGS_ARG1(ctx),
		.bytes = REGS_ARG2(ctx),
		.call = call,
		.undecided = undecided,
	};

	if (is_within(thread, ctx->sp, task))
		return 0;
	switch (call) {
	case HBM_CALL_MAP:
		open.handle = REGS_ARG4(ctx);
		break;
	case HBM_CALL_ALLOCATE_ROWS:
		open.row = REGS_ARG2(ctx);
		open.rows = REGS_ARG4(ctx);
		break;
	case HBM_CALL_ARRAY:
	case HBM_CALL_ARRAY_3D:
	case HBM_CALL_MIPMAPS:
		open.bytes = 0;
		read_array(ctx, &open);
		break;
	}
	if (!bpf_map_update_elem(&hbm_open, &thread, &open, BPF_ANY))
		return open.key;
	capture_count_loss(CAPTURE_SOURCE_HBM, CAPTURE_LOSS_CALL_NO_STACK);
	return 0;
}

/* Several CPUs that begin a second at once may take a few more. */
static __always_inline bool may_walk(__u64 now)
{
	__u64 second = now / 1000000000;

	if (hbm_second != second) {
		hbm_second = second;
		hbm_taken = 0;
	}
	return __sync_fetch_and_add(&hbm_taken, 1) < HBM_STACKS;
}

SEC("uprobe")
int hbm_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), key;
	__u32 call = cookie & HBM_CALL_MASK;
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;
	enum filter_answer answer;

	if (cookie & HBM_CALL_ENDED)
		return ended(ctx->sp, (__u32)REGS_RESULT(ctx));
	answer = filter_current();
	if (answer == FILTER_NO)
		return 0;
	if (call == HBM_CALL_FREE || call == HBM_CALL_RELEASE || call == HBM_CALL_UNMAP ||
	    call == HBM_CALL_LEAVE) {
		send_change(call, REGS_ARG1(ctx), REGS_ARG2(ctx), REGS_ARG1(ctx),
			    answer == FILTER_ASK);
		return 0;
	}
	key = open_call(ctx, call, answer == FILTER_ASK);
	if (!key || call == HBM_CALL_MAP || call == HBM_CALL_RETAIN)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_HBM, CAPTURE_WALKER_UPROBE);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, HBM_BEGIN, task, 0);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = key;
	if (want_user && may_walk(scratch->record.head.time) && capture_registers(scratch, task))
		capture_wants_walk(scratch);
	capture_walk(ctx, scratch, &walk_uprobe, 0, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
