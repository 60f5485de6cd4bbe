// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The function tracer: every call of chosen functions, with its wall time and the time its thread
 * waited.
 *
 * Each thread has a stack of the calls that are open. A frame is known by the stack pointer
 * at the function's entry. Stacks grow down, so
 *
 *	at an entry, open calls with a lower stack pointer are gone: nothing else could run there.
 *	They ended unseen (an exception, longjmp(), a return that the kernel did not report). One
 *	with the same stack pointer has jumped to this function and returns with it (a tail call).
 *	at an exit, all with the same or a lower one end.
 *
 * This holds for one stack. Those of coroutines and signal handlers are lanes of their own
 * (calls/lanes.h).
 */
#include "bpf/calls/callers.h"
#include "bpf/calls/calm.h"
#include "bpf/calls/goroutines.h"
#include "bpf/calls/lanes.h"
#include "bpf/calls/open.h"
#include "bpf/calls/results.h"
#include "bpf/calls/where.h"
#include "bpf/filter.h"
#include "bpf/session.h"

/* Set before loading. */
const volatile bool calls_have_under;	/* one of the functions has CALLS_FUNCTION_UNDER */
const volatile __u32 calls_depth = ~0u; /* deeper calls are not kept */

/* --start-on and --stop-on: nothing is kept while it is off. */
__u32 calls_on = 1;

/*
 * A function, + 1, that a process has called which is not meant: its probes are not bound to
 * processes, and should be. 0: none has.
 */
__u32 calls_stranger;

/*
 * The state of a thread that is not known yet, or whose process is not decided; null: it is not
 * meant.
 */
static __noinline struct calls_thread *find_thread(struct task_struct *task, __u32 function)
{
	struct calls_thread *t = bpf_task_storage_get(&calls_threads, task, NULL, 0);
	enum filter_answer answer;

	if (t && t->state == THREAD_OFF)
		return NULL;
	answer = filter_current();
	if (answer == FILTER_NO) {
		/* probes of a thread are its process's */
		if (!filter_by_thread)
			calls_stranger = function + 1;
		if (t)
			t->state = THREAD_OFF;
		return NULL;
	}
	if (!t) {
		t = bpf_task_storage_get(&calls_threads, task, NULL,
					 BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!t) {
			capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_NO_STACK);
			return NULL;
		}
		t->track = __sync_fetch_and_add(&calls_tracks, CALLS_LANES);
	}
	if (t->state == THREAD_NEW) {
		t->exec_id = (__u32)task->self_exec_id;
		bpf_get_current_comm(t->comm, sizeof(t->comm));
	}
	t->state = answer == FILTER_ASK ? THREAD_ASK : THREAD_WANTED;
	return t;
}

/* Open calls that jumped to one another and will return as one; more are cut from the inner end. */
#define TAIL_CALLS_MAX 8

/*
 * A function begins at sp where one is open already: that one has jumped to it (a tail call), and
 * ends with it. A ring of functions that jump to each other would never end: one that comes again
 * ends what was since it came first.
 */
static __noinline void enter_by_jump(struct calls_thread *t, struct calls_lane *lane,
				     __u32 function, __u64 sp, __u64 now)
{
	struct calls_frame *frame = frame_at(t, lane->top);
	__u32 i, again = 0;

	for (i = 1; i <= TAIL_CALLS_MAX; i++) {
		if (!frame || frame->sp != sp)
			return;
		if (frame->function == function) {
			again = i;
			break;
		}
		frame = frame_at(t, frame->below);
	}
	calls_pop_some(t, again ? again : 1, now, CALLS_INFERRED);
}

/* Is the function open already on the lane that the thread is on? */
__noinline int calls_is_recursive(struct calls_thread *t, __u32 function)
{
	struct calls_frame *frame;
	__u32 i;

	if (!t || !t->open[function & 63])
		return 0;
	frame = frame_at(t, lane_now(t)->top);
	for (i = 0; i < 64; i++) {
		if (!frame)
			return 0;
		if (frame->function == function)
			return 1;
		frame = frame_at(t, frame->below);
	}
	return 0;
}

/*
 * How deep the kernel follows returns; it says nothing of those that come on top
 * (MAX_URETPROBE_DEPTH).
 */
#define RETURNS_MAX 64

/* A function that begins. */
struct beginning {
	__u64 cookie, sp, ip;
	__u64 returns_to;
	__u32 session;
	__u32 kept; /* flags of its frame (enum frame_flag), beside those that the cookie brings */
};

