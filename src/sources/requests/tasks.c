// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/tasks.h"

#include <stdlib.h>

#include "base/owned.h"
#include "base/vec.h"
#include "sources/requests/track_private.h"

/* The most tasks, processes, and requests that are kept, at the same time. */
#define TASKS_MAX     65536
#define PROCESSES_MAX 65536
#define MADE_MAX      65536

/* Tasks that are remembered although they have made nothing. */
#define TASKS_IDLE 4096

/*
 * A process is believed if nine in ten of its answers do not contradict, once it had 20; and what
 * was long ago counts less.
 */
#define TRIED_LEAST	     20
#define TRIED_MOST	     1000
#define IS_TOLD(told, tried) ((told)*10 >= (tried)*9)

struct made {
	uint64_t number, begun;
	uint64_t parent;
	uint32_t pid;
	bool is_decided, is_over;
	struct made *next; /* of its task, while it is not decided */
	void *kept;	   /* of one that is over; null: it is kept nowhere */
};

struct task {
	struct made *made;		   /* since its last answer, the last one first */
	struct requests_tasks_answer last; /* the last part of an answer */
};

/* Of how many answers a process had, and how many did not contradict. */
struct trust {
	uint32_t tried, told;
};

/* One that is to be given once its process had enough of them. */
struct due {
	uint32_t pid;
	uint64_t parent;
	void *kept;
};

struct requests_tasks {
	requests_tasks_release *release;
	void *context;
	struct map tasks;     /* struct task */
	struct map processes; /* struct trust */
	struct map made;      /* struct made, by number */
	vec(struct due) due;
};

struct requests_tasks *requests_tasks_new(requests_tasks_release *release, void *context)
{
	struct requests_tasks *tasks = calloc(1, sizeof(*tasks));

	if (tasks) {
		tasks->release = release;
		tasks->context = context;
	}
	return tasks;
}

void requests_tasks_free(struct requests_tasks *tasks)
{
	if (!tasks)
		return;
	requests_tasks_flush(tasks);
	owned_free(&tasks->tasks);
	owned_free(&tasks->processes);
	owned_free(&tasks->made);
	vec_free(&tasks->due);
	free(tasks);
}

/* -- what is believed -------------------------------------------------------------------------- */

static const struct trust *trust_of(const struct requests_tasks *tasks, uint32_t pid)
{
	static const struct trust none;
	const struct trust *trust = owned_get(&tasks->processes, pid);

	return trust ? trust : &none;
}

/* Releases what is due of a process, or of all. */
static void release_due(struct requests_tasks *tasks, uint32_t pid, bool of_all)
{
	size_t rest = 0;

	for (size_t i = 0; i < tasks->due.count; i++) {
		const struct due due = tasks->due.at[i];
		const struct trust *trust = trust_of(tasks, due.pid);

		if (of_all || due.pid == pid)
			tasks->release(tasks->context, due.kept,
				       IS_TOLD(trust->told, trust->tried) ? due.parent : 0);
		else
			tasks->due.at[rest++] = due;
	}
	tasks->due.count = rest;
}

static void count(struct requests_tasks *tasks, uint32_t pid, bool is_told)
{
	struct trust *trust;

	/* processes that have ended are among them */
	if (tasks->processes.count >= PROCESSES_MAX)
		owned_free(&tasks->processes);
	trust = owned_make(&tasks->processes, pid, sizeof(*trust), PROCESSES_MAX);
	if (!trust)
		return;
	if (trust->tried >= TRIED_MOST) {
		trust->tried /= 2;
		trust->told /= 2;
	}
	trust->tried++;
	trust->told += is_told;
	if (trust->tried == TRIED_LEAST)
		release_due(tasks, pid, false);
}

/* Releases one that is decided, and over. */
static void release_one(struct requests_tasks *tasks, struct made *made)
{
	const struct trust *trust = trust_of(tasks, made->pid);
	const struct due due = {made->pid, made->parent, made->kept};

	owned_remove(&tasks->made, made->number);
	if (!due.kept || (due.parent && trust->tried < TRIED_LEAST && vec_push(&tasks->due, due)))
		return;
	tasks->release(tasks->context, due.kept,
		       IS_TOLD(trust->told, trust->tried) ? due.parent : 0);
}

/* -- tasks ------------------------------------------------------------------------------------- */

static void decide(struct requests_tasks *tasks, struct made *made, uint64_t parent)
{
	made->is_decided = true;
	made->parent = parent;
	if (made->is_over)
		release_one(tasks, made);
}

bool requests_tasks_made(struct requests_tasks *tasks, uint64_t task, uint32_t pid, uint64_t number,
			 uint64_t time)
{
	struct task *of = owned_make(&tasks->tasks, task, sizeof(*of), TASKS_MAX);
	struct made *made = NULL;

	if (of)
		made = owned_make(&tasks->made, number, sizeof(*made), MADE_MAX);
	if (!made)
		return false;
	*made = (struct made){.number = number, .begun = time, .pid = pid, .next = of->made};
	of->made = made;
	return true;
}

bool requests_tasks_over(struct requests_tasks *tasks, uint64_t number, void *kept)
{
	struct made *made = owned_get(&tasks->made, number);

	if (!made)
		return false;
	made->is_over = true;
	made->kept = kept;
	if (made->is_decided)
		release_one(tasks, made);
	return kept;
}

