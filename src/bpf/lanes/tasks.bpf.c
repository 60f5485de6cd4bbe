// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lanes of asyncio's tasks: when each one ran, waited, and was ready. What runs a task is the C
 * part of asyncio (Modules/_asynciomodule.c), which is watched where
 *
 *	Task.__init__(task, …)		a task is made, and is ready at once
 *	TaskStepMethWrapper(self)	an event loop runs a step of self's task: the first one, or
 *					after it gave way
 *	task_wakeup(task, future)	the same, since what it awaited is done
 *	Future.set_result(future, …)	and set_exception(), cancel(): what awaits it is ready
 *
 * begin, and right behind the part of a step that runs the coroutine. Where that is not found, a
 * step ends where a function returns with the stack pointer with which the step's function was
 * called: one such function calls or jumps to another one, as the compiler likes. What the task
 * awaits then stands in its record. An eager task (3.12) is run within Task.__init__().
 *
 * A loop runs its tasks on one thread, and futures are done on that thread: what belongs to them
 * changes on one CPU at a time.
 */
#include "bpf/filter.h"
#include "bpf/lanes/lanes.h"
#include "bpf/lanes/tasks_running.h"

/* Include/object.h: behind PyObject's head (Py_GIL_DISABLED has another one, and is refused). */
#define PYTHON_HEAD 16
#define PYTHON_TYPE 8
/* PyLongObject, since 3.12: how many digits, above three bits, and the digits */
#define PYTHON_LONG_TAG	  16
#define PYTHON_LONG_DIGIT 24

/* The most tasks that await one future and are seen to be ready with it. */
#define WAITERS_MAX 64

/* Records so far, about. */
__u32 tasks_sent;

/* The number of the last task. */
__u64 tasks_last;

/* By the number in the cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS_IMAGES_MAX);
	__type(key, __u32);
	__type(value, struct tasks_image);
} tasks_images SEC(".maps");

/* What awaits a future: the first task of a list. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TASKS_MAX);
	__type(key, struct lane_key);
	__type(value, __u64);
} tasks_waiters SEC(".maps");

/*
 * The ends of steps that had begun before there were probes: when, by what was in registers that
 * calls keep, where the code that ran a step had its task. User space asks for what it finds.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TASKS_RAN_MAX);
	__type(key, struct lane_key);
	__type(value, __u64);
} tasks_ran SEC(".maps");

/* What a new one looks like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tasks_state);
} tasks_blank SEC(".maps");

/* A probe that fired. */
struct firing {
	const struct tasks_image *image;
	struct tasks_thread *thread;
	struct lane_key key; /* of the task, or future, that it is about */
	__u64 now, sp;
	__u64 second; /* argument */
	__u32 number; /* of the image */
	__u8 undecided;
};

static __always_inline struct tasks_state *state_of(__u64 at)
{
	struct lane_key key = lane_key_of(at);

	return bpf_map_lookup_elem(&tasks_states, &key);
}

/* -- records ----------------------------------------------------------------------------------- */

/* Sends the turn that is over now: of one that ends, or that runs again. */
static __noinline int send_turn(struct firing *f, struct tasks_state *state, __u8 flags)
{
	struct lane_record record = {};

	if (!state)
		return 0;
	state->turn.undecided = f->undecided;
	lane_fill(&record, TASKS_TURN, sizeof(record), &f->key, &state->turn, f->now, flags);
	lane_output(CAPTURE_SOURCE_TASKS, &tasks_sent, &record, sizeof(record), BPF_RB_NO_WAKEUP);
	return 0;
}

/* The characters of a str. What has others than ASCII has something else there. */
static __always_inline void read_text(const struct tasks_image *image, __u64 text, char *to,
				      __u32 size)
{
	if (text)
		bpf_probe_read_user_str(to, size, (void *)(text + image->text));
}

/*
 * Tells what a task is called, as it first runs: asyncio.create_task() may give it a name after it
 * was made. A name that is in a record already is not reported again.
 */
