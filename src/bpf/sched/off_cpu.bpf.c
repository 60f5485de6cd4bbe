// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * off-cpu and run-queue: why threads do not run.
 *
 * A switch costs two timestamps. A thread's stack is taken when a wait of off_cpu_min_wait or more
 * is over, in the thread itself, at the end of the switch to it (sched_exit_tp): its registers and
 * its memory are those that it waited with. Shorter waits are summed up, and the one that completes
 * off_cpu_period of them gives its stack for all of them; so are those for which a CPU has no stack
 * left.
 */
#include "bpf/sched/arrival.h"
#include "bpf/sched/as_before.h"
#include "bpf/filter.h"
#include "bpf/sched/off_cpu_abi.h"
#include "bpf/sched/off_cpu_evidence.h"
#include "bpf/sched/off_cpu_lock.h"
#include "bpf/sched/switch_stack.h"
#include "bpf/sched/waker_context.h"

/* Set before loading; ns. */
const volatile __u64 off_cpu_min_wait = 50000;
const volatile __u64 off_cpu_period = 10000000;
/* Between two stacks of a CPU, if there were always one to take; 0: each wait may have one. */
const volatile __u64 off_cpu_stack_interval;
const volatile bool off_cpu_wakers = true; /* the stacks of those who end long waits */

/* The kernel has no sched_exit_tp: stacks are taken when threads return from their system calls. */
const volatile bool off_cpu_at_return;

/* How long an answer of the filter counts. */
#define ASK_AGAIN_NS 50000000ull

/* A thread that is being switched to, and whose stack is wanted. */
struct off_cpu_coming {
	__u32 tid; /* 0: it is not */
	__u32 state;
	__u32 tells; /* enum off_cpu_tells */
	__u64 out, woken, in;
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
};

struct off_cpu_thread {
	struct off_cpu_coming later; /* off_cpu_at_return: its stack is taken there */
	__u64 out;	   /* when it was switched out; 0: it runs, or that was not seen */
	__u64 woken;	   /* when it was last woken */
	__u64 quiet_until; /* its last stack could not be sent: none is taken before */
	__u64 short_waited, short_ready;
	__u32 short_waits, short_readies;
	__u32 told; /* the film that has the stack with which it waits since out; 0: none */
	__u64 asked;
	__u32 state;
	__u8 answer;   /* enum filter_answer, as of asked */
	__u8 has_lock; /* there is evidence of what lock it may be for (lock.h) */
	__u8 waker_context, has_waker_stack, waker_released;
	__u32 waker_pid, waker_tid;
	char waker_comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct off_cpu_thread);
} off_cpu_threads SEC(".maps");

struct off_cpu_cpu {
	struct off_cpu_coming coming;
	__u64 paid; /* when its next stack is due, by their rate */
};

/* Of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_cpu_cpu);
} off_cpu_cpus SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___off_cpu {
	unsigned int __state;
	unsigned int on_cpu; /* a byte since 7.2: libbpf fits loads of unsigned members only */
};

#pragma clang attribute pop

static __always_inline struct off_cpu_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&off_cpu_cpus, &zero);
}

/*
 * Where what is known of a wait goes, behind the record's frames; null: there is no room. Not on
 * the stack, of which the walk needs all that there is.
 */
static __always_inline struct off_cpu_wait *wait_place(struct capture_scratch *scratch)
{
	__u32 frames = scratch->record.user_frames + scratch->record.kernel_frames;
	struct off_cpu_wait *wait;

	if (frames > CAPTURE_FRAMES_MAX - OFF_CPU_BEHIND_WORDS)
		return NULL;
	wait = (void *)&scratch->frames[frames];
	__builtin_memset(wait, 0, sizeof(*wait));
	return wait;
}

/* -- the switch -------------------------------------------------------------------------------- */

/* What was not reported of a wait is reported with the next ones: no time is lost. */
static __always_inline void put_off(struct off_cpu_thread *thread, struct off_cpu_coming *coming)
{
	__u64 waited = coming->woken - coming->out, ready = coming->in - coming->woken;
	bool tells_wait = coming->tells & OFF_CPU_TELLS_WAIT;
	bool tells_ready = coming->tells & OFF_CPU_TELLS_READY;

	coming->tid = 0;
	thread->short_waits += coming->short_waits + tells_wait;
	thread->short_readies += coming->short_readies + tells_ready;
	thread->short_waited += coming->short_waited + (tells_wait ? waited : 0);
	thread->short_ready += coming->short_ready + (tells_ready ? ready : 0);
}