/* Whether the task has answered another one meanwhile: then it works for several at once. */
static bool contradicts(const struct requests_tasks_answer *last,
			const struct requests_tasks_answer *answer)
{
	return last->served && last->connection != answer->connection && answer->begun < last->time;
}

void requests_tasks_answered(struct requests_tasks *tasks, uint64_t task,
			     const struct requests_tasks_answer *answer)
{
	struct task *of = owned_make(&tasks->tasks, task, sizeof(*of), TASKS_MAX);
	bool is_alone;

	if (!of)
		return;
	is_alone = !contradicts(&of->last, answer);
	if (of->last.served != answer->served)
		count(tasks, answer->pid, is_alone);
	of->last = *answer;
	for (struct made *made = of->made, *next; made; made = next) {
		next = made->next;
		decide(tasks, made, is_alone && made->begun >= answer->begun ? answer->served : 0);
	}
	of->made = NULL;
}

/* -- ends -------------------------------------------------------------------------------------- */

/* Those from before a time belong to nothing that is still served. */
static void release_older(struct requests_tasks *tasks, struct task *of, const struct map *oldest)
{
	struct made **link = &of->made, *made;

	while ((made = *link)) {
		const uint64_t *since = map_get(oldest, made->pid);

		if (since && *since <= made->begun) {
			link = &made->next;
			continue;
		}
		*link = made->next;
		decide(tasks, made, 0);
	}
}

static void forget_idle(struct requests_tasks *tasks)
{
	struct map kept = {0};
	uint64_t key, value;

	for (size_t i = 0; map_next(&tasks->tasks, &i, &key, &value);) {
		struct task *of = (struct task *)(uintptr_t)value;

		if (of->made && map_put(&kept, key, value))
			continue;
		/* without memory for it */
		for (struct made *made = of->made, *next; made; made = next) {
			next = made->next;
			decide(tasks, made, 0);
		}
		free(of);
	}
	map_free(&tasks->tasks);
	tasks->tasks = kept;
}

void requests_tasks_tick(struct requests_tasks *tasks, const struct map *oldest)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&tasks->tasks, &i, &key, &value);)
		release_older(tasks, (struct task *)(uintptr_t)value, oldest);
	if (tasks->tasks.count > TASKS_IDLE)
		forget_idle(tasks);
	release_due(tasks, 0, true);
}

void requests_tasks_flush(struct requests_tasks *tasks)
{
	const struct map none = {0};

	requests_tasks_tick(tasks, &none);
}

/* -- the row of the table of evidence ---------------------------------------------------------- */

static bool made_by_task(void *state, const struct requests_event *event)
{
	const struct requests_record *record = event->record;
	struct asked *asked = event->asked;

	if (asked->thread_serves && record->task && !(asked->row.flags & FILM_REQUEST_PARENT_BY_ID))
		requests_tasks_made(state, requests_served_task(&asked->identity, record->task),
				    asked->identity.pid, asked->row.number, asked->begun);
	return false;
}

static bool keep(void *state, const struct asked *asked, struct asked *kept)
{
	return requests_tasks_over(state, asked->row.number, asked->row.parent ? NULL : kept);
}

static void release_with_parent(void *context, void *kept, uint64_t parent)
{
	requests_evidence_settle(context, &requests_by_task, kept, parent);
}

/* A part of an answer is sent. */
static void see_answer(const struct requests_track *track, struct requests_tasks *tasks,
		       struct connection *connection, const struct requests_record *record)
{
	struct requests_tasks_answer answer = {
		.pid = record->identity.pid,
		.served = requests_track_only_one(connection),
		.connection = connection->number,
		.time = record->head.time,
	};
	struct asked *asked = answer.served ? connection->queue.at : NULL;

	if (!asked || requests_served_has_lanes(track, &record->identity))
		return;
	answer.begun = asked->begun;
	if (!asked->row.goroutine)
		asked->row.goroutine = record->works_for;
	if (record->task)
		requests_tasks_answered(
			tasks, requests_served_task(&record->identity, record->task), &answer);
}

/* Since when each process serves the oldest of those that are not over. */
static void find_oldest(const struct requests_track *track, struct map *oldest)
{
	vec_foreach (&track->all, connection)
		vec_foreach (&connection->queue, asked) {
			uint64_t *known = map_get(oldest, asked->identity.pid);

			if (asked->row.role != FILM_REQUEST_SERVED)
				continue;
			if (!known)
				(void)!map_put(oldest, asked->identity.pid, asked->begun);
			else if (asked->begun < *known)
				*known = asked->begun;
		}
}

static void see(void *state, const struct requests_event *event)
{
	struct map oldest = {0};

	switch (event->fact) {
	case REQUESTS_FACT_MOVES:
		if (event->record->flags & REQUESTS_SENT &&
		    event->connection->role == FILM_REQUEST_SERVED)
			see_answer(event->track, state, event->connection, event->record);
		break;
	case REQUESTS_FACT_TICK:
		find_oldest(event->track, &oldest);
		requests_tasks_tick(state, &oldest);
		map_free(&oldest);
		break;
	case REQUESTS_FACT_ENDS:
		requests_tasks_flush(state);
		break;
	default:
		break;
	}
}

REQUESTS_EVIDENCE_STATE(requests_tasks, release_with_parent)

const struct requests_evidence requests_by_task = {
	.flags = FILM_REQUEST_PARENT_BY_TASK,
	.create = create,
	.free = free_state,
	.made = made_by_task,
	.keep = keep,
	.see = see,
};
