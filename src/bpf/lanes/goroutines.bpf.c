// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Waits of goroutines. No thread waits with one: the thread that it ran on goes on with another
 * one, or waits for one. So Go's own scheduler is watched, at the beginning of three functions:
 *
 *	gopark(unlock, lock, reason, …)	the current goroutine (r14) begins to wait
 *	ready(g, …)			that goroutine has been made ready by the current one
 *	execute(g, …)			the current thread goes on with that goroutine
 *
 * Arguments are in rax, rbx, rcx … (Go's ABIInternal, since 1.17). Goroutines that the network
 * poller finds ready are executed without a call of ready().
 *
 * At a park nothing is taken but the time. The goroutine's stack is walked when it is executed, if
 * it had waited long enough: where it goes on is in its record (g.sched), and its stack is as it
 * was. Shorter waits are summed up, and the one that completes goroutines_period of them gives its
 * stack for all of them.
 */
#include "bpf/capture/capture.h"
#include "bpf/filter.h"
#include "bpf/lanes/goroutines_abi.h"
#include "bpf/lanes/lanes.h"

/* Set before loading; ns. */
const volatile __u64 goroutines_min_wait = 50000;
const volatile __u64 goroutines_period = 10000000;
/* Between two stacks of a CPU, if there were always one to take; 0: each wait may have one. */
const volatile __u64 goroutines_stack_interval;
/* Whether each turn of a goroutine is reported: goroutines_lanes.h. */
const volatile bool goroutines_lanes;

/* This far may stacks be ahead of their rate; from half of that on, only long waits have one. */
#define BURST_NS 500000000ull

/* By the number in the cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GOROUTINES_IMAGES_MAX);
	__type(key, __u32);
	__type(value, struct goroutines_image);
} goroutines_images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GOROUTINES_MAX);
	__type(key, struct lane_key);
	__type(value, struct goroutines_state);
} goroutines_states SEC(".maps");

/* What a new one looks like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct goroutines_state);
} goroutines_blank SEC(".maps");

/* When the next stack of a CPU is due, by their rate. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} goroutines_paid SEC(".maps");

/* How far stacks are ahead of their rate on this CPU, ns. */
static __always_inline __u64 stacks_ahead(const __u64 *paid, __u64 now)
{
	return paid && *paid > now ? *paid - now : 0;
}

static __always_inline void pay_for_stack(__u64 *paid, __u64 now)
{
	if (paid)
		*paid = (*paid > now ? *paid : now) + goroutines_stack_interval;
}

/* -- records ----------------------------------------------------------------------------------- */

/* The walk begins where a goroutine goes on, or with the registers of the current thread. */
static __always_inline void want_walk(struct capture_scratch *scratch,
				      const struct goroutines_image *image, __u64 g,
				      bool wants_stack)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct unwind_walk *w = &scratch->walk;

	if (!want_user || !wants_stack || !capture_registers(scratch, task))
		return;
	if (scratch->record.head.kind == GOROUTINES_WAIT &&
	    (bpf_probe_read_user(&w->pc, sizeof(w->pc), (void *)(g + image->pc)) ||
	     bpf_probe_read_user(&w->sp, sizeof(w->sp), (void *)(g + image->sp)) ||
	     bpf_probe_read_user(&w->fp, sizeof(w->fp), (void *)(g + image->fp))))
		return;
	capture_wants_walk(scratch);
}

/*
 * Begins a record. A wait is reported as one of the process's first thread: which thread a
 * goroutine runs on is chance.
 */
static __always_inline void begin_record(struct capture_scratch *scratch, __u32 kind, __u64 g,
					 const struct goroutines_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader = task->group_leader;
	struct capture_identity *identity = &scratch->record.identity;

	capture_identity(&scratch->record, kind, task, 0);
	scratch->record.head.time = state->told.time;
	identity->undecided = state->turn.undecided;
	identity->key = goroutines_readier_key(g, state->told.time);
	if (kind != GOROUTINES_WAIT)
		return;
	identity->tid = identity->pid;
	identity->thread_start = leader->start_time;
	bpf_probe_read_kernel(identity->comm, sizeof(identity->comm), leader->comm);
}

/* Where what is known of a wait goes, behind the record's frames; null: there is no room. */
static __always_inline struct goroutines_wait *wait_place(struct capture_scratch *scratch)
{
	__u32 frames = scratch->record.user_frames;

	if (frames > CAPTURE_FRAMES_MAX - GOROUTINES_WAIT_WORDS)
		return NULL;
	return (void *)&scratch->frames[frames];
}

