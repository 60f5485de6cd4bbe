// SPDX-License-Identifier: Apache-2.0
/* Processes and their threads: the films know them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "query/view.h"
#include "store/ask_private.h"
#include "store/index_series.h"

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot list the processes");
}

/* Processes of all films; a process that goes on in the next film is one row. */
struct process_lister {
	const struct asked *asked;
	vec(struct process_row {
		struct store_process row;
		uint64_t key;	/* hash of host, pid, tid and start of the process */
		size_t process; /* of a thread: the row of its process */
	}) all;
	struct map of;	 /* by key */
	uint64_t others; /* of total: processes that were dropped on the way */
	struct store_sum *sum;
	struct store_answer_private *private;
	struct fail *why;
};

static size_t row_of(struct process_lister *l, const struct ask_film *of,
		     const struct film_process *process, const struct film_thread *thread)
{
	uint64_t start = process->start + (uint64_t)of->film->info.wall_offset;
	uint32_t tid = thread ? thread->tid : 0;
	/* the offset moves a little with the wall clock */
	uint64_t key = hash_u64(((uint64_t)process->pid << 32 | tid) ^
				hash_u64(start / (10 * NS_MINUTE / 600)) ^
				hash_bytes(of->host, strlen(of->host)));
	uint64_t *known = map_get(&l->of, key);
	struct process_row row = {.row = {.pid = process->pid, .tid = tid}, .key = key};
	char service[INDEX_SERVICE_SIZE];

	if (known)
		return *known;
	index_service_of(l->asked->index, process, service);
	row.row.host = name_pool_add(&l->private->names, of->host);
	row.row.service = name_pool_add(&l->private->names, service);
	row.row.comm = name_pool_add(&l->private->names, thread ? thread->comm : process->comm);
	row.row.command = name_pool_add(&l->private->names, thread ? "" : process->command);
	if (!row.row.host || !row.row.service || !row.row.comm || !row.row.command ||
	    !vec_push(&l->all, row) || !map_put(&l->of, key, l->all.count - 1))
		return SIZE_MAX;
	return l->all.count - 1;
}

static int add_processes(struct process_lister *l, const struct ask_film *of,
			 const struct view *view)
{
	for (size_t i = 0; i < view->weights.count;) {
		uint32_t id = view->weights.at[i].group;
		const struct film_thread *thread = &of->film->threads[id];
		const struct film_process *process = &of->film->processes[thread->process];
		size_t whole = row_of(l, of, process, NULL), own;

		own = whole == SIZE_MAX ? whole : row_of(l, of, process, thread);
		if (own == SIZE_MAX)
			return no_memory(l->why);
		l->all.at[own].process = whole;
		for (; i < view->weights.count && view->weights.at[i].group == id; i++) {
			const struct weight *w = &view->weights.at[i];

			l->all.at[own].row.samples += w->samples;
			l->all.at[own].row.total += w->value;
			l->all.at[whole].row.samples += own == whole ? 0 : w->samples;
			l->all.at[whole].row.total += own == whole ? 0 : w->value;
		}
	}
	return 0;
}

