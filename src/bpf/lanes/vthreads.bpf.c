// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lanes of Java's virtual threads: which carrier each one ran on, and when it was unmounted. The
 * JVM moves the frames of one to the heap and back by functions of its own, which are watched (enum
 * vthreads_place). The first time that one is mounted, there is nothing to bring back, and when it
 * has ended, nothing to take away: both happen in code that the JVM has made, where no uprobe can
 * be. Breakpoints of the CPU (perf events) are set there.
 *
 * A virtual thread is known by the number of its java.lang.Thread, which the carrier's JavaThread
 * has beside it. Objects are only read in the carrier itself, while it runs Java's code, of
 * collectors that move objects only while no thread does that.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/lanes/lanes.h"
#include "bpf/lanes/vthreads_abi.h"

/* java.lang.VirtualThread.state, since JDK 21. */
#define STATE_PARKING	    3
#define STATE_TIMED_PARKING 6
#define STATE_YIELDING	    10

/* Between two stacks of a CPU, if there were always one to take, ns; set before loading. */
const volatile __u64 vthreads_stack_interval;

/* Records so far, about. */
__u32 vthreads_sent;

/* This far may stacks be ahead of their rate. */
#define BURST_NS 500000000ull

/* By pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, VTHREADS_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct vthreads_process);
} vthreads_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, VTHREADS_MAX);
	__type(key, struct lane_key);
	__type(value, struct vthreads_state);
} vthreads_states SEC(".maps");

/* What a new one looks like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vthreads_state);
} vthreads_blank SEC(".maps");

/* When the next stack of a CPU is due, by their rate. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} vthreads_paid SEC(".maps");

/* The number of the virtual thread that a carrier mounted last. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} vthreads_mounted SEC(".maps");

/* A probe that fired. */
struct firing {
	const struct vthreads_process *process;
	struct lane_key key; /* of the virtual thread that it is about */
	__u64 now, java;     /* java: the JavaThread */
	__u8 undecided;
};

/* The object that a reference is of; 0: none, or it cannot be read. */
static __always_inline __u64 read_reference(const struct vthreads_process *process, __u64 at)
{
	__u32 narrow = 0;

	if (!process->is_narrow)
		return read_word(at);
	bpf_probe_read_user(&narrow, sizeof(narrow), (void *)at);
	return narrow ? process->base + ((__u64)narrow << (process->shift & 31)) : 0;
}

/* The java.lang.VirtualThread; 0: objects are not read. */
static __always_inline __u64 object_of(const struct firing *f)
{
	return f->process->object ? read_word(read_word(f->java + f->process->object)) : 0;
}

/* -- records ----------------------------------------------------------------------------------- */

/*
 * Sends the turn that is over now: of one that is mounted again, or ends. The record is made in
 * what stacks are walked in: the program's own stack has no room for it (Linux before 6.13).
 */
static __noinline int send_turn(struct firing *f, struct vthreads_state *state, __u8 flags)
{
	struct capture_scratch *scratch =
		state ? capture_begin(CAPTURE_SOURCE_VTHREADS, CAPTURE_WALKER_NONE) : NULL;
	struct vthreads_turn *turn;

	if (!scratch)
		return 0;
	turn = (struct vthreads_turn *)scratch->frames;
	__builtin_memset(turn, 0, sizeof(*turn));
	state->turn.undecided = f->undecided;
	lane_fill(&turn->record, VTHREADS_TURN, sizeof(*turn), &f->key, &state->turn, f->now,
		  flags);
	__builtin_memcpy(turn->name, state->name, sizeof(turn->name));
	lane_output(CAPTURE_SOURCE_VTHREADS, &vthreads_sent, turn, sizeof(*turn), BPF_RB_NO_WAKEUP);
	capture_end(scratch);
	return 0;
}

/* -- virtual threads --------------------------------------------------------------------------- */

/* Its name, as far as it is of Latin 1. */
static __always_inline void read_name(const struct firing *f, struct vthreads_state *state)
{
	const struct vthreads_process *process = f->process;
	__u64 object = process->name ? object_of(f) : 0;
	__u32 length = 0;
	__u8 coder = 1;

	object = object ? read_reference(process, object + process->name) : 0;
	if (!object ||
	    bpf_probe_read_user(&coder, sizeof(coder), (void *)(object + process->coder)) || coder)
		return;
	object = read_reference(process, object + process->value);
	if (!object ||
	    bpf_probe_read_user(&length, sizeof(length), (void *)(object + process->length)))
		return;
	if (length > VTHREADS_NAME_MAX - 1)
		length = VTHREADS_NAME_MAX - 1;
	/* the rest stays as it was: zero */
	bpf_probe_read_user(state->name, length & (VTHREADS_NAME_MAX - 1),
			    (void *)(object + process->length + 4));
}