static __always_inline void fill(struct goroutines_wait *wait, const struct goroutines_image *image,
				 __u64 g, struct goroutines_state *state)
{
	const struct goroutines_report *told = &state->told;

	__builtin_memset(wait, 0, sizeof(*wait));
	bpf_probe_read_user(&state->turn.number, sizeof(state->turn.number),
			    (void *)(g + image->goid));
	wait->turn = state->turn;
	wait->turn.out = told->out;
	wait->turn.woken = told->woken;
	wait->turn.flags = (__u8)told->lane;
	wait->in = told->in;
	wait->g = g;
	wait->short_waited = told->short_waited;
	wait->short_ready = told->short_ready;
	wait->short_waits = told->short_waits;
	wait->short_readies = told->short_readies;
	wait->reports = told->reports;
	wait->image = state->image;
	wait->has_readier_stack = state->has_readier_stack;
	wait->is_before = state->is_before;
	__builtin_memcpy(wait->readier_comm, state->readier_comm, sizeof(wait->readier_comm));
}

/* Begins the record of what happens to a goroutine, with its stack; null: there is no memory. */
static __always_inline struct capture_scratch *begin(__u64 g, struct goroutines_state *state,
						     __u32 kind)
{
	__u32 number = state->image;
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);
	struct capture_scratch *scratch =
		image ? capture_begin(CAPTURE_SOURCE_GOROUTINES, CAPTURE_WALKER_UPROBE) : NULL;

	if (!scratch)
		return NULL;
	begin_record(scratch, kind, g, state);
	/* a turn that is reported for its lane alone is too short to have a stack of its own */
	want_walk(scratch, image, g,
		  kind != GOROUTINES_WAIT || state->told.reports || state->told.short_waited ||
			  state->told.short_ready);
	return scratch;
}

/* Sends it, with its frames; false: it was lost, which is counted. */
static __always_inline bool send(struct capture_scratch *scratch, __u64 g,
				 struct goroutines_state *state, __u32 kind)
{
	__u32 number = state->image;
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);
	struct goroutines_wait *wait;

	if (!image)
		return false;
	if (kind != GOROUTINES_WAIT)
		return capture_send_with(scratch, 0);
	wait = wait_place(scratch);
	if (!wait)
		return false;
	fill(wait, image, g, state);
	return capture_send_with(scratch, GOROUTINES_WAIT_WORDS);
}

/* Of a goroutine that is met; null: there is no room, which is counted. */
static __always_inline struct goroutines_state *new_state(struct lane_key *key)
{
	struct goroutines_state *state;
	__u32 zero = 0;

	state = bpf_map_lookup_elem(&goroutines_blank, &zero);
	if (state)
		bpf_map_update_elem(&goroutines_states, key, state, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&goroutines_states, key);
	if (!state)
		capture_count_loss(CAPTURE_SOURCE_GOROUTINES, CAPTURE_LOSS_GOROUTINE_NO_MEMORY);
	return state;
}

#include "bpf/lanes/goroutines_lanes.h"

/* -- gopark ------------------------------------------------------------------------------------ */

static __always_inline void park(struct lane_key *key, __u8 reason, __u32 image,
				 enum filter_answer answer)
{
	struct goroutines_state *state = bpf_map_lookup_elem(&goroutines_states, key);

	if (!state) {
		state = new_state(key);
		lane_ran_before(state, image);
	}
	if (!state)
		return;
	state->image = image;
	state->turn.flags &= ~LANE_GAVE_WAY;
	state->turn.reason = reason;
	state->turn.undecided = answer == FILTER_ASK;
	state->is_before = 0;
	state->turn.woken = 0;
	state->turn.readier_thread = 0;
	state->has_readier_stack = 0;
	state->turn.out = bpf_ktime_get_ns();
}

/* -- ready ------------------------------------------------------------------------------------- */

/* Returns whether its stack is to be told. */
static __always_inline bool ready(struct goroutines_state *state)
{
	__u32 zero = 0;
	__u64 *paid = bpf_map_lookup_elem(&goroutines_paid, &zero), now;

	if (state->turn.woken)
		return false;
	now = bpf_ktime_get_ns();
	state->turn.woken = now;
	if (now - state->turn.out < goroutines_min_wait)
		return false;
	state->turn.readier_thread = (__u32)bpf_get_current_pid_tgid();
	bpf_get_current_comm(state->readier_comm, sizeof(state->readier_comm));
	if (stacks_ahead(paid, now) >= BURST_NS / 2) {
		capture_count_loss(CAPTURE_SOURCE_GOROUTINES, CAPTURE_LOSS_GOROUTINE_READIER);
		return false;
	}
	pay_for_stack(paid, now);
	state->told.time = now;
	return true;
}

