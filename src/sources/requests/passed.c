// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/passed.h"

#include <stdlib.h>

#include "base/owned.h"
#include "sources/requests/open.h"
#include "sources/requests/track_private.h"

/* The most requests and processes that are known at the same time. */
#define REQUESTS_MAX	     65536
#define PROCESSES_MAX	     65536

#define TRIED_LEAST	     20
#define TRIED_MOST	     1000
#define IS_TOLD(told, tried) ((told)*20 >= (tried)*19)

/* A process that has served that many, and made none, is most likely no proxy. */
#define ALONE_MOST 1000

/* Ticks for which a request is known once it is over: of one that was made, and of one served. */
#define MADE_TICKS  2
#define ASKED_TICKS 4

/* One that is served. */
struct incoming {
	uint64_t key, begun, answered;
	uint32_t status;
	bool is_taken;	/* one that was made is for it, as far as is known, */
	uint64_t maker; /* namely that; 0: not known */
	bool is_over;
	unsigned int ticks; /* since it is over */
};

/* One that was made. */
struct made {
	uint64_t key, begun, answered;
	pid_t pid;
	uint32_t status;
	uint64_t only;	/* the only one that it could be for; 0 */
	uint64_t back;	/* to which its answer was passed on; 0: not known */
	uint64_t round; /* of struct ready; 0: its answer is not there yet, or was passed on */
	bool is_mixed;	/* it may be another one's as well */
	bool is_settled;
	uint64_t parent; /* if it is */
	bool is_over;
	void *kept; /* null: it is kept nowhere */
	unsigned int ticks;
};

/* How many of its requests say what one says that it serves. */
struct process {
	uint32_t tried, told;
	uint32_t alone; /* served before it made any */
};

/* Answers to what says the same that were received, and were not passed on. */
struct ready {
	uint64_t count, sum; /* of their numbers, each bit by itself: with one, it is it */
	uint64_t debt;	     /* as many of them were passed on, and which ones is not known */
	uint64_t round;	     /* goes on when all were */
	uint64_t last;	     /* that was passed on; 0: not known */
	bool is_old;
};

struct requests_passed {
	requests_passed_release *release;
	void *context;
	struct map asked, made; /* by number */
	struct map processes;
	struct map ready;		/* by key */
	struct requests_open all, free; /* that are served, by key; and those not taken yet */
};

struct requests_passed *requests_passed_new(requests_passed_release *release, void *context)
{
	struct requests_passed *passed = calloc(1, sizeof(*passed));

	if (passed) {
		passed->release = release;
		passed->context = context;
	}
	return passed;
}

void requests_passed_free(struct requests_passed *passed)
{
	if (!passed)
		return;
	requests_passed_flush(passed);
	owned_free(&passed->asked);
	owned_free(&passed->made);
	owned_free(&passed->processes);
	owned_free(&passed->ready);
	requests_open_free(&passed->all);
	requests_open_free(&passed->free);
	free(passed);
}

static struct process *process_of(struct requests_passed *passed, pid_t pid)
{
	return owned_make(&passed->processes, (uint64_t)pid, sizeof(struct process), PROCESSES_MAX);
}

static uint64_t key_of(pid_t pid, uint64_t says)
{
	return hash_u64(says ^ (uint64_t)pid) | 1;
}

/* -- what is served ---------------------------------------------------------------------------- */

void requests_passed_asked(struct requests_passed *passed, pid_t pid, uint64_t says,
			   uint64_t number, uint64_t time)
{
	struct process *process = says ? process_of(passed, pid) : NULL;
	struct incoming *asked;

	if (!process || (!process->tried && process->alone >= ALONE_MOST))
		return;
	process->alone += !process->tried;
	asked = owned_make(&passed->asked, number, sizeof(*asked), REQUESTS_MAX);
	if (!asked)
		return;
	*asked = (struct incoming){.key = key_of(pid, says), .begun = time};
	requests_open_change(&passed->all, asked->key, number, 1);
	requests_open_change(&passed->free, asked->key, number, 1);
}

/* One that is made is for it; maker: which one, 0: not known. */
static void be_taken(struct requests_passed *passed, struct incoming *asked, uint64_t number,
		     uint64_t maker)
{
	if (!asked->is_taken)
		requests_open_change(&passed->free, asked->key, number, -1);
	asked->is_taken = true;
	if (maker)
		asked->maker = maker;
}

void requests_passed_served(struct requests_passed *passed, uint64_t number, uint64_t time)
{
	struct incoming *asked = owned_get(&passed->asked, number);

	if (!asked || asked->is_over)
		return;
	if (!asked->answered)
		asked->answered = time;
	be_taken(passed, asked, number, 0);
	requests_open_change(&passed->all, asked->key, number, -1);
	asked->is_over = true;
}

/* -- what is made ------------------------------------------------------------------------------ */