/* Adds up a wait, short or long, of which no stack is taken. */
static __always_inline void add_untold(struct off_cpu_thread *thread, __u64 waited, __u64 ready)
{
	thread->short_waits += waited != 0;
	thread->short_readies += ready != 0;
	thread->short_waited += waited;
	thread->short_ready += ready;
}

/* When a thread that was out since then, and is in again, was woken, or could run on. */
static __always_inline __u64 woken_between(const struct off_cpu_thread *thread, __u64 out, __u64 in)
{
	__u64 woken = thread->woken;

	if (!thread->state || (woken && woken < out))
		return out; /* it could have run on, or was woken on its way out */
	/* another CPU may wake it once more just now */
	return !woken || woken > in ? in : woken;
}

/*
 * It goes out again, and was not seen to come in: probes do not see the init of some virtual
 * machines go out, nor what comes in behind it. Its time is summed up.
 */
static __always_inline void end_unseen(struct task_struct *task, struct off_cpu_thread *thread,
				       __u64 now)
{
	__u64 out = thread->out, in = arrival_of(task, now), woken;

	thread->told = 0;
	if (in < out) {
		capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_UNSEEN);
		thread->woken = 0;
		return;
	}
	woken = woken_between(thread, out, in);
	thread->woken = 0;
	add_untold(thread, woken - out, in - woken);
	if (off_cpu_locks && thread->has_lock)
		lock_count_short(woken - out);
}

/* It is not meant, as has been decided meanwhile: nor is what was summed up before that. */
static __always_inline void leave_out(struct off_cpu_thread *thread)
{
	thread->out = 0;
	thread->later.tid = 0;
	thread->short_waited = thread->short_ready = 0;
	thread->short_waits = thread->short_readies = 0;
}

static __always_inline void goes_out(struct task_struct *task, __u32 state, __u64 now)
{
	struct off_cpu_thread *thread;

	if (filter_waits_for_us(task))
		return;
	thread = bpf_task_storage_get(&off_cpu_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		if (filter_current() != FILTER_NO)
			capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_NO_MEMORY);
		return;
	}
	if (!filter_everything && now - thread->asked > ASK_AGAIN_NS) {
		thread->answer = filter_current();
		thread->asked = now;
	}
	if (!filter_everything && thread->answer == FILTER_NO) {
		leave_out(thread);
		return;
	}
	/* it did not return from a system call: it was preempted, or had a fault */
	if (off_cpu_at_return && thread->later.tid)
		put_off(thread, &thread->later);
	if (thread->out)
		end_unseen(task, thread, now);
	thread->state = state;
	/* no thread has ended this wait yet: one that ended an earlier one is not meant */
	thread->waker_tid = 0;
	thread->waker_context = OFF_CPU_BY_NOBODY;
	thread->has_waker_stack = 0;
	thread->out = now;
	thread->has_lock = off_cpu_locks && state & OFF_CPU_STATE_SLEEPS && lock_begin(task);
}

/* Adds up a short time. Returns what a period of them has come to; 0: it is not complete. */
static __always_inline __u64 add_up(__u64 *sum, __u32 *count, __u64 time, __u32 *counted)
{
	__u64 all = *sum + time;

	if (time)
		(*count)++;
	if (all < off_cpu_period) {
		*sum = all;
		return 0;
	}
	*counted = *count;
	*sum = 0;
	*count = 0;
	return all;
}

/* How far stacks are ahead of their rate on this CPU, ns. */
static __always_inline __u64 stacks_ahead(const struct off_cpu_cpu *cpu, __u64 now)
{
	return cpu->paid > now ? cpu->paid - now : 0;
}

static __always_inline void pay_for_stack(struct off_cpu_cpu *cpu, __u64 now)
{
	cpu->paid = (cpu->paid > now ? cpu->paid : now) + off_cpu_stack_interval;
}

