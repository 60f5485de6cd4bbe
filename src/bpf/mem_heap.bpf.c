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
				      bool undecided, bool is_kept)
{
	struct mem_heap_free record = {
		.head = {MEM_HEAP_FREE, sizeof(record), bpf_ktime_get_ns()},
		.address = ctx->di,
		.pid = task->tgid,
		.undecided = undecided,
		.is_kept = is_kept,
	};
	void *ring = capture_ring();

	bpf_get_current_comm(record.comm, sizeof(record.comm));
	if (!ring)
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_NO_RING);
	else if (capture_output(ring, CAPTURE_SOURCE_MEM_HEAP, &record, sizeof(record),
				BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_RING_FULL);
}

/* bytes: with MEM_HEAP_UNFOLLOWED; address 0: it is not known. */
static __always_inline void tell_alloc(struct task_struct *task, bool undecided, __u64 address,
				       __u64 bytes, __u64 interval)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_MEM_HEAP);
	__u32 frames;

	if (!scratch)
		return;
	capture_identity(&scratch->record, MEM_HEAP_ALLOC, task, bytes);
	scratch->record.identity.undecided = undecided;
	scratch->record.identity.key = address;
	if (want_user && capture_registers(scratch, task)) {
		scratch->record.has_user = 1;
		capture_user(scratch, task);
	}
	frames = scratch->record.user_frames;
	if (frames < CAPTURE_FRAMES_MAX)
		scratch->frames[frames] = interval;
	capture_send_with(scratch, 1);
	capture_end(scratch);
}

SEC("uprobe")
int mem_heap_site(struct probe_regs *ctx)
{
	__u64 place = bpf_get_attach_cookie(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();

	if (answer == FILTER_NO)
		return 0;
	if (place == MEM_HEAP_PLACE_FREE || place == MEM_HEAP_PLACE_KEPT) {
		tell_free(ctx, task, answer == FILTER_ASK, place == MEM_HEAP_PLACE_KEPT);
		return 0;
	}
	if (place == MEM_HEAP_PLACE_LOST) {
		capture_count_loss(CAPTURE_SOURCE_MEM_HEAP, CAPTURE_LOSS_FREE_UNSEEN);
		return 0;
	}
	tell_alloc(task, answer == FILTER_ASK, ctx->di, ctx->dx, ctx->si);
	return 0;
}

/* -- running processes ------------------------------------------------------------------------- */

/*
 * Without the library, probes where functions of the allocator begin count the bytes themselves.
 * Each hit costs as much as 50 calls of malloc(), so user space lets them take so much time only,
 * and takes them out when they have.
 */
__u64 mem_heap_spent; /* us, about */
__u64 mem_heap_limit; /* of that */

const volatile __u64 mem_heap_interval = 1;
const volatile __u64 mem_heap_draws[MEM_HEAP_DRAWS] = {};

/* Bytes until the next sample on this CPU; 0: not drawn yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} mem_heap_left SEC(".maps");

static __always_inline __u64 draw(void)
{
	return mem_heap_draws[bpf_get_prandom_u32() % MEM_HEAP_DRAWS] + 1;
}

static __always_inline bool is_sample(__u64 bytes)
{
	__u32 zero = 0;
	__u64 *left = bpf_map_lookup_elem(&mem_heap_left, &zero);

	if (!left)
		return false;
	if (!*left)
		*left = draw();
	if (bytes < *left) {
		*left -= bytes;
		return false;
	}
	*left = draw();
	return true;
}

static __always_inline void spend(__u64 us)
{
	__u64 before = __sync_fetch_and_add(&mem_heap_spent, us);
	struct capture_head head = {MEM_HEAP_SPENT, sizeof(head), bpf_ktime_get_ns()};
	void *ring;

	/* the one that reaches it tells */
	if (before >= mem_heap_limit || before + us < mem_heap_limit)
		return;
	ring = capture_ring();
	if (ring)
		capture_output(ring, CAPTURE_SOURCE_MEM_HEAP, &head, sizeof(head),
			       BPF_RB_FORCE_WAKEUP);
}

/* 0: it is none, or is counted elsewhere. */
static __always_inline __u64 bytes_of_call(const struct probe_regs *ctx, __u64 cookie)
{
	bool nests = cookie & MEM_HEAP_CALL_NESTS;
	__u64 size = ctx->si;

	switch (cookie & MEM_HEAP_CALL_MASK) {
	case MEM_HEAP_CALL_SIZE:
		return ctx->di;
	case MEM_HEAP_CALL_COUNT:
		return ctx->di && size > (1ull << 46) / ctx->di ? 0 : ctx->di * size;
	case MEM_HEAP_CALL_AGAIN:
		return nests && !ctx->di ? 0 : size;
	case MEM_HEAP_CALL_ALIGNED:
		return nests && ctx->di <= 16 ? 0 : size;
	case MEM_HEAP_CALL_TO:
		return nests && size <= 16 ? 0 : ctx->dx;
	default:
		return 0;
	}
}

SEC("uprobe")
int mem_heap_call(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes;
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer;

	spend(MEM_HEAP_CALL_COST_OF(cookie));
	bytes = bytes_of_call(ctx, cookie);
	/* more than there can be fails */
	if (!bytes || bytes > 1ull << 46)
		return 0;
	answer = filter_current();
	if (answer == FILTER_NO || !is_sample(bytes))
		return 0;
	tell_alloc(task, answer == FILTER_ASK, 0, bytes | MEM_HEAP_UNFOLLOWED, mem_heap_interval);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
