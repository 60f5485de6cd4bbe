/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_GOROUTINES_LANES_H
#define BPF_LANES_GOROUTINES_LANES_H

/*
 * Lanes of goroutines: what each one did, every moment. A turn begins when a goroutine runs and
 * ends when it runs again, or for ever; execute() tells of the turn that is over, so there is one
 * record for each. Which thread it runs on is known, and which goroutine made it ready: the one
 * that the current thread works for, even where the runtime does it on the thread's own stack.
 *
 * Included by goroutines.bpf.c, whose maps it uses.
 */

/* From a goroutine's number on: the next one of a list. */
#define LANE_NEXT_AT	8
#define LANE_INJECT_MAX 64
/* Where a goroutine has its thread's record (m). */
#define LANE_G_M 48

/* It runs from now on. */
static __always_inline void lane_run(struct goroutines_state *state)
{
	if (!goroutines_lanes)
		return;
	lane_runs(&state->turn,
		  state->told.in && state->told.lane ? state->told.in : bpf_ktime_get_ns());
	state->turn.flags = 0;
	state->turn.readier = 0;
	state->told.lane = 0;
}

/* What its record is to say of the turn that is over. */
static __always_inline __u32 lane_of_turn(const struct goroutines_state *state, __u64 woken)
{
	return LANE_TURN | state->turn.flags | (woken ? 0 : LANE_UNWOKEN);
}

/* One that nothing was seen of, and that runs now: it has since there are probes. */
static __always_inline void lane_ran_before(struct goroutines_state *state, __u32 number)
{
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);

	if (!state || !image)
		return;
	state->turn.flags = LANE_BEFORE;
	lane_runs(&state->turn, image->since);
}

/* The same of one that runs only from now on: it has waited, or was ready. */
static __always_inline void lane_off_before(struct goroutines_state *state,
					    struct goroutines_report *told, bool was_parked)
{
	told->lane = LANE_TURN | LANE_BEFORE;
	if (was_parked) {
		told->lane |= LANE_UNWOKEN;
		return;
	}
	told->lane |= LANE_GAVE_WAY;
	told->woken = told->out;
	told->reports = 0;
	state->turn.since = 0;
}

/* The goroutine that the current thread works for; 0: the runtime itself. */
static __always_inline __u64 lane_current(const struct probe_regs *ctx,
					  const struct goroutines_image *image)
{
	__u64 m = 0, g = 0, goid = 0;

	if (bpf_probe_read_user(&m, sizeof(m), (void *)(REGS_GO_G(ctx) + LANE_G_M)) ||
	    bpf_probe_read_user(&g, sizeof(g), (void *)(m + image->curg)) || !g ||
	    bpf_probe_read_user(&goid, sizeof(goid), (void *)(g + image->goid)))
		return 0;
	return goid;
}

static __always_inline void lane_readier(const struct probe_regs *ctx,
					 struct goroutines_state *state, __u32 number)
{
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);

	if (image && !state->turn.woken)
		state->turn.readier = lane_current(ctx, image);
}

static __always_inline void lane_queued(struct goroutines_state *state)
{
	state->turn.reason = GOROUTINES_NO_REASON;
	state->is_before = 0;
	state->turn.readier_thread = 0;
	state->has_readier_stack = 0;
	lane_yield(&state->turn, bpf_ktime_get_ns());
}

/* It goes into a queue of those that are ready, and did not wait: it is new, or gives way. */
static __always_inline void lane_queue(const struct probe_regs *ctx, struct lane_key *key,
				       struct goroutines_state *state, __u32 number,
				       enum filter_answer answer)
{
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);
	__u8 reason = 0;

	if (!image)
		return;
	if (state) {
		lane_queued(state);
		return;
	}
	/* one that has waited once has a reason ever since */
	bpf_probe_read_user(&reason, sizeof(reason), (void *)(key->at + image->reason));
	state = reason ? NULL : new_state(key);
	if (!state)
		return;
	state->image = number;
	state->turn.undecided = answer == FILTER_ASK;
	lane_queued(state);
	state->turn.flags = LANE_BEGINS;
	state->turn.readier = lane_current(ctx, image);
}

static __always_inline void lane_handle_yield(struct lane_key *key, struct goroutines_state *state,
					      __u32 number, enum filter_answer answer)
{
	if (!state) {
		state = new_state(key);
		lane_ran_before(state, number);
		if (!state)
			return;
		state->image = number;
		state->turn.undecided = answer == FILTER_ASK;
	}
	if (!state->turn.out)
		lane_queued(state);
}

/* It has ended: returns its state, for its last turn. */
static __always_inline struct goroutines_state *lane_exit(struct lane_key *key,
							  struct goroutines_state *state,
							  __u32 number, enum filter_answer answer)
{
	struct goroutines_report *told;

	if (!state) {
		state = new_state(key);
		lane_ran_before(state, number);
		if (!state)
			return NULL;
		state->image = number;
		state->turn.undecided = answer == FILTER_ASK;
	}
	told = &state->told;
	state->turn.readier_thread = 0;
	state->has_readier_stack = 0;
	told->lane = LANE_TURN | LANE_ENDS | state->turn.flags;
	told->reports = 0;
	told->short_waited = state->short_waited;
	told->short_ready = state->short_ready;
	told->short_waits = state->short_waits;
	told->short_readies = state->short_readies;
	told->time = told->in = told->out = told->woken = bpf_ktime_get_ns();
	return state;
}

struct lane_list {
	__u64 g;
	__u32 goid_at;
};

/* One of a list of goroutines that are made ready at once. */
static long lane_inject_step(__u32 i, void *context)
{
	struct lane_list *list = context;
	struct lane_key key = lane_key_of(list->g);
	struct goroutines_state *state;

	(void)i;
	if (!list->g)
		return 1;
	state = bpf_map_lookup_elem(&goroutines_states, &key);
	if (state && state->turn.out && !state->turn.woken)
		state->turn.woken = bpf_ktime_get_ns();
	return bpf_probe_read_user(&list->g, sizeof(list->g),
				   (void *)(list->g + list->goid_at + LANE_NEXT_AT)) != 0;
}

/* What the network poller has found, by the address of the list's head. */
static __always_inline void lane_inject(__u64 head, __u32 number)
{
	const struct goroutines_image *image = bpf_map_lookup_elem(&goroutines_images, &number);
	struct lane_list list = {};

	if (!image || bpf_probe_read_user(&list.g, sizeof(list.g), (void *)head))
		return;
	list.goid_at = image->goid;
	bpf_loop(LANE_INJECT_MAX, lane_inject_step, &list, 0);
}

#endif
