// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * inspect: the values that functions are called with, and what they return (inspect/abi.h).
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/inspect/abi.h"
#include "bpf/inspect/calls.h"
#include "bpf/inspect/record.h"
#include "bpf/inspect/run.h"
#include "bpf/session.h"

/* Set before loading: --stack. */
const volatile bool inspect_stacks;
/* Set before loading: what is taken are the arguments of calls that the tracer has seen begin. */
const volatile bool inspect_traced;

/*
 * Of functions with a limit: a bucket of tokens, kept as the time at which it will be full again.
 */
struct inspect_bucket {
	__u64 full_at;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct inspect_bucket);
} inspect_buckets SEC(".maps");

/* Gets a token. False: there is none, or others got all that came meanwhile. */
static __always_inline bool get_token(__u32 function, __u32 interval)
{
	struct inspect_bucket *bucket = bpf_map_lookup_elem(&inspect_buckets, &function);
	__u64 now = bpf_ktime_get_ns(), full_at, next;
	int i;

	if (!bucket)
		return true;
	for (i = 0; i < 4; i++) {
		full_at = bucket->full_at;
		next = (full_at > now ? full_at : now) + interval;
		if (next > now + INSPECT_BURST_NS && next > now + interval)
			return false;
		if (__sync_val_compare_and_swap(&bucket->full_at, full_at, next) == full_at)
			return true;
	}
	return false;
}

/*
 * Where the call comes from, at the time of the record that follows; null: there is no memory.
 * `record` of inspect's memory follows it.
 */
static __always_inline struct capture_scratch *begin_stack(__u64 now, enum capture_walker walker,
							   const struct inspect_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch;

	if (!task->mm)
		return NULL;
	scratch = capture_begin(CAPTURE_SOURCE_INSPECT, walker);
	if (!scratch)
		return NULL;
	capture_identity(&scratch->record, CAPTURE_INSPECT_STACK, task, 1);
	scratch->record.head.time = now;
	scratch->argument = s->number;
	if (capture_registers(scratch, task))
		capture_wants_walk(scratch);
	return scratch;
}

/*
 * All but the sending: null, if the call is not kept. A function of its own, because the stack of
 * BPF has 512 bytes, and what walks a call's stack needs most of them.
 */
static __noinline struct inspect_scratch *read_site(struct probe_regs *ctx, __u32 number, __u64 now,
						    enum filter_answer answer,
						    const struct task_struct *task)
{
	const struct inspect_plan *plan = bpf_map_lookup_elem(&inspect_plans, &number);
	struct inspect_begin began = {.time = now};
	struct inspect_call call = {};
	struct inspect_scratch *s;
	__u64 ip = ctx->ip;

	if (!plan)
		return NULL;
	s = claim();
	if (!s)
		return NULL;
	s->begins = plan->site == INSPECT_SITE_ENTRY || plan->site == INSPECT_SITE_ALONE;
	s->record.track = s->record.depth = 0;
	read_registers(s, plan, ctx);
	if (!identify(plan, task, ctx, ((__u64 *)s->bytes)[INSPECT_CFA], &call)) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_CALL_NO_GOROUTINE);
		goto out;
	}
	if (inspect_traced) {
		if (!find_traced(plan, &call, ctx, &s->record))
			goto out;
		began.time = s->record.start;
	}
	if (!s->begins) {
		if (!close_call(&call, &began))
			goto out;
		((__u64 *)s->bytes)[INSPECT_RESULT] = began.result;
		/* where it has returned to says nothing of where its image lies */
		if (plan->site == INSPECT_SITE_RETURN)
			ip = ((__u64 *)s->bytes)[INSPECT_IP] = began.ip;
	}
	if (!run_plan(s, plan))
		goto out;
	if (s->begins && plan->interval && !get_token(plan->function, plan->interval)) {
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_RATE);
		goto out;
	}
	if (plan->site == INSPECT_SITE_ENTRY)
		open_call(&call, now, ctx);
	fill_record(&s->record, task, now, answer == FILTER_ASK);
	s->record.goroutine = plan->is_go ? call.thread : 0;
	s->record.frame = call.frame;
	s->record.start = began.time;
	s->record.ip = ip;
	s->record.plan = number;
	s->record.end = INSPECT_BEGINS;
	return s;
out:
	release(s);
	return NULL;
}

/*
 * At a place of a plan. False: the call is not kept. Where its stack is wanted, the program ends
 * with that, and with its record: done.
 */
static __always_inline bool at_site(struct probe_regs *ctx, __u32 plan, enum capture_walker walker,
				    void *table, enum capture_done done)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_numbers(task->tgid, task->pid);
	struct capture_scratch *scratch;
	struct inspect_scratch *s;
	__u64 now;

	if (answer == FILTER_NO || capture_has_ended())
		return false;
	now = bpf_ktime_get_ns();
	s = read_site(ctx, plan, now, answer, task);
	if (!s)
		return false;
	scratch = inspect_stacks && s->begins ? begin_stack(now, walker, s) : NULL;
	if (scratch)
		capture_walk_then(ctx, scratch, table, done);
	send(s);
	release(s);
	return true;
}

/* The stack is walked: it is sent, and the record of the call behind it. */
static __always_inline int at_site_done(enum capture_walker walker)
{
	struct capture_scratch *scratch = capture_claimed(walker);
	struct inspect_scratch *s;
	__u32 number;

	if (!scratch)
		return 0;
	capture_send(scratch);
	number = scratch->argument;
	capture_end(scratch);
	s = bpf_map_lookup_elem(&inspect_scratch_map, &number);
	if (!s)
		return 0;
	send(s);
	release(s);
	return 0;
}

SEC("uprobe")
int inspect_site(struct probe_regs *ctx)
{
	at_site(ctx, (__u32)bpf_get_attach_cookie(ctx), CAPTURE_WALKER_UPROBE, &walk_uprobe,
		CAPTURE_DONE_INSPECT);
	return 0;
}

SEC("uprobe")
int inspect_site_done(struct probe_regs *ctx)
{
	capture_on_own_stack(ctx);
	return at_site_done(CAPTURE_WALKER_UPROBE);
}

/*
 * Where a function begins, and where it has returned, of which the next plan is. The kernel is not
 * asked for the return of a call that is not kept.
 */
SEC("uprobe")
int inspect_session(struct probe_regs *ctx)
{
	bool returns = session_is_return(), is_kept;

	is_kept = at_site(ctx, (__u32)bpf_get_attach_cookie(ctx) + returns, CAPTURE_WALKER_SESSION,
			  &walk_session, CAPTURE_DONE_INSPECT_SESSION);
	return !returns && !is_kept;
}

/* The call is kept: its return is wanted. */
SEC("uprobe")
int inspect_session_done(struct probe_regs *ctx)
{
	bpf_tail_call(ctx, &walk_session, CAPTURE_DONE_NONE);
	return at_site_done(CAPTURE_WALKER_SESSION);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