static __always_inline bool push(struct calls_thread *t, const struct beginning *b)
{
	const __u64 cookie = b->cookie, sp = b->sp, ip = b->ip, address = b->returns_to;
	const bool session = b->session;
	__u16 kept = b->kept;
	struct calls_lane *lane = lane_now(t);
	__u32 function = COOKIE_FUNCTION(cookie), flags = COOKIE_FLAGS(cookie), number;
	struct calls_frame *frame;
	__u8 *open;

	if (lane->depth >= calls_depth)
		return false;
	if (calls_have_under && !lane->under && !(flags & CALLS_FUNCTION_UNDER))
		return false;
	number = t->free;
	frame = frame_at(t, number);
	if (frame) {
		t->free = frame->below;
	} else {
		number = t->used + 1;
		frame = new_frame(t, function, flags & CALLS_FUNCTION_HIDDEN);
		if (!frame)
			return false;
	}
	if (session && !t->no_return && (!(flags & CALLS_FUNCTION_GUARDED) || calls_is_calm())) {
		kept |= FRAME_RETURN;
		if (lane->returns++ >= RETURNS_MAX)
			kept |= FRAME_INFERRED;
	} else if (session) {
		kept |= FRAME_INFERRED;
	}
	if (flags) {
		if (flags & CALLS_FUNCTION_INFERRED)
			kept |= FRAME_INFERRED;
		if (flags & CALLS_FUNCTION_LEAVES)
			kept |= FRAME_INFERRED | FRAME_JUMPED;
		if (flags & CALLS_FUNCTION_CALLER)
			kept |= FRAME_PARTLY;
		if (flags & CALLS_FUNCTION_MAY_LEAVE)
			kept |= FRAME_MAY_LEAVE;
		if (flags & CALLS_FUNCTION_RETURN) {
			kept |= FRAME_RETURN;
			lane->returns++;
		}
		if (flags & CALLS_FUNCTION_HIDDEN)
			kept |= FRAME_HIDDEN;
		if (flags & CALLS_FUNCTION_UNDER) {
			kept |= FRAME_UNDER;
			lane->under++;
		}
	}
	if (calls_summary && calls_is_recursive(t, function))
		kept |= FRAME_RECURSIVE;
	frame->sp = sp;
	frame->ip = ip;
	frame->returns_to = address;
	frame->function = function;
	frame->flags = kept;
	if (calls_summary) {
		open = &t->open[function & 63];
		if (*open != 255)
			++*open;
	}
	frame->below = lane->top;
	frame->children = 0;
	frame->waited = t->waited;
	lane->top = number;
	lane->depth++;
	frame->start = bpf_ktime_get_ns();
	if (calls_entries && !(flags & CALLS_FUNCTION_HIDDEN))
		send_call(t, CAPTURE_CALL_ENTRY, frame->start, frame, lane->depth - 1, 0);
	return kept & FRAME_RETURN;
}

/*
 * A function begins where one is open that the kernel has been asked for: has that one jumped to
 * it, or ended unseen, and its caller has called another one? A return address that the kernel has
 * put there tells; if it cannot be read, calls further in that have ended unseen do.
 */
static __always_inline bool is_jump(const struct calls_frame *open, __u64 address, bool unseen)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 trampoline;

	if (!(open->flags & FRAME_RETURN))
		return false;
	trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	if (!trampoline || !address)
		return !unseen;
	return address == trampoline;
}

enum joins {
	JOINS_NOT = 1, /* it has ended, and its caller has called the one that begins */
	JOINS_MAYBE,
	JOINS, /* it has jumped to it */
};

/*
 * The same, where the end of the one that is open is not seen. What returns to the same place was
 * called by the same instruction, which calls one function only if it says so.
 */
static __noinline int joins(struct calls_thread *t, __u32 function, __u64 sp, __u64 address)
{
	struct calls_frame *top = frame_at(t, lane_now(t)->top), *first = top, *frame = top;
	__u32 i;

	if (!top || !address || top->returns_to != address)
		return JOINS_NOT;
	for (i = 0; i <= TAIL_CALLS_MAX; i++) {
		if (!frame || frame->sp != sp)
			break;
		/* it is called again, or the ring of jumps has closed */
		if (frame->function == function)
			return frame == top ? JOINS_NOT : JOINS;
		first = frame;
		frame = frame_at(t, frame->below);
	}
	if (is_only_called(first, address))
		return JOINS;
	return top->flags & (FRAME_JUMPED | FRAME_MAY_LEAVE) ? JOINS_MAYBE : JOINS_NOT;
}