static void count(struct requests_passed *passed, pid_t pid, bool is_told)
{
	struct process *process = process_of(passed, pid);

	if (!process)
		return;
	if (process->tried >= TRIED_MOST) {
		process->tried /= 2;
		process->told /= 2;
	}
	process->tried++;
	process->told += is_told;
}

static bool is_believed(const struct requests_passed *passed, pid_t pid)
{
	const struct process *process = owned_get(&passed->processes, (uint64_t)pid);

	return process && process->tried >= TRIED_LEAST && IS_TOLD(process->told, process->tried);
}

/* The only one that a request with that key can be for: none was made for it yet, or it is one. */
static uint64_t only_one(const struct requests_passed *passed, uint64_t key)
{
	uint64_t number, free = requests_open_find(&passed->free, key, &number);

	if (!free)
		requests_open_find(&passed->all, key, &number);
	return number;
}

bool requests_passed_made(struct requests_passed *passed, pid_t pid, uint64_t says, uint64_t number,
			  uint64_t known, uint64_t time)
{
	uint64_t key = key_of(pid, says), any;
	struct made *made = NULL;
	struct incoming *asked;
	bool is_told;

	if (!says)
		return false;
	is_told = requests_open_find(&passed->all, key, &any);
	count(passed, pid, is_told);
	if (is_told)
		made = owned_make(&passed->made, number, sizeof(*made), REQUESTS_MAX);
	if (made)
		*made = (struct made){.key = key,
				      .begun = time,
				      .pid = pid,
				      .only = known ? known : only_one(passed, key)};
	asked = owned_get(&passed->asked, made ? made->only : known);
	if (asked)
		be_taken(passed, asked, made ? made->only : known, number);
	return made && !known;
}

/* -- the way back ------------------------------------------------------------------------------ */

static void be_ready(struct requests_passed *passed, struct made *made, uint64_t number)
{
	struct ready *ready = owned_make(&passed->ready, made->key, sizeof(*ready), REQUESTS_MAX);

	if (!ready)
		return;
	ready->round += !ready->round;
	ready->count++;
	ready->sum ^= number;
	ready->is_old = false;
	made->round = ready->round;
}

/* Its answer was passed on, or never will be. */
static void leave(struct ready *ready, struct made *made, uint64_t number)
{
	if (!ready || made->round != ready->round)
		return;
	made->round = 0;
	ready->count--;
	ready->sum ^= number;
}

static void end_round(struct ready *ready)
{
	if (ready->debt < ready->count)
		return;
	ready->round++;
	ready->count = ready->sum = ready->debt = 0;
}

/* The answer to the one of that number was passed on. */
static void pass_on(struct requests_passed *passed, struct ready *ready, uint64_t made_number,
		    struct incoming *asked, uint64_t number)
{
	struct made *made = owned_get(&passed->made, made_number);

	made->back = number;
	ready->last = made_number;
	leave(ready, made, made_number);
	be_taken(passed, asked, number, made_number);
}

/* The last answer that was passed on may be this one's: it has none, and is answered alike. */
static void doubt_last(struct requests_passed *passed, const struct ready *ready,
		       const struct incoming *asked, uint64_t number)
{
	struct made *last = owned_get(&passed->made, ready->last);

	if (last && last->back != number && last->begun >= asked->begun &&
	    last->status == asked->status)
		last->is_mixed = true;
}

static bool can_be_for(const struct made *made, const struct incoming *asked, uint64_t number)
{
	return made && (!made->only || made->only == number) && made->begun >= asked->begun &&
	       made->status == asked->status;
}

/* Finds whose answer is passed on as the first piece of the answer to a request is sent. */
static void find_back(struct requests_passed *passed, struct incoming *asked, uint64_t number)
{
	struct ready *ready = owned_get(&passed->ready, asked->key);
	const struct made *made = owned_get(&passed->made, asked->maker);

	if (!ready)
		return;
	if (made && made->round == ready->round)
		pass_on(passed, ready, asked->maker, asked, number);
	else if (!ready->count)
		doubt_last(passed, ready, asked, number);
	else if (ready->count > 1 || ready->debt)
		ready->debt++;
	else if (can_be_for(owned_get(&passed->made, ready->sum), asked, number))
		pass_on(passed, ready, ready->sum, asked, number);
	end_round(ready);
}

void requests_passed_answered(struct requests_passed *passed, uint64_t number, uint32_t status,
			      uint64_t time)
{
	struct incoming *asked = owned_get(&passed->asked, number);
	struct made *made = asked ? NULL : owned_get(&passed->made, number);

	if (asked && !asked->answered) {
		asked->answered = time;
		asked->status = status;
		find_back(passed, asked, number);
	}
	if (made && !made->answered) {
		made->answered = time;
		made->status = status;
		be_ready(passed, made, number);
	}
}

/* -- what it turns out to be for --------------------------------------------------------------- */

/* It must not have been answered before the other one was, if that was. */
static bool is_in_order(const struct made *made, const struct incoming *asked)
{
	return asked && (!asked->answered || asked->answered >= made->answered);
}