/* -- execute ----------------------------------------------------------------------------------- */

/* Adds up a short time. Returns what a period of them has come to; 0: it is not complete. */
static __always_inline __u64 add_up(__u64 *sum, __u32 *count, __u64 time, __u32 *counted)
{
	__u64 all = *sum + time;

	if (time)
		(*count)++;
	if (all < goroutines_period) {
		*sum = all;
		return 0;
	}
	*counted = *count;
	*sum = 0;
	*count = 0;
	return all;
}

/* What was not reported of a wait is reported with the next ones: no time is lost. */
static __always_inline void put_off(struct goroutines_state *state)
{
	const struct goroutines_report *told = &state->told;
	bool waits = told->reports & GOROUTINES_REPORTS_WAIT;
	bool readies = told->reports & GOROUTINES_REPORTS_READY;

	state->quiet_until = told->in + goroutines_period;
	state->short_waits += told->short_waits + waits;
	state->short_readies += told->short_readies + readies;
	state->short_waited += told->short_waited + (waits ? told->woken - told->out : 0);
	state->short_ready += told->short_ready + (readies ? told->in - told->woken : 0);
}

/*
 * It is not known to wait. If it goes on within gopark(), it has waited since before there were
 * probes; else it is new, or was preempted. Returns its state, if it is to be told; null: it is
 * not.
 */
static __always_inline struct goroutines_state *execute_unknown(struct lane_key *key, __u32 number,
								__u64 ip, bool undecided)
{
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pc = 0, g = key->at, began = task->group_leader->start_time;
	bool was_parked;
	struct goroutines_state *state;
	struct goroutines_report *told;

	if (!image || bpf_probe_read_user(&pc, sizeof(pc), (void *)(g + image->pc)))
		return NULL;
	was_parked = pc - (ip + image->park_at) < image->park_size;
	if (!was_parked && !goroutines_lanes)
		return NULL;
	state = new_state(key);
	if (!state)
		return NULL;
	state->image = number;
	state->turn.undecided = undecided;
	state->is_before = 1;
	if (bpf_probe_read_user(&state->turn.reason, sizeof(state->turn.reason),
				(void *)(g + image->reason)))
		state->turn.reason = GOROUTINES_NO_REASON;
	told = &state->told;
	told->time = told->in = told->woken = bpf_ktime_get_ns();
	told->out = began > image->since ? began : image->since;
	told->short_waited = told->short_ready = 0;
	told->reports = GOROUTINES_REPORTS_WAIT;
	told->lane = 0;
	if (goroutines_lanes)
		lane_off_before(state, told, was_parked);
	return told->in >= told->out ? state : NULL;
}

/* Returns whether it is to be told. */
static __always_inline bool execute_known(struct goroutines_state *state)
{
	__u64 now = bpf_ktime_get_ns(), out = state->turn.out, woken = state->turn.woken, least,
	      ahead;
	struct goroutines_report *told = &state->told;
	__u32 zero = 0;
	__u64 *paid = bpf_map_lookup_elem(&goroutines_paid, &zero);

	state->turn.out = 0;
	told->lane = goroutines_lanes ? lane_of_turn(state, woken) : 0;
	if (woken < out || woken > now)
		woken = now;
	ahead = stacks_ahead(paid, now);
	least = ahead >= BURST_NS / 2 ? goroutines_period : goroutines_min_wait;
	told->out = out;
	told->woken = woken;
	told->in = told->time = now;
	told->reports = 0;
	told->short_waited = told->short_ready = 0;
	told->short_waits = told->short_readies = 0;
	if (now < state->quiet_until || ahead >= BURST_NS) {
		state->short_waits += woken != out;
		state->short_readies += now != woken;
		state->short_waited += woken - out;
		state->short_ready += now - woken;
		return told->lane;
	}
	if (woken - out >= least)
		told->reports |= GOROUTINES_REPORTS_WAIT;
	else
		told->short_waited = add_up(&state->short_waited, &state->short_waits, woken - out,
					    &told->short_waits);
	if (now - woken >= least)
		told->reports |= GOROUTINES_REPORTS_READY;
	else
		told->short_ready = add_up(&state->short_ready, &state->short_readies, now - woken,
					   &told->short_readies);
	if (!told->reports && !told->short_waited && !told->short_ready)
		return told->lane;
	pay_for_stack(paid, now);
	return true;
}