static __noinline int name(struct firing *f, struct tasks_state *state)
{
	const struct tasks_image *image = bpf_map_lookup_elem(&tasks_images, &f->number);
	struct tasks_named named = {
		.head = {TASKS_NAMED, sizeof(named), f->now},
		.pid = f->key.pid,
	};
	__u64 coroutine, qualified, called;

	if (!image || !state)
		return 0;
	called = read_word(f->key.at + image->name);
	if (!called || called == state->name)
		return 0;
	state->name = called;
	named.number = state->turn.number;
	coroutine = read_word(f->key.at + image->coroutine);
	/* one that has ended at once has none any more, but its code still has that name */
	qualified = coroutine ? read_word(coroutine + image->qualified) : state->qualified;
	read_text(image, qualified, named.qualified, sizeof(named.qualified));
	if (qualified && read_word(called + PYTHON_TYPE) == read_word(qualified + PYTHON_TYPE))
		read_text(image, called, named.name, sizeof(named.name));
	else if (read_word(called + PYTHON_LONG_TAG) >> 3 == 1)
		named.counted = (__u32)read_word(called + PYTHON_LONG_DIGIT);
	lane_output(CAPTURE_SOURCE_TASKS, &tasks_sent, &named, sizeof(named), BPF_RB_NO_WAKEUP);
	return 0;
}

/* -- tasks ------------------------------------------------------------------------------------- */

/* Of a task that is met; null: there is no room, which is counted. */
static __always_inline struct tasks_state *new_state(struct firing *f)
{
	struct tasks_state *state;
	__u32 zero = 0;

	state = bpf_map_lookup_elem(&tasks_blank, &zero);
	if (state)
		bpf_map_update_elem(&tasks_states, &f->key, state, BPF_ANY);
	state = bpf_map_lookup_elem(&tasks_states, &f->key);
	if (!state) {
		capture_count_loss(CAPTURE_SOURCE_TASKS, CAPTURE_LOSS_TASK_NO_MEMORY);
		return NULL;
	}
	state->turn.number = __sync_fetch_and_add(&tasks_last, 1) + 1;
	state->image = f->number;
	state->turn.undecided = f->undecided;
	return state;
}

/* It is not on the list of what it awaits any more: the future was done in a way not seen. */
static __always_inline void leave_list(struct tasks_state *state)
{
	struct lane_key future = lane_key_of(state->waits_for);

	if (state->waits_for && !state->turn.woken)
		bpf_map_delete_elem(&tasks_waiters, &future);
	state->waits_for = 0;
	state->next = 0;
}

static __always_inline void run(struct firing *f, struct tasks_state *state)
{
	leave_list(state);
	lane_begin(&state->turn, f->now);
}

/* One that is run as it is made, since then. The one that made it stays known. */
static __always_inline void begin_at_once(struct tasks_state *state)
{
	lane_runs(&state->turn, state->turn.out);
	state->turn.out = state->turn.woken = 0;
	state->turn.flags = LANE_BEGINS;
}

struct waking {
	__u64 future, at; /* the next task of its list */
	__u64 now, readier;
	__u32 thread;
};

static long wake_step(__u32 i, void *context)
{
	struct waking *waking = context;
	struct tasks_state *state;

	(void)i;
	if (!waking->at)
		return 1;
	state = state_of(waking->at);
	if (!state || state->waits_for != waking->future)
		return 1;
	waking->at = state->next;
	if (state->turn.out && !state->turn.woken) {
		state->turn.woken = waking->now;
		state->turn.readier = waking->readier;
		state->turn.readier_thread = waking->thread;
	}
	return 0;
}

/* A future is done, and what awaits it is ready, made so by the task that the thread runs. */
static __noinline int wake(struct firing *f, struct tasks_state *by)
{
	__u64 *first = bpf_map_lookup_elem(&tasks_waiters, &f->key);
	struct waking waking = {
		.future = f->key.at,
		.now = f->now,
		.thread = (__u32)bpf_get_current_pid_tgid(),
	};

	if (!first)
		return 0;
	waking.at = *first;
	waking.readier = by ? by->turn.number : 0;
	bpf_map_delete_elem(&tasks_waiters, &f->key);
	bpf_loop(WAITERS_MAX, wake_step, &waking, 0);
	return 0;
}