/* Of one that is met; null: there is no room, which is counted. */
static __always_inline struct vthreads_state *new_state(struct firing *f)
{
	struct vthreads_state *state;
	__u32 zero = 0;

	state = bpf_map_lookup_elem(&vthreads_blank, &zero);
	if (state)
		bpf_map_update_elem(&vthreads_states, &f->key, state, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&vthreads_states, &f->key);
	if (!state) {
		capture_count_loss(CAPTURE_SOURCE_VTHREADS, CAPTURE_LOSS_VTHREAD_NO_MEMORY);
		return NULL;
	}
	state->turn.number = f->key.at;
	state->turn.undecided = f->undecided;
	read_name(f, state);
	return state;
}

/* One that was not seen before, and that is mounted now: it has been since there are probes. */
static __always_inline struct vthreads_state *mounted_before(struct firing *f)
{
	struct vthreads_state *state = new_state(f);

	if (!state)
		return NULL;
	lane_runs(&state->turn, f->process->since);
	return state;
}

static __noinline int mount(struct firing *f, bool is_first)
{
	struct vthreads_state *state = bpf_map_lookup_elem(&vthreads_states, &f->key);
	__u64 *mounted = bpf_task_storage_get(&vthreads_mounted, bpf_get_current_task_btf(), NULL,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	bool is_new = !state;

	if (mounted)
		*mounted = f->key.at;
	if (is_new)
		state = new_state(f);
	if (!state)
		return 0;
	if (!is_new || !is_first) {
		/* one that was not seen before has waited since there are probes */
		if (is_new)
			state->turn.out = f->process->since;
		else if (!state->turn.out)
			lane_lost(&state->turn, f->now);
		send_turn(f, state, 0);
	}
	lane_begin(&state->turn, f->now);
	state->turn.flags = is_new && is_first ? LANE_BEGINS : 0;
	return 0;
}

/* What it says itself of why it is unmounted. */
static __always_inline void read_reason(const struct firing *f, struct vthreads_state *state)
{
	__u64 object = f->process->state ? object_of(f) : 0;
	__u32 is = 0;

	if (object)
		bpf_probe_read_user(&is, sizeof(is), (void *)(object + f->process->state));
	if (is == STATE_YIELDING)
		lane_yield(&state->turn, f->now);
	state->turn.reason = is == STATE_PARKING	 ? VTHREADS_FOR_PARK
			     : is == STATE_TIMED_PARKING ? VTHREADS_FOR_TIMED_PARK
							 : VTHREADS_FOR_OTHER;
}

/* Returns whether its stack is to be taken. */
static __always_inline bool unmount(struct firing *f, __u8 reason)
{
	struct vthreads_state *state = bpf_map_lookup_elem(&vthreads_states, &f->key);
	__u32 zero = 0;
	__u64 *paid = bpf_map_lookup_elem(&vthreads_paid, &zero);

	if (!state)
		state = mounted_before(f);
	if (!state || state->turn.out)
		return false;
	state->turn.out = f->now;
	state->turn.reason = reason;
	if (!reason)
		read_reason(f, state);
	if (!paid || state->turn.flags & LANE_GAVE_WAY)
		return false;
	if (*paid > f->now + BURST_NS) {
		capture_count_loss(CAPTURE_SOURCE_VTHREADS, CAPTURE_LOSS_VTHREAD_STACK);
		return false;
	}
	*paid = (*paid > f->now ? *paid : f->now) + vthreads_stack_interval;
	return true;
}

/* ObjectMonitor::resume_operation() has come back. */
static __noinline int resumed(struct firing *f, bool has_it)
{
	struct vthreads_state *state = bpf_map_lookup_elem(&vthreads_states, &f->key);

	if (has_it && state && state->turn.out)
		mount(f, false);
	else if (!has_it && state) {
		if (!state->turn.out)
			state->turn.out = f->now;
		/* another one was faster: it is not ready any more */
		state->turn.woken = state->turn.readier = 0;
		state->turn.reason = VTHREADS_FOR_MONITOR;
	}
	return 0;
}

/*
 * The thread that leaves a monitor makes the one at an address ready, which waits for it. That
 * thread may run a virtual thread, which does it then.
 */
static __noinline int wake(struct firing *f, __u64 object)
{
	__u64 *mounted =
		bpf_task_storage_get(&vthreads_mounted, bpf_get_current_task_btf(), NULL, 0);
	struct lane_key by = {mounted ? *mounted : 0, f->key.pid, f->key.exec_id};
	struct vthreads_state *state, *waker = bpf_map_lookup_elem(&vthreads_states, &by);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	if (!f->process->tid)
		return 0;
	f->key.at = read_word(object + f->process->tid);
	state = bpf_map_lookup_elem(&vthreads_states, &f->key);
	if (!state || !state->turn.out || state->turn.woken)
		return 0;
	state->turn.woken = f->now;
	state->turn.readier = waker && !waker->turn.out && waker->turn.thread == tid ? by.at : 0;
	state->turn.readier_thread = tid;
	return 0;
}

static __noinline int end(struct firing *f)
{
	struct vthreads_state *state = bpf_map_lookup_elem(&vthreads_states, &f->key);

	/* one that goes on waiting for a monitor leaves by the same code */
	if (state && state->turn.out)
		return 0;
	if (!state)
		state = mounted_before(f);
	if (!state)
		return 0;
	/* a page that the kernel moved just then could not be read (khugepaged, compaction) */
	if (!state->name[0])
		read_name(f, state);
	send_turn(f, state, LANE_ENDS);
	bpf_map_delete_elem(&vthreads_states, &f->key);
	return 0;
}

/* -- probes ------------------------------------------------------------------------------------ */

/* False: it is not about a virtual thread that is filmed. */
static __always_inline bool fires(struct firing *f, __u64 java)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum filter_answer answer = filter_current();
	__u32 pid = task->tgid;

	if (answer == FILTER_NO)
		return false;
	f->process = bpf_map_lookup_elem(&vthreads_processes, &pid);
	if (!f->process)
		return false;
	f->now = bpf_ktime_get_ns();
	f->java = java;
	f->key.pid = pid;
	f->key.exec_id = (__u32)task->self_exec_id;
	f->key.at = java ? read_word(java + f->process->number) : 0;
	f->undecided = answer == FILTER_ASK;
	return true;
}