static __always_inline void comes_in(struct task_struct *task, __u64 now)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	__u64 out, woken, short_waited = 0, short_ready = 0;
	__u32 short_waits = 0, short_readies = 0, tells = 0;
	struct off_cpu_cpu *cpu = this_cpu();
	struct off_cpu_coming *coming;
	__u64 ahead, least;

	if (!thread || !thread->out || !cpu)
		return;
	/* the list of tasks moves it forward meanwhile, also to a moment behind this one */
	out = __sync_lock_test_and_set(&thread->out, 0);
	if (out > now)
		out = now;
	woken = woken_between(thread, out, now);
	thread->woken = 0;
	thread->told = 0;
	ahead = stacks_ahead(cpu, now);
	least = ahead >= BURST_NS / 2 ? off_cpu_period : off_cpu_min_wait;
	if (off_cpu_locks && thread->has_lock && (woken - out < least || ahead >= BURST_NS))
		lock_count_short(woken - out);
	if (now < thread->quiet_until || ahead >= BURST_NS) {
		add_untold(thread, woken - out, now - woken);
		return;
	}
	if (woken - out >= least)
		tells |= OFF_CPU_TELLS_WAIT;
	else
		short_waited = add_up(&thread->short_waited, &thread->short_waits, woken - out,
				      &short_waits);
	if (now - woken >= least)
		tells |= OFF_CPU_TELLS_READY;
	else
		short_ready = add_up(&thread->short_ready, &thread->short_readies, now - woken,
				     &short_readies);
	if (!tells && !short_waited && !short_ready)
		return;
	pay_for_stack(cpu, now);
	coming = off_cpu_at_return ? &thread->later : &cpu->coming;
	/* the end of the switch to that one was not seen */
	if (coming->tid)
		capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_UNSEEN);
	coming->tid = task->pid;
	coming->tells = tells;
	coming->state = thread->state;
	coming->out = out;
	coming->woken = woken;
	coming->in = now;
	coming->short_waited = short_waited;
	coming->short_ready = short_ready;
	coming->short_waits = short_waits;
	coming->short_readies = short_readies;
}

/*
 * A thread ends: what its shorter waits have come to since the last stack is reported without one.
 */
static __noinline void send_rest(struct task_struct *task, bool is_last)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	struct capture_scratch *scratch;
	struct off_cpu_wait *wait;
	bool sent = false;
	__u64 time;

	if (!thread || (!thread->short_waited && !thread->short_ready))
		return;
	time = thread->short_waited + thread->short_ready;
	scratch = capture_begin(CAPTURE_SOURCE_OFF_CPU, CAPTURE_WALKER_NONE);
	if (!scratch) {
		if (is_last)
			capture_count_losses(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_REST,
					     time / 1000);
		return;
	}
	capture_identity(&scratch->record, OFF_CPU_REST, task, 0);
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	wait = wait_place(scratch);
	if (wait) {
		wait->short_waited = thread->short_waited;
		wait->short_ready = thread->short_ready;
		wait->short_waits = thread->short_waits;
		wait->short_readies = thread->short_readies;
		sent = capture_send_with(scratch, OFF_CPU_WAIT_WORDS);
		if (sent) {
			thread->short_waited = thread->short_ready = 0;
			thread->short_waits = thread->short_readies = 0;
		}
	}
	capture_end(scratch);
	if (!sent && is_last)
		capture_count_losses(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_REST, time / 1000);
}

/*
 * Not just at its last switch: by then the process may be gone for those who waited for its end,
 * and no probe listens any more.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(off_cpu_exit, struct task_struct *task)
{
	send_rest(task, false);
	as_before_forget(task);
	return 0;
}

/* It has another name, by which it may be meant: an answer of before does not count any more. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(off_cpu_exec, struct task_struct *task)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);

	if (thread)
		thread->asked = 0;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_cpu_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now = capture_now();

	if (prev_state & OFF_CPU_STATE_DEAD)
		send_rest(prev, true);
	else if (prev->pid)
		/* preempted on its way to wait, it is ready */
		goes_out(prev, preempt ? 0 : prev_state, now);
	if (next->pid)
		comes_in(next, now);
	return 0;
}

/* -- who wakes --------------------------------------------------------------------------------- */

/*
 * Whether the stack of the current thread has to be walked: not one that it had before. Its
 * registers are read, and a walk is wanted if it has some.
 */
static __always_inline bool needs_walk(struct capture_scratch *scratch, struct task_struct *task,
				       bool with_kernel)
{
	struct as_before_thread *thread = as_before_memory(task);
	bool as_before = thread && as_before_find(scratch, thread, with_kernel);

	scratch->argument = as_before;
	if (as_before && !off_cpu_check)
		return false;
	scratch->notes.count = 0;
	scratch->notes.wanted = thread && !as_before && !thread->pause;
	return true;
}