/* What a step, or a function that makes a task and runs it at once, has come to. */
static __always_inline void stop(struct firing *f, struct tasks_state *state)
{
	__u64 task = f->key.at, waiter = 0, *first;
	struct lane_key future;
	__u32 done = 0;

	bpf_probe_read_user(&done, sizeof(done), (void *)(task + f->image->state));
	if (done) {
		send_turn(f, state, LANE_ENDS);
		wake(f, state);
		bpf_map_delete_elem(&tasks_states, &f->key);
		return;
	}
	waiter = read_word(task + f->image->waiter);
	if (!waiter) {
		lane_yield(&state->turn, f->now);
		return;
	}
	state->turn.out = f->now;
	state->turn.reason = read_word(waiter + PYTHON_TYPE) == read_word(task + PYTHON_TYPE)
				     ? TASKS_FOR_TASK
				     : TASKS_FOR_FUTURE;
	future = lane_key_of(waiter);
	first = bpf_map_lookup_elem(&tasks_waiters, &future);
	state->next = first ? *first : 0;
	state->waits_for = waiter;
	bpf_map_update_elem(&tasks_waiters, &future, &task, BPF_ANY);
}

/* -- places ------------------------------------------------------------------------------------ */

static __always_inline void at_made(struct firing *f)
{
	struct tasks_state *state = bpf_map_lookup_elem(&tasks_states, &f->key), *by;
	__u64 coroutine;

	/* one that never ended had this address: it is gone */
	if (state) {
		send_turn(f, state, LANE_ENDS);
		leave_list(state);
	}
	state = new_state(f);
	if (!state)
		return;
	state->turn.flags = LANE_BEGINS | LANE_GAVE_WAY;
	state->turn.out = state->turn.woken = f->now;
	coroutine = read_word(f->second + f->image->item);
	state->qualified = coroutine ? read_word(coroutine + f->image->qualified) : 0;
	by = f->thread->runs ? state_of(f->thread->runs) : NULL;
	state->turn.readier = by ? by->turn.number : 0;
	state->turn.readier_thread = (__u32)bpf_get_current_pid_tgid();
	state->outer = f->thread->makes;
	state->outer_sp = f->thread->makes_sp;
	f->thread->makes = f->key.at;
	f->thread->makes_sp = f->sp;
}

/* It is made. One that was run at once has ended, or awaits something already. */
static __always_inline void at_begun(struct firing *f)
{
	struct tasks_state *state;
	__u32 done = 0;

	if (!f->thread->makes || f->sp != f->thread->makes_sp)
		return;
	f->key.at = f->thread->makes;
	state = bpf_map_lookup_elem(&tasks_states, &f->key);
	f->thread->makes = state ? state->outer : 0;
	f->thread->makes_sp = state ? state->outer_sp : 0;
	if (!state)
		return;
	name(f, state);
	bpf_probe_read_user(&done, sizeof(done), (void *)(f->key.at + f->image->state));
	if (!done && !read_word(f->key.at + f->image->waiter))
		return;
	begin_at_once(state);
	stop(f, state);
}

/* Until when it ran that is met now, as far as that was seen; 0: not. */
static __always_inline __u64 ran_until(const struct firing *f)
{
	const struct lane_key key = {f->key.at, f->key.pid, UNWIND_ANY_EXEC};
	const __u64 *time = bpf_map_lookup_elem(&tasks_ran, &key);

	return time ? *time : 0;
}

/* One that user space has found, if it has: that is its past. */
static __noinline int copy_found(struct firing *f, struct tasks_state *state)
{
	struct lane_key key = {f->key.at, f->key.pid, UNWIND_ANY_EXEC};
	struct tasks_state *found = bpf_map_lookup_elem(&tasks_states, &key);

	if (!found || !state)
		return 0;
	state->turn.number = found->turn.number;
	state->name = found->name;
	state->turn.out = found->turn.out;
	state->turn.reason = found->turn.reason;
	bpf_map_delete_elem(&tasks_states, &key);
	return 0;
}