static __always_inline void send_made(void)
{
	struct vthreads_ready ready = {
		.head = {VTHREADS_READY, sizeof(ready), bpf_ktime_get_ns()},
		.pid = bpf_get_current_pid_tgid() >> 32,
	};

	if (filter_current() != FILTER_NO)
		lane_output(CAPTURE_SOURCE_VTHREADS, &vthreads_sent, &ready, sizeof(ready),
			    BPF_RB_FORCE_WAKEUP);
}

/* Sends the stack with which one waits. */
static __always_inline void send_stack(void *ctx, __u64 number, __u64 now, __u8 undecided)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_scratch *scratch =
		capture_begin(CAPTURE_SOURCE_VTHREADS, CAPTURE_WALKER_UPROBE);

	if (!scratch)
		return;
	capture_identity(&scratch->record, VTHREADS_STACK, task, 0);
	scratch->record.head.time = now;
	scratch->record.identity.undecided = undecided;
	scratch->record.identity.key = vthreads_stack_key(number, now);
	if (want_user && capture_registers(scratch, task))
		capture_wants_walk(scratch);
	capture_walk(ctx, scratch, &walk_uprobe, 0, 0, 0);
}

/*
 * What happens at a place. Returns whether the stack is to be taken. Apart, as a program that walks
 * stacks has little of its own stack left (Linux before 6.13).
 */
static __noinline int happen(struct probe_regs *ctx, struct firing *f)
{
	enum vthreads_place place = bpf_get_attach_cookie(ctx);
	/* all are read: the compiler would read one of them by a pointer that is refused */
	__u64 first = REGS_ARG1(ctx), second = REGS_ARG2(ctx), kept = REGS_JAVA_THREAD(ctx),
	      result = REGS_RESULT(ctx);
	__u64 *mounted, java = kept;

	__asm__ volatile("" : "+r"(first), "+r"(second), "+r"(kept), "+r"(result));
	if (place == VTHREADS_MADE) {
		send_made();
		return 0;
	}
	/* what brings back a part of a stack mounts nothing */
	if ((place == VTHREADS_FROZEN && (__u32)result) ||
	    (place == VTHREADS_THAWS && (__u8)second))
		return 0;
	if (place == VTHREADS_THAWS)
		java = first;
	else if (place == VTHREADS_ENTERS || place == VTHREADS_AWAITS)
		java = second;
	else if (place == VTHREADS_RESUMED || place == VTHREADS_WAKES)
		java = 0;
	if (!fires(f, java))
		return 0;
	switch (place) {
	case VTHREADS_THAWS:
		mount(f, false);
		return 0;
	case VTHREADS_WAKES:
		wake(f, first);
		return 0;
	case VTHREADS_RESUMED:
		mounted = bpf_task_storage_get(&vthreads_mounted, bpf_get_current_task_btf(), NULL,
					       0);
		f->key.at = mounted ? *mounted : 0;
		if (f->key.at)
			resumed(f, (__u8)result);
		return 0;
	case VTHREADS_FROZEN:
		return unmount(f, VTHREADS_FOR_OTHER);
	default:
		return unmount(f, place == VTHREADS_ENTERS ? VTHREADS_FOR_MONITOR
							   : VTHREADS_FOR_NOTIFY);
	}
}

SEC("uprobe")
int vthreads_site(struct probe_regs *ctx)
{
	struct firing f = {};

	if (happen(ctx, &f))
		send_stack(ctx, f.key.at, f.now, f.undecided);
	return 0;
}

/* A breakpoint in the code that runs virtual threads: one is mounted first, or has ended. */
SEC("perf_event")
int vthreads_code(struct bpf_perf_event_data *ctx)
{
	__u64 at = ctx->regs.ip, java = REGS_JAVA_THREAD(&ctx->regs);
	struct firing f = {};

	if (!fires(&f, java) || !f.key.at)
		return 0;
	if (at == f.process->first)
		mount(&f, true);
	else if (at == f.process->end)
		end(&f);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