/*
 * Which goroutine a place is of: the current one at gopark(), the second argument of runqput(), the
 * first one elsewhere.
 */
static __always_inline __u64 goroutine_at(const struct probe_regs *ctx, __u32 place)
{
	__u64 current = REGS_GO_G(ctx), first = REGS_GO_ARG1(ctx), second = REGS_GO_ARG2(ctx);

	/*
	 * all are read: the compiler would read one of them by a pointer that the verifier refuses
	 */
	__asm__ volatile("" : "+r"(current), "+r"(first), "+r"(second));
	if (place == GOROUTINES_PARK)
		return current;
	return place == GOROUTINES_RUNQPUT ? second : first;
}

/* What happens to a goroutine there. Returns its state, if it is to be told of; null: it is not. */
static __always_inline struct goroutines_state *happen(struct probe_regs *ctx, struct lane_key *key,
						       __u32 place, __u32 number,
						       enum filter_answer answer, __u32 *kind)
{
	struct goroutines_state *state = bpf_map_lookup_elem(&goroutines_states, key);

	switch (place) {
	case GOROUTINES_RUNQPUT:
		if (!state || !state->turn.out) {
			lane_queue(ctx, key, state, number, answer);
			return NULL;
		}
		lane_readier(ctx, state, number);
		/* fallthrough */
	case GOROUTINES_READY:
		*kind = GOROUTINES_READIER;
		return state && state->turn.out && ready(state) ? state : NULL;
	case GOROUTINES_EXECUTE:
		if (!state)
			return execute_unknown(key, number, ctx->ip, answer == FILTER_ASK);
		if (!state->turn.out) {
			lane_run(state);
			return NULL;
		}
		return execute_known(state) ? state : NULL;
	case GOROUTINES_EXIT:
		return lane_exit(key, state, number, answer);
	default:
		lane_handle_yield(key, state, number, answer);
		return NULL;
	}
}

/* What happened is sent, or lost. */
static __always_inline void end(struct lane_key *key, struct goroutines_state *state, __u32 place,
				__u32 kind, bool sent)
{
	if (kind == GOROUTINES_READIER)
		state->has_readier_stack = sent;
	else if (!sent && place != GOROUTINES_EXIT)
		put_off(state);
	if (place == GOROUTINES_EXIT)
		bpf_map_delete_elem(&goroutines_states, key);
	else if (kind == GOROUTINES_WAIT)
		lane_run(state);
}

SEC("uprobe")
int goroutines_site(struct probe_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 place = GOROUTINES_PLACE(cookie), number = GOROUTINES_IMAGE(cookie);
	enum filter_answer answer = filter_current();
	struct goroutines_state *state;
	struct lane_key key;
	__u32 kind = GOROUTINES_WAIT;
	struct capture_scratch *scratch;

	if (answer == FILTER_NO)
		return 0;
	if (place == GOROUTINES_INJECT) {
		lane_inject(REGS_GO_ARG1(ctx), number);
		return 0;
	}
	key = lane_key_of(goroutine_at(ctx, place));
	if (place == GOROUTINES_PARK) {
		park(&key, (__u8)REGS_GO_ARG3(ctx), number, answer);
		return 0;
	}
	state = happen(ctx, &key, place, number, answer, &kind);
	if (!state)
		return 0;
	scratch = begin(key.at, state, kind);
	if (scratch)
		capture_walk_then(ctx, scratch, &walk_uprobe, CAPTURE_DONE_GOROUTINES);
	end(&key, state, place, kind, false);
	return 0;
}

SEC("uprobe")
int goroutines_site_done(struct probe_regs *ctx)
{
	struct capture_scratch *scratch = capture_claimed(CAPTURE_WALKER_UPROBE);
	__u32 place = GOROUTINES_PLACE(bpf_get_attach_cookie(ctx)), kind;
	struct lane_key key = lane_key_of(goroutine_at(ctx, place));
	struct goroutines_state *state = bpf_map_lookup_elem(&goroutines_states, &key);

	capture_on_own_stack(ctx);
	if (!scratch)
		return 0;
	kind = scratch->record.head.kind;
	if (state)
		end(&key, state, place, kind, send(scratch, key.at, state, kind));
	capture_end(scratch);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
