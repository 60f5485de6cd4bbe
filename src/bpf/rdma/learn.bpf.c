// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma: where in poll_cq() there is a completion (bpf/rdma/abi.h says how that is learned). These
 * probes are costly, and are there for a moment.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/rdma/abi.h"
#include "bpf/rdma/completions.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rdma_learning);
} rdma_learnings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RDMA_KEPT);
	__type(key, __u32);
	__type(value, struct rdma_poll);
} rdma_polls SEC(".maps");

static __always_inline void send_learned(void)
{
	struct capture_head head = {RDMA_LEARNED, sizeof(head), bpf_ktime_get_ns()};

	capture_send_record(CAPTURE_SOURCE_RDMA, &head, sizeof(head), BPF_RB_FORCE_WAKEUP);
}

static __always_inline struct rdma_poll *present_poll(const struct rdma_learning *learning)
{
	__u32 number = learning->kept;

	return bpf_map_lookup_elem(&rdma_polls, &number);
}

/* A thread that was interrupted in its call for good keeps it: user space begins anew then. */
static __noinline int begin_poll(struct rdma_learning *learning, __u64 sp, __u64 at, __u64 room)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct rdma_poll *poll;

	if (!(__s32)room || __sync_val_compare_and_swap(&learning->owner, 0, thread))
		return 0;
	poll = present_poll(learning);
	if (!poll || bpf_probe_read_user(poll->before, sizeof(poll->before), (const void *)at)) {
		learning->owner = 0;
		return 0;
	}
	learning->sp = sp;
	learning->order = 0;
	learning->hit_count = 0;
	poll->call = ++learning->call;
	poll->at = at;
	return 0;
}

struct rdma_marking {
	struct rdma_learning *learning;
};

static long mark_empty(__u32 i, void *context)
{
	struct rdma_learning *learning = ((struct rdma_marking *)context)->learning;
	__u32 site;

	if (i >= learning->hit_count || i >= RDMA_SITES)
		return 1;
	site = learning->hit[i];
	if (site < RDMA_SITES)
		learning->in_empty[site] = 1;
	return 0;
}

static __noinline int end_poll(struct rdma_learning *learning, __u64 sp, __s32 found)
{
	struct rdma_marking marking = {.learning = learning};
	struct rdma_poll *poll;

	if (learning->owner != bpf_get_current_pid_tgid() || sp - sizeof(sp) != learning->sp)
		return 0;
	poll = present_poll(learning);
	if (found <= 0) {
		bpf_loop(RDMA_SITES, mark_empty, &marking, 0);
		learning->empty++;
	} else if (poll &&
		   !bpf_probe_read_user(poll->after, sizeof(poll->after), (const void *)poll->at)) {
		poll->found = found;
		learning->kept++;
	}
	if (learning->kept >= RDMA_KEPT) {
		learning->is_over = 1;
		send_learned();
	}
	__sync_lock_test_and_set(&learning->owner, 0);
	return 0;
}

static __always_inline __s16 distance_of(__u64 value, __u64 at)
{
	__s64 distance = value - at;

	return distance > -RDMA_DISTANCE && distance < RDMA_DISTANCE ? distance : RDMA_FAR;
}

static __noinline int meet_site(struct probe_regs *ctx, struct rdma_learning *learning,
				__u32 number)
{
	struct rdma_poll *poll = present_poll(learning);
	struct rdma_site *site;
	__u32 i;

	if (!poll || number >= RDMA_SITES || learning->owner != bpf_get_current_pid_tgid())
		return 0;
	site = &poll->sites[number];
	if (site->call == poll->call) {
		site->hits++;
		return 0;
	}
	site->call = poll->call;
	site->hits = 1;
	site->order = ++learning->order;
	i = learning->hit_count;
	if (i < RDMA_SITES) {
		learning->hit[i] = number;
		learning->hit_count = i + 1;
	}
	bpf_probe_read_user(site->completion, sizeof(site->completion), (const void *)poll->at);
	regs_by_dwarf(ctx, poll->registers);
	for (i = 0; i < ARCH_REGISTERS; i++)
		site->distance[i] = distance_of(poll->registers[i], poll->at);
	return 0;
}

/* -- completions ------------------------------------------------------------------------------- */

struct rdma_batch {
	__u64 at;
	__u32 undecided;
	__s32 left;
};

static long send_done(__u32 i, void *context)
{
	struct rdma_batch *batch = context;

	if (batch->left-- <= 0 || !rdma_send_done(batch->at, batch->undecided))
		return 1;
	batch->at += sizeof(struct verbs_completion);
	return 0;
}

static __noinline void watch(struct rdma_learning *learning, __u64 sp, __u64 at)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct rdma_watched watched = {.at = at, .sp = sp};

	if (!learning->is_closed && bpf_map_update_elem(&rdma_polling, &thread, &watched, BPF_ANY))
		capture_count_loss(CAPTURE_SOURCE_RDMA, CAPTURE_LOSS_CALL_NO_STACK);
}

static __noinline void send_found(struct rdma_learning *learning, __u64 sp, __s32 found,
				  __u32 undecided)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct rdma_watched *watched = bpf_map_lookup_elem(&rdma_polling, &thread);
	struct rdma_batch batch = {.undecided = undecided, .left = found};

	if (!watched || sp - sizeof(sp) != watched->sp)
		return;
	batch.at = watched->at;
	bpf_map_delete_elem(&rdma_polling, &thread);
	__sync_fetch_and_add(found > 0 ? &learning->all_found : &learning->all_empty, 1);
	bpf_loop(RDMA_BATCH, send_done, &batch, 0);
}

/* -- the probes -------------------------------------------------------------------------------- */

SEC("uprobe")
int rdma_learn(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 zero = 0;
	struct rdma_learning *learning = bpf_map_lookup_elem(&rdma_learnings, &zero);
	enum filter_answer answer = filter_current();

	capture_on_own_stack(ctx);
	if (!learning || answer == FILTER_NO)
		return 0;
	switch (cookie & RDMA_CALL_MASK) {
	case RDMA_CALL_POLL:
		watch(learning, ctx->sp, REGS_ARG3(ctx));
		if (!learning->is_over)
			begin_poll(learning, ctx->sp, REGS_ARG3(ctx), REGS_ARG2(ctx));
		return 0;
	case RDMA_CALL_POLLED:
		send_found(learning, ctx->sp, (__s32)REGS_RESULT(ctx), answer == FILTER_ASK);
		return learning->is_over ? 0 : end_poll(learning, ctx->sp, (__s32)REGS_RESULT(ctx));
	default:
		return learning->is_over ? 0
					 : meet_site(ctx, learning, cookie >> RDMA_COOKIE_SHIFT);
	}
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