static uint64_t parent_of(const struct requests_passed *passed, const struct made *made)
{
	if (made->is_settled)
		return made->parent;
	if (!is_believed(passed, made->pid))
		return 0;
	/* they contradict each other */
	if (made->only && made->back && made->only != made->back)
		return 0;
	if (made->only)
		return is_in_order(made, owned_get(&passed->asked, made->only)) ? made->only : 0;
	return made->is_mixed ? 0 : made->back;
}

bool requests_passed_over(struct requests_passed *passed, uint64_t number, void *kept)
{
	struct made *made = owned_get(&passed->made, number);

	if (!made || made->is_over)
		return false;
	made->is_over = true;
	made->kept = kept;
	return kept;
}

/* What is to be done with one of a map; whether it is forgotten. */
typedef bool look_fn(struct requests_passed *passed, uint64_t key, void *at, bool of_all);

/* Whether it can go: a tick later its answer, which may come last, was passed on, too. */
static bool look_at_made(struct requests_passed *passed, uint64_t number, void *at, bool of_all)
{
	struct made *made = at;
	void *kept = made->kept;

	if (!of_all && (!made->is_over || ++made->ticks < MADE_TICKS))
		return false;
	made->kept = NULL;
	if (kept)
		passed->release(passed->context, kept, parent_of(passed, made));
	if (made->is_over)
		leave(owned_get(&passed->ready, made->key), made, number);
	return made->is_over;
}

/* Long over: what was made for it, and may be kept elsewhere still, is decided before it goes. */
static bool look_at_asked(struct requests_passed *passed, uint64_t number, void *at, bool of_all)
{
	struct incoming *asked = at;
	struct made *made;

	(void)number;
	if (of_all || !asked->is_over || ++asked->ticks < ASKED_TICKS)
		return false;
	made = owned_get(&passed->made, asked->maker);
	if (made) {
		made->parent = parent_of(passed, made);
		made->is_settled = true;
	}
	return true;
}

/* Where nothing was ready for a tick, nothing need be known. */
static bool look_at_ready(struct requests_passed *passed, uint64_t key, void *at, bool of_all)
{
	struct ready *ready = at;
	bool was_old = ready->is_old;

	(void)passed;
	(void)key;
	(void)of_all;
	ready->is_old = true;
	return was_old && !ready->count;
}

static void look_at_each(struct requests_passed *passed, struct map *map, look_fn *look,
			 bool of_all)
{
	struct map gone = {0};
	uint64_t key, value;

	/* without memory it stays known */
	for (size_t i = 0; map_next(map, &i, &key, &value);)
		if (look(passed, key, (void *)(uintptr_t)value, of_all))
			(void)!map_put(&gone, key, 1);
	for (size_t i = 0; map_next(&gone, &i, &key, &value);)
		owned_remove(map, key);
	map_free(&gone);
}

void requests_passed_tick(struct requests_passed *passed)
{
	look_at_each(passed, &passed->made, look_at_made, false);
	look_at_each(passed, &passed->asked, look_at_asked, false);
	look_at_each(passed, &passed->ready, look_at_ready, false);
}

void requests_passed_flush(struct requests_passed *passed)
{
	look_at_each(passed, &passed->made, look_at_made, true);
}

/* -- the row of the table of evidence ---------------------------------------------------------- */

static bool made_by_content(void *state, const struct requests_event *event)
{
	const struct asked *asked = event->asked;

	requests_passed_made(state, (pid_t)asked->identity.pid, asked->says, asked->row.number,
			     asked->row.parent, asked->begun);
	return false;
}

static bool keep(void *state, const struct asked *asked, struct asked *kept)
{
	return requests_passed_over(state, asked->row.number, asked->row.parent ? NULL : kept);
}

static void release_with_parent(void *context, void *kept, uint64_t parent)
{
	requests_evidence_settle(context, &requests_by_content, kept, parent);
}

static void see(void *state, const struct requests_event *event)
{
	const struct asked *asked = event->asked;

	switch (event->fact) {
	case REQUESTS_FACT_SERVES:
		requests_passed_asked(state, (pid_t)asked->identity.pid, asked->says,
				      asked->row.number, event->time);
		break;
	case REQUESTS_FACT_ANSWERS:
		requests_passed_answered(state, asked->row.number, asked->row.status, event->time);
		break;
	case REQUESTS_FACT_OVER:
		requests_passed_served(state, asked->row.number, event->time);
		break;
	case REQUESTS_FACT_TICK:
		requests_passed_tick(state);
		break;
	case REQUESTS_FACT_ENDS:
		requests_passed_flush(state);
		break;
	default:
		break;
	}
}

REQUESTS_EVIDENCE_STATE(requests_passed, release_with_parent)

const struct requests_evidence requests_by_content = {
	.flags = FILM_REQUEST_PARENT_BY_CONTENT,
	.create = create,
	.free = free_state,
	.made = made_by_content,
	.keep = keep,
	.see = see,
};