/*
 * A function begins where open calls have a stack pointer that is not higher. Returns flags of its
 * frame (enum frame_flag).
 */
__noinline int calls_enter_above(struct calls_thread *t, __u32 function, __u64 sp, __u64 address)
{
	struct calls_frame *top;
	struct calls_lane *lane;
	__u64 now = bpf_ktime_get_ns();
	bool unseen = false;
	int answer = JOINS;

	if (!t)
		return 0;
	lane = lane_now(t);
	top = frame_at(t, lane->top);
	if (top && top->sp < sp) {
		unseen = true;
		calls_pop_up_to(t, sp - 1, now, CALLS_INFERRED);
		top = frame_at(t, lane->top);
	}
	if (!top || top->sp != sp)
		return 0;
	if (top->flags & FRAME_INFERRED)
		answer = joins(t, function, sp, address);
	else if (!is_jump(top, address, unseen))
		answer = JOINS_NOT;
	if (answer == JOINS_NOT) {
		calls_pop_up_to(t, sp, now, CALLS_INFERRED);
		return 0;
	}
	if (top->flags & FRAME_INFERRED)
		top->flags |= FRAME_JUMPED | (answer == JOINS ? FRAME_JOINED : 0);
	enter_by_jump(t, lane, function, sp, now);
	return answer == JOINS_MAYBE ? FRAME_UNKNOWN : 0;
}

/*
 * Is the function that begins at sp called by the program itself, not by a library? An open call
 * that jumped to it has left the kernel's trampoline there instead of a return address.
 */