/* It was walked: the kernel's part follows, and what the next wait is compared with. */
static __always_inline void end_walk(void *ctx, struct capture_scratch *scratch,
				     struct task_struct *task, bool with_kernel)
{
	struct as_before_thread *thread = as_before_memory(task);

	capture_kernel_stack(ctx, scratch,
			     with_kernel ? CAPTURE_KERNEL_FRAMES_MAX - OFF_CPU_BEHIND_WORDS : 0);
	if (thread && thread->pause)
		thread->pause--;
	else if (thread && !scratch->argument)
		as_before_note(scratch, thread, with_kernel);
	scratch->notes.wanted = 0;
}

/*
 * The stack with which a thread ends the wait of another one: its record is begun; null: it has
 * none.
 */
static __noinline struct capture_scratch *begin_waker(__u32 tid, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct off_cpu_cpu *cpu = this_cpu();
	struct off_cpu_thread *thread;
	struct capture_scratch *scratch;

	if (task->flags & PF_KTHREAD || !task->mm || !want_user)
		return NULL;
	if (!filter_everything) {
		thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
		if (!thread || thread->answer != FILTER_YES)
			return NULL;
	}
	if (!cpu || stacks_ahead(cpu, now) >= BURST_NS / 2) {
		capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAKER_STACK);
		return NULL;
	}
	scratch = capture_begin(CAPTURE_SOURCE_OFF_CPU, CAPTURE_WALKER_WAKING);
	if (!scratch)
		return NULL;
	pay_for_stack(cpu, now);
	capture_identity(&scratch->record, OFF_CPU_WAKER, task, 0);
	scratch->record.head.time = now;
	scratch->record.identity.key = tid;
	if (capture_registers(scratch, task))
		capture_wants_walk(scratch);
	return scratch;
}

static __always_inline void send_waker(struct capture_scratch *scratch)
{
	if (!capture_send_with(scratch, 0))
		as_before_not_sent(&scratch->record, bpf_get_current_task_btf());
	capture_end(scratch);
}

SEC("tp_btf/sched_waking")
int off_cpu_waking_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_WAKING);

	if (!scratch)
		return 0;
	end_walk(ctx, scratch, bpf_get_current_task_btf(), false);
	send_waker(scratch);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(off_cpu_waking, struct task_struct *task)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	struct capture_scratch *scratch = NULL;
	__u64 now, id;

	if (!thread || (!filter_everything && thread->answer == FILTER_NO))
		return 0;
	now = capture_now();
	thread->woken = now;
	if (!thread->out || now - thread->out < off_cpu_min_wait) {
		thread->waker_context = OFF_CPU_BY_NOBODY;
		return 0;
	}
	id = bpf_get_current_pid_tgid();
	thread->waker_pid = id >> 32;
	thread->waker_tid = (__u32)id;
	thread->waker_context = waker_context();
	bpf_get_current_comm(thread->waker_comm, sizeof(thread->waker_comm));
	thread->waker_released =
		off_cpu_locks ? lock_released(bpf_get_current_task_btf()) : LOCK_RELEASED_NONE;
	if (off_cpu_wakers && thread->waker_context == OFF_CPU_BY_THREAD)
		scratch = begin_waker(task->pid, now);
	thread->has_waker_stack = scratch != NULL;
	if (!scratch)
		return 0;
	if (scratch->walks && needs_walk(scratch, bpf_get_current_task_btf(), false))
		capture_walk_then(ctx, scratch, &walk_waking, CAPTURE_DONE_OFF_CPU_WAKING);
	else
		send_waker(scratch);
	return 0;
}

/* -- the thread is back ------------------------------------------------------------------------ */

/* The registers are also evidence, whether the stack is wanted or not. */
static __always_inline void read_registers(struct capture_scratch *scratch,
					   struct task_struct *task)
{
	evidence_begin(scratch);
	if (!(task->flags & PF_KTHREAD) && task->mm && capture_registers(scratch, task) &&
	    want_user)
		capture_wants_walk(scratch);
}

static __always_inline void take_wait(struct off_cpu_wait *wait, struct capture_scratch *scratch,
				      struct task_struct *task, struct off_cpu_coming *coming)
{
	struct off_cpu_thread *thread;