static int processes_first(const void *x, const void *y, void *context)
{
	const struct process_row *rows = context;
	size_t i = *(const size_t *)x, k = *(const size_t *)y;
	const struct process_row *a = &rows[i], *b = &rows[k];
	size_t of_a = a->row.tid ? a->process : i, of_b = b->row.tid ? b->process : k;
	const struct process_row *p = &rows[of_a], *q = &rows[of_b];

	if (p->row.total != q->row.total)
		return p->row.total > q->row.total ? -1 : 1;
	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	if (!a->row.tid != !b->row.tid)
		return !a->row.tid ? -1 : 1;
	if (a->row.total != b->row.total)
		return a->row.total > b->row.total ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* All rows in order, each process before its threads; to be freed. Null: no memory. */
static size_t *in_order(const struct process_lister *l)
{
	size_t *order = calloc(l->all.count + 1, sizeof(*order));

	for (size_t i = 0; order && i < l->all.count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, l->all.count, sizeof(*order), processes_first, l->all.at);
	return order;
}

/* Into another list, with strings of its own; the process of a thread is the last one that came. */
static bool move_row(struct process_lister *to, const struct process_row *from, size_t *process)
{
	struct process_row row = *from;
	struct name_pool *names = &to->private->names;

	row.row.host = name_pool_add(names, from->row.host);
	row.row.service = name_pool_add(names, from->row.service);
	row.row.comm = name_pool_add(names, from->row.comm);
	row.row.command = name_pool_add(names, from->row.command);
	if (!row.row.tid)
		*process = to->all.count;
	row.process = *process;
	return row.row.host && row.row.service && row.row.comm && row.row.command &&
	       vec_push(&to->all, row) && map_put(&to->of, row.key, to->all.count - 1);
}

static void drop_rows(struct process_lister *l)
{
	vec_free(&l->all);
	map_free(&l->of);
}

/*
 * A machine that compiles has ten thousands of processes in each film: only the larger ones go on
 * to the next film. What the others had is in the sum of those that are not listed; one that comes
 * back begins anew.
 */
static int prune(struct process_lister *l)
{
	struct store_answer_private fresh = {0};
	struct process_lister kept = {.private = &fresh};
	struct name_pool old = l->private->names;
	size_t *order = in_order(l), process = 0, i;
	bool ok = order;

	for (i = 0; ok && i < l->all.count && i < ASK_PROCESSES_MAX / 2; i++)
		ok = move_row(&kept, &l->all.at[order[i]], &process);
	for (; ok && i < l->all.count; i++)
		if (!l->all.at[order[i]].row.tid)
			l->others = add_saturated(l->others, l->all.at[order[i]].row.total);
	free(order);
	if (!ok) {
		drop_rows(&kept);
		name_pool_free(&fresh.names);
		return no_memory(l->why);
	}
	drop_rows(l);
	name_pool_free(&old);
	l->all.at = kept.all.at;
	l->all.count = kept.all.count;
	l->all.room = kept.all.room;
	l->of = kept.of;
	l->private->names = fresh.names;
	return 0;
}

static int add_film(void *context, const struct ask_film *of)
{
	struct process_lister *l = context;
	struct view view = {0};
	int err = view_open(of->film, of->question, VIEW_THREAD, &view, l->why);

	if (!err)
		err = sum_add(l->sum, view.samples, view.total, l->why);
	if (!err) {
		l->sum->truncated += view.stacks.truncated;
		l->sum->guessed += view.stacks.guessed;
		err = add_processes(l, of, &view);
		if (!err && l->all.count > ASK_PROCESSES_MAX)
			err = prune(l);
	}
	view_free(&view);
	return err;
}

/* In order; at most limit processes, with their threads. */
static int emit_processes(struct process_lister *l, size_t limit, struct store_processes *list)
{
	size_t *order = in_order(l), processes = 0;

	list->at = calloc(l->all.count + 1, sizeof(*list->at));
	if (!order || !list->at) {
		free(order);
		return no_memory(l->why);
	}
	list->others = l->others;
	for (size_t i = 0; i < l->all.count; i++) {
		const struct store_process *row = &l->all.at[order[i]].row;

		processes += !row->tid;
		if (processes <= limit)
			list->at[list->count++] = *row;
		else if (!row->tid)
			list->others += row->total;
	}
	free(order);
	return 0;
}

int store_processes(struct store *store, const struct store_ask *ask, size_t limit,
		    struct store_processes *list, struct fail *why)
{
	struct asked asked = {0};
	struct process_lister l = {.asked = &asked, .sum = &list->sum, .why = why};
	int err;

	*list = (struct store_processes){.private = answer_private_new(why)};
	if (!list->private)
		return -ENOMEM;
	l.private = list->private;
	err = asked_begin(&asked, store, ask, why);
	asked.is_spread = true;
	if (!err)
		err = ask_films(&asked, film_open, &list->sum, add_film, &l, why);
	if (!err)
		err = emit_processes(&l, limit, list);
	drop_rows(&l);
	asked_free(&asked);
	return err;
}

void store_processes_free(struct store_processes *list)
{
	free(list->at);
	answer_private_free(list->private);
	*list = (struct store_processes){0};
}