static __always_inline bool is_called_by_program(struct task_struct *task, __u64 returns_to)
{
	struct mm_struct *mm = task->mm;

	if (!mm || !returns_to)
		return false;
	return returns_to - mm->start_code < mm->end_code - mm->start_code ||
	       returns_to == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* A function begins that switches the tracer on or off; other processes may run the same file. */
__noinline int calls_set_on(__u32 flags)
{
	if (filter_current() == FILTER_YES)
		calls_on = (flags & CALLS_FUNCTION_START_ON) != 0;
	return 0;
}

/*
 * The state of the current thread, where a function with that cookie begins; null: the call is not
 * kept.
 */
static __always_inline struct calls_thread *thread_for(__u64 cookie, __u64 returns_to)
{
	__u32 flags = COOKIE_FLAGS(cookie);
	struct task_struct *task = bpf_get_current_task_btf();
	struct calls_thread *t;

	if (flags & (CALLS_FUNCTION_START_ON | CALLS_FUNCTION_STOP_ON))
		calls_set_on(flags);
	if (!calls_on)
		return NULL;
	if (flags & CALLS_FUNCTION_CALLER && !is_called_by_program(task, returns_to))
		return NULL;
	t = bpf_task_storage_get(&calls_threads, task, NULL, 0);
	if (t && t->state == THREAD_WANTED)
		return t;
	return find_thread(task, COOKIE_FUNCTION(cookie));
}

/*
 * More than one call ends: those that did not return themselves, and those that jumped to this one.
 */
__noinline int calls_leave_many(struct calls_thread *t, __u64 sp, __u64 now)
{
	struct calls_frame *top;
	struct calls_lane *lane;

	if (!t)
		return 0;
	lane = lane_now(t);
	calls_pop_up_to(t, sp - 1, now, CALLS_INFERRED);
	top = frame_at(t, lane->top);
	/* that it began may not have been seen, or not kept */
	if (top && top->sp == sp)
		calls_pop_up_to(t, sp, now, 0);
	return 0;
}

/* On the lane that the thread is on. */
static __always_inline void leave_here(struct calls_thread *t, __u64 now, __u64 sp)
{
	struct calls_lane *lane = lane_now(t);
	struct calls_frame *top = frame_at(t, lane->top), *below;

	if (!top || top->sp > sp)
		return;
	below = frame_at(t, top->below);
	/* nearly always it is just this one */
	if (top->sp == sp && (!below || below->sp > sp))
		pop(t, lane, now, 0);
	else
		calls_leave_many(t, sp, now);
}

enum {
	ENTERED = 1, /* the call is kept */
	WANTS_RETURN = 2,
};

/* Ends what has ended before a function begins. Returns flags of its frame (enum frame_flag). */
static __always_inline __u16 end_before(struct calls_thread *t, __u64 cookie, __u64 sp,
					__u64 returns_to)
{
	struct calls_frame *top = frame_at(t, lane_now(t)->top);
	__u16 kept = 0;

	if (top && top->sp <= sp) {
		kept = calls_enter_above(t, COOKIE_FUNCTION(cookie), sp, returns_to);
		top = frame_at(t, lane_now(t)->top);
	}
	/* with a depth, what is deeper than that calls, too */
	if (top && top->sp > sp && lane_now(t)->depth < calls_depth &&
	    !is_made_by(top, returns_to) && !calls_find_caller(t, returns_to))
		kept = FRAME_UNKNOWN;
	return kept;
}

/* The call is open; or, where the function is empty, ends at once. */
static __always_inline bool begin(struct calls_thread *t, const struct beginning *b)
{
	bool wants = push(t, b);

	if (COOKIE_FLAGS(b->cookie) & CALLS_FUNCTION_EMPTY)
		leave_here(t, bpf_ktime_get_ns(), b->sp);
	return wants;
}

/* A function begins. Apart, as Go's functions need what is left of the stack of BPF programs. */
__noinline int calls_enter(__u64 cookie, __u64 sp, __u64 ip, __u32 session)
{
	struct beginning b = {cookie, sp, ip, returns_from(sp), session, 0};
	struct calls_thread *t = thread_for(cookie, b.returns_to);

	if (!t)
		return 0;
	on_lane(t, sp);
	b.kept = end_before(t, cookie, sp, b.returns_to);
	return ENTERED | (begin(t, &b) ? WANTS_RETURN : 0);
}

/*
 * Where it was called from, if that is wanted: then the program ends with it, and returns `result`.
 */
static __always_inline void enter_stack(void *ctx, enum capture_walker walker, void *table,
					__u32 result)
{
	struct capture_scratch *scratch =
		calls_begin_stack(COOKIE_FLAGS(bpf_get_attach_cookie(ctx)), walker, result);

	if (scratch)
		capture_go(ctx, scratch, table);
}

/*
 * The function that began at sp jumps to another one: it ends with that, whose end may not be seen.
 */
__noinline int calls_jump(struct calls_thread *t, __u32 function, __u64 sp, __u64 now)
{
	struct calls_frame *top;

	if (!t)
		return 0;
	top = frame_at(t, lane_now(t)->top);
	if (top && top->sp < sp) {
		calls_pop_up_to(t, sp - 1, now, CALLS_INFERRED);
		top = frame_at(t, lane_now(t)->top);
	}
	if (top && top->sp == sp && top->function == function)
		top->flags |= FRAME_INFERRED | FRAME_JUMPED;
	return 0;
}

/* Where a function returns, or jumps to another one. */
static __always_inline void leave_site(struct calls_thread *t, __u64 cookie, __u64 now, __u64 sp)
{
	if (COOKIE_FLAGS(cookie) & CALLS_FUNCTION_LEAVES)
		calls_jump(t, COOKIE_FUNCTION(cookie), sp, now);
	else
		leave_here(t, now, sp);
}

/*
 * Linux 6.18 refuses calls_leave() as clang 19 compiles it, if it is a function of its own
 * ("verifier bug: stack slot 1, total slots 1").
 */
#if __clang_major__ < 19
#define LEAVE_APART __noinline
#else
#define LEAVE_APART static __always_inline
#endif

/*
 * The function that began at sp ends, and what it called. Apart, as what begins needs the stack of
 * the programs that call both.
 */
LEAVE_APART int calls_leave(__u64 cookie, __u64 now, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct calls_thread *t = bpf_task_storage_get(&calls_threads, task, NULL, 0);

	if (!t)
		return 0;
	on_lane(t, sp);
	leave_site(t, cookie, now, sp);
	return 0;
}

/* Apart, so that what ends calls before has more of the stack of BPF programs. */
__noinline int calls_begin_go(struct calls_thread *t, const struct beginning *b)
{
	return t && b ? begin(t, b) : 0;
}

/* A function of a Go program begins, with the goroutine's record at g. */
__noinline int calls_enter_go(__u64 cookie, __u64 g, __u64 sp, __u64 ip)
{
	struct beginning b = {cookie, 0, ip, returns_from(sp), false, 0};
	struct calls_thread *thread = thread_for(cookie, b.returns_to), *t;
	struct goroutine_key key = goroutine_key(g);
	struct calls_frame *top;
	__u64 end = 0, own_sp = sp;
	bool moved;

	if (!thread)
		return 0;
	sp = goroutine_sp(g, sp, &end);
	if (!sp) {
		capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_NO_GOROUTINE);
		return 0;
	}
	t = bpf_map_lookup_elem(&calls_goroutines, &key);
	if (!t)
		t = new_goroutine(&key);
	if (!t)
		return 0;
	t->state = thread->state;
	top = frame_at(t, lane_now(t)->top);
	/* it begins anew after its stack was found too small, and moved */
	moved = COOKIE_FLAGS(cookie) & CALLS_FUNCTION_AGAIN && t->stack_end != end;
	t->sp_bias = own_sp - sp;
	t->stack_end = end;
	if (moved && top && top->sp == sp && top->function == COOKIE_FUNCTION(cookie))
		return 0;
	b.sp = sp;
	b.kept = end_before(t, cookie, sp, b.returns_to);
	calls_begin_go(t, &b);
	return 0;
}