	wait->out = coming->out;
	wait->woken = coming->woken;
	wait->in = coming->in;
	wait->state = coming->state;
	wait->tells = coming->tells;
	wait->short_waited = coming->short_waited;
	wait->short_ready = coming->short_ready;
	wait->short_waits = coming->short_waits;
	wait->short_readies = coming->short_readies;
	take_evidence(wait, scratch, task);
	thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	if (!thread)
		return;
	wait->waker_pid = thread->waker_pid;
	wait->waker_tid = thread->waker_tid;
	wait->waker_context = thread->waker_context;
	wait->has_waker_stack = thread->has_waker_stack;
	wait->waker_released = thread->waker_released;
	__builtin_memcpy(wait->waker_comm, thread->waker_comm, sizeof(wait->waker_comm));
	scratch->record.identity.undecided = thread->answer == FILTER_ASK;
	wait->has_lock = off_cpu_locks && thread->has_lock && lock_tell(task, (void *)(wait + 1));
}

/*
 * A full ring must not have each wait walk a stack that cannot be sent: the thread is quiet for a
 * period.
 */
static __noinline void take_back(struct task_struct *task, struct off_cpu_coming *coming)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);

	if (!thread)
		return;
	thread->quiet_until = coming->in + off_cpu_period;
	put_off(thread, coming);
}

/* Sends a wait, with the frames that it has. */
static __always_inline void send_wait(struct capture_scratch *scratch, struct task_struct *task,
				      struct off_cpu_coming *coming)
{
	struct off_cpu_wait *wait = wait_place(scratch);

	if (wait)
		take_wait(wait, scratch, task, coming);
	if (!wait || !capture_send_with(scratch, off_cpu_words(wait))) {
		as_before_not_sent(&scratch->record, task);
		take_back(task, coming);
	}
	capture_end(scratch);
}

/* Begins with a wait that is over, in the thread that had waited. */
static __always_inline void begin_wait(void *ctx, struct task_struct *task,
				       struct off_cpu_coming *coming, enum capture_walker walker,
				       void *table, enum capture_done done)
{
	struct capture_scratch *scratch = capture_begin(CAPTURE_SOURCE_OFF_CPU, walker);
	bool with_kernel = walker == CAPTURE_WALKER_BACK && want_kernel;

	if (!scratch) {
		take_back(task, coming);
		return;
	}
	coming->tid = 0;
	capture_identity(&scratch->record, OFF_CPU_WAIT, task, coming->woken - coming->out);
	read_registers(scratch, task);
	if (needs_walk(scratch, task, with_kernel))
		capture_walk_then(ctx, scratch, table, done);
	else
		send_wait(scratch, task, coming);
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(off_cpu_back, bool is_switch)
{
	struct off_cpu_cpu *cpu = this_cpu();
	struct task_struct *task;

	if (!cpu || !cpu->coming.tid)
		return 0;
	task = bpf_get_current_task_btf();
	if ((__u32)task->pid == cpu->coming.tid)
		begin_wait(ctx, task, &cpu->coming, CAPTURE_WALKER_BACK, &walk_back,
			   CAPTURE_DONE_OFF_CPU_BACK);
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int off_cpu_back_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_BACK);
	struct task_struct *task = bpf_get_current_task_btf();
	struct off_cpu_cpu *cpu = this_cpu();

	if (!scratch || !cpu)
		return 0;
	end_walk(ctx, scratch, task, want_kernel);
	send_wait(scratch, task, &cpu->coming);
	return 0;
}

/* Instead of that. What the kernel did while the thread waited is not on its stack any more. */
SEC("tp_btf/sys_exit")
int BPF_PROG(off_cpu_return, struct probe_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);

	if (thread && thread->later.tid)
		begin_wait(ctx, task, &thread->later, CAPTURE_WALKER_RETURN, &walk_return,
			   CAPTURE_DONE_OFF_CPU_RETURN);
	return 0;
}

SEC("tp_btf/sys_exit")
int off_cpu_return_done(void *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_RETURN);
	struct task_struct *task = bpf_get_current_task_btf();
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);

	if (!scratch)
		return 0;
	end_walk(ctx, scratch, task, false);
	if (thread)
		send_wait(scratch, task, &thread->later);
	else
		capture_end(scratch);
	return 0;
}

#include "bpf/sched/off_cpu_list.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