static __always_inline void at_step(struct firing *f)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tasks_state *state = bpf_map_lookup_elem(&tasks_states, &f->key);
	__u64 began = task->group_leader->start_time;

	if (!state) {
		state = new_state(f);
		if (!state)
			return;
		/* it was not seen yet: it has waited since there are probes, or was ready */
		state->turn.out = began > f->image->since ? began : f->image->since;
		state->turn.reason = TASKS_FOR_FUTURE;
		state->turn.flags = LANE_BEFORE;
		copy_found(f, state);
		if (ran_until(f) > state->turn.out)
			state->turn.out = ran_until(f);
	} else if (!state->turn.out) {
		lane_lost(&state->turn, f->now);
	}
	if (!state->turn.since)
		name(f, state);
	send_turn(f, state, 0);
	run(f, state);
	state->outer = f->thread->runs;
	state->outer_sp = f->thread->runs_sp;
	/* those that returned unseen */
	if (f->sp >= state->outer_sp)
		state->outer = state->outer_sp = 0;
	f->thread->runs = f->key.at;
	f->thread->runs_sp = f->sp;
	f->thread->has_run = 1;
}

/* A task is run within Task.__init__(); else its first step has begun before. */
static __always_inline void at_eager(struct firing *f)
{
	struct tasks_state *state = bpf_map_lookup_elem(&tasks_states, &f->key);

	if (!state) {
		f->key.at = f->second;
		state = bpf_map_lookup_elem(&tasks_states, &f->key);
	}
	if (!state || state->turn.since || !(state->turn.flags & LANE_BEGINS))
		return;
	name(f, state);
	begin_at_once(state);
	state->outer = f->thread->runs;
	state->outer_sp = f->thread->runs_sp;
	f->thread->runs = f->key.at;
	f->thread->runs_sp = f->sp + 8;
}

/* A step ends that no probe has seen begin: of one of these. */
static __noinline int ran_before(struct firing *f, const struct probe_regs *ctx)
{
	const __u64 kept[] = REGS_CALLEE_SAVED(ctx);
	struct lane_key key = {0, f->key.pid, UNWIND_ANY_EXEC};
	long err = 0;

	for (__u32 i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		key.at = kept[i];
		err |= bpf_map_update_elem(&tasks_ran, &key, &f->now, BPF_ANY);
	}
	if (err)
		capture_count_loss(CAPTURE_SOURCE_TASKS, CAPTURE_LOSS_TASK_RAN_NO_ROOM);
	return 0;
}

static __always_inline void at_stepped(struct firing *f, const struct probe_regs *ctx,
				       bool is_inside)
{
	struct tasks_thread *thread = f->thread;
	struct tasks_state *state;

	if (!thread->has_run)
		ran_before(f, ctx);
	thread->has_run = 1;
	if (!f->thread->runs ||
	    (is_inside ? f->sp >= f->thread->runs_sp : f->sp != f->thread->runs_sp))
		return;
	f->key.at = f->thread->runs;
	state = bpf_map_lookup_elem(&tasks_states, &f->key);
	f->thread->runs = state ? state->outer : 0;
	f->thread->runs_sp = state ? state->outer_sp : 0;
	if (state)
		stop(f, state);
}

SEC("uprobe")
int tasks_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), first = REGS_ARG1(ctx);
	__u32 place = TASKS_PLACE(cookie);
	enum filter_answer answer = filter_current();
	struct firing f = {
		.now = bpf_ktime_get_ns(),
		.sp = ctx->sp,
		.second = REGS_ARG2(ctx),
		.number = TASKS_IMAGE(cookie),
		.undecided = answer == FILTER_ASK,
	};

	capture_on_own_stack(ctx);
	if (answer == FILTER_NO)
		return 0;
	f.image = bpf_map_lookup_elem(&tasks_images, &f.number);
	f.thread = bpf_task_storage_get(&tasks_threads, bpf_get_current_task_btf(), NULL,
					BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!f.image || !f.thread)
		return 0;
	f.key = lane_key_of(place == TASKS_STEP ? read_word(first + PYTHON_HEAD) : first);
	switch (place) {
	case TASKS_MADE:
		at_made(&f);
		break;
	case TASKS_STEP:
	case TASKS_WAKEUP:
		at_step(&f);
		break;
	case TASKS_DONE:
		wake(&f, f.thread->runs ? state_of(f.thread->runs) : NULL);
		break;
	case TASKS_STEPPED:
		at_stepped(&f, ctx, false);
		break;
	case TASKS_RAN:
		at_stepped(&f, ctx, true);
		break;
	case TASKS_EAGER:
		at_eager(&f);
		break;
	case TASKS_BEGUN:
		at_begun(&f);
		break;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