__noinline int calls_leave_go(__u64 cookie, __u64 now, __u64 g, __u64 sp)
{
	struct goroutine_key key = goroutine_key(g);
	struct calls_thread *t = bpf_map_lookup_elem(&calls_goroutines, &key);

	__u64 end = 0;

	if (t)
		sp = goroutine_sp(g, sp, &end);
	if (!t || !sp)
		return 0;
	t->stack_end = end;
	leave_site(t, cookie, now, sp);
	/* it may wait for long now, and no switch of threads shows it */
	if (!lane_now(t)->top)
		calls_send_batch(t);
	return 0;
}

SEC("uprobe")
int calls_session(struct probe_regs *ctx)
{
	__u64 now, sp;
	int entered, result;

	if (capture_has_ended())
		return 1;
	if (session_is_return()) {
		now = bpf_ktime_get_ns();
		/* the return address is off the stack */
		sp = ctx->sp - sizeof(__u64);
		if (calls_results)
			calls_read_results(ctx, CALLS_COOKIE(0, CALLS_SITE_RETURN, 0, 0), now, sp);
		calls_leave(0, now, sp);
		return 0;
	}
	entered = calls_enter(bpf_get_attach_cookie(ctx), ctx->sp, ctx->ip, true);
	result = !(entered & WANTS_RETURN);
	if (calls_have_stack && entered)
		enter_stack(ctx, CAPTURE_WALKER_SESSION, &walk_session, result);
	return result;
}

SEC("uprobe")
int calls_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 sp = ctx->sp + COOKIE_WORDS(cookie) * sizeof(__u64);
	bool go = COOKIE_FLAGS(cookie) & CALLS_FUNCTION_GO;
	int entered = 0;
	__u64 now;

	if (capture_has_ended())
		return 0;
	if (COOKIE_SITE(cookie) == CALLS_SITE_ENTRY) {
		if (go)
			calls_enter_go(cookie, REGS_GO_G(ctx), sp, ctx->ip);
		else
			entered = calls_enter(cookie, sp, ctx->ip, false);
		if (calls_have_stack && entered)
			enter_stack(ctx, CAPTURE_WALKER_UPROBE, &walk_uprobe, 0);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (COOKIE_SITE(cookie) == CALLS_SITE_RETURN)
		sp -= sizeof(__u64);
	if (calls_results)
		calls_read_results(ctx, cookie, now, sp);
	if (go)
		calls_leave_go(cookie, now, REGS_GO_G(ctx), sp);
	else
		calls_leave(cookie, now, sp);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(calls_switch, bool preempt, struct task_struct *from, struct task_struct *to)
{
	struct calls_thread *t;
	__u64 now = 0;

	t = bpf_task_storage_get(&calls_threads, from, NULL, 0);
	if (t) {
		t->left = now = capture_now();
		if (t->batched && !t->batching)
			calls_send_batch(t);
	}
	t = bpf_task_storage_get(&calls_threads, to, NULL, 0);
	if (t && t->left) {
		t->waited += (now ? now : capture_now()) - t->left;
		t->left = 0;
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(calls_exit, struct task_struct *task)
{
	struct calls_thread *t = bpf_task_storage_get(&calls_threads, task, NULL, 0);

	if (t)
		pop_all(t, capture_now());
	if (calls_goroutines_seen && !task->signal->live.counter)
		calls_end_goroutines(task->tgid);
	return 0;
}

/* Another program: what was open is gone, and so are the stacks. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(calls_exec, struct task_struct *task)
{
	struct calls_thread *t = bpf_task_storage_get(&calls_threads, task, NULL, 0);
	__u32 i;

	if (!t)
		return 0;
	pop_all(t, capture_now());
	if (calls_goroutines_seen)
		calls_end_goroutines(task->tgid);
	t->state = THREAD_NEW;
	t->lanes = 0;
	t->announced = 0;
	for (i = 0; i < CALLS_LANES; i++)
		t->lane_at[i].low = t->lane_at[i].high = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
