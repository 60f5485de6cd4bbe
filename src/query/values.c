// SPDX-License-Identifier: Apache-2.0
#include "query/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "film/events.h"
#include "query/filter.h"

/* Of calls that ended in the same nanosecond; a film that claims more is damaged. */
#define ROWS_MAX (1u << 20)

struct walk {
	struct film *film;
	struct filter_kept kept;
	vec(struct film_value) rows; /* of calls that have ended at the same time */
	struct valued_call call;
	struct buf text; /* of its values */
	int (*emit)(void *context, const struct valued_call *call);
	void *context;
	uint64_t broken;
};

uint32_t values_event(const struct film *film, const char *name)
{
	uint32_t event = film_find_event(film, name ? name : event_type(EVENT_CALLS)->name);

	return event && film_has_values(film, event) ? event : 0;
}

/* -- the rows of one call to trees ------------------------------------------------------------- */

static const char *mark_name(const struct film *film, uint32_t frame)
{
	return frame ? film->functions[film->frames[frame].function].name : NULL;
}

/* Bytes that the rows from there on have of a text. False: there are fewer than they say. */
static bool read_text(struct walk *w, const struct film_value *row, const struct film_value *end)
{
	size_t left = row->size;

	for (const struct film_value *at = row; left; at++) {
		size_t part = left < FILM_VALUE_TEXT ? left : FILM_VALUE_TEXT;

		if (at == end || (at != row && at->part != FILM_VALUE_MORE))
			return false;
		buf_put(&w->text, at->text, part);
		left -= part;
	}
	return true;
}

static bool read_node(struct walk *w, const struct film_value *row, const struct film_value *end,
		      struct shown_tree *tree)
{
	struct shown node = {
		.kind = row->kind <= SHOWN_PAIRS ? (enum shown_kind)row->kind : SHOWN_NOTHING,
		.status = row->status < SHOWN_STATUSES ? (enum shown_status)row->status
						       : SHOWN_NOT_KNOWN,
		.name = mark_name(w->film, row->name),
		.type = mark_name(w->film, row->type),
		.number = row->number,
		.length = row->length,
		.children = row->children,
		.size = row->size,
	};

	if (row->kind > SHOWN_PAIRS)
		node.status = SHOWN_NOT_KNOWN;
	if (node.kind == SHOWN_REAL)
		memcpy(&node.real, &row->number, sizeof(node.real));
	return read_text(w, row, end) && vec_push(&tree->nodes, node);
}

/* Has each node as many children as it says, and no more above each other than can be shown? */
static bool is_tree(const struct shown_tree *tree)
{
	uint32_t left[VALUES_DEPTH_MAX];
	unsigned int depth = 0;

	vec_foreach (&tree->nodes, node) {
		while (depth && !left[depth - 1])
			depth--;
		if (depth)
			left[depth - 1]--;
		if (!node->children)
			continue;
		if (depth == VALUES_DEPTH_MAX || node->kind < SHOWN_OBJECT)
			return false;
		left[depth++] = node->children;
	}
	while (depth && !left[depth - 1])
		depth--;
	return !depth;
}

/* Texts have come to rest. */
static void place_texts(struct shown_tree *tree, const struct buf *text, size_t *at)
{
	vec_foreach (&tree->nodes, node) {
		node->text = node->size ? (const char *)text->at + *at : "";
		*at += node->size;
	}
}

/* False: the rows are not those of a call. Without memory, w->text or a tree has failed. */
static bool make_trees(struct walk *w, const struct film_value *row, const struct film_value *end)
{
	struct valued_call *call = &w->call;
	size_t at = 0;

	call->arguments.nodes.count = call->results.nodes.count = w->text.count = 0;
	for (uint32_t place = 0; row < end; row++, place++) {
		bool is_result = row->part == FILM_VALUE_RESULT;

		if (row->place != place)
			return false;
		if (row->part == FILM_VALUE_MORE || row->part == FILM_VALUE_NONE)
			continue;
		if (row->part > FILM_VALUE_MORE ||
		    !read_node(w, row, end, is_result ? &call->results : &call->arguments))
			return false;
	}
	place_texts(&call->arguments, &w->text, &at);
	place_texts(&call->results, &w->text, &at);
	return is_tree(&call->arguments) && is_tree(&call->results);
}

/* -- rows to calls ----------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Of the same time: by call. */
static int compare_calls(const struct film_value *a, const struct film_value *b)
{
	int order = compare_u64(a->thread, b->thread);

	if (!order)
		order = compare_u64(a->goroutine, b->goroutine);
	if (!order)
		order = compare_u64(a->duration, b->duration);
	return order ? order : compare_u64(a->frame, b->frame);
}

static int compare_rows(const void *a, const void *b)
{
	const struct film_value *x = a, *y = b;
	int order = compare_calls(x, y);

	return order ? order : compare_u64(x->place, y->place);
}

static int emit_call(struct walk *w, const struct film_value *row, const struct film_value *end)
{
	bool done;

	if (!w->kept.threads[row->thread] || (w->kept.focus && !w->kept.focus[row->frame]) ||
	    (w->kept.ignored && w->kept.ignored[row->frame]))
		return 0;
	w->call.end = row->end;
	w->call.duration = row->duration;
	w->call.goroutine = row->goroutine;
	w->call.thread = row->thread;
	w->call.frame = row->frame;
	w->call.flags = row->flags;
	done = make_trees(w, row, end);
	if (w->text.failed)
		return -ENOMEM;
	if (done)
		return w->emit(w->context, &w->call);
	w->broken++;
	return 0;
}

static int emit_calls(struct walk *w)
{
	const struct film_value *row = w->rows.at, *end = row + w->rows.count, *next;
	int err = 0;

	if (!w->rows.count)
		return 0;
	qsort(w->rows.at, w->rows.count, sizeof(*w->rows.at), compare_rows);
	for (; row < end && !err; row = next) {
		for (next = row + 1; next < end && !compare_calls(row, next);)
			next++;
		err = emit_call(w, row, next);
	}
	w->rows.count = 0;
	return err;
}

static struct film_value row_at(const struct film_values *rows, size_t i)
{
	struct film_value row = {
		.end = rows->end[i],
		.duration = rows->duration[i],
		.goroutine = rows->goroutine[i],
		.number = rows->number[i],
		.length = rows->length[i],
		.thread = rows->thread[i],
		.frame = rows->frame[i],
		.name = rows->name[i],
		.type = rows->type[i],
		.place = rows->place[i],
		.children = rows->children[i],
		.size = rows->size[i],
		.part = (uint8_t)rows->part[i],
		.kind = (uint8_t)rows->kind[i],
		.status = (uint8_t)rows->status[i],
		.flags = (uint8_t)rows->flags[i],
	};

	for (size_t word = 0; word < FILM_VALUE_TEXT / 8; word++)
		memcpy(row.text + 8 * word, &rows->text[word][i], 8);
	return row;
}

static int handle_rows(void *context, const struct film_values *rows)
{
	struct walk *w = context;
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++) {
		if (w->rows.count &&
		    (w->rows.at[0].end != rows->end[i] || w->rows.count == ROWS_MAX))
			err = emit_calls(w);
		if (!err && !vec_push(&w->rows, row_at(rows, i)))
			err = -ENOMEM;
	}
	/*
	 * a block has all rows of a call; those of others of the same time may be in the next one
	 */
	return err ? err : emit_calls(w);
}

int values_each(struct film *film, const struct question *q,
		int (*emit)(void *context, const struct valued_call *call), void *context,
		uint64_t *broken, struct fail *why)
{
	struct walk w = {.film = film, .emit = emit, .context = context};
	uint32_t event = values_event(film, q->event);
	uint64_t from, to;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	*broken = 0;
	if (err || !event)
		return err;
	err = filter_apply(&q->filter, film, &w.kept, why);
	if (!err)
		err = film_each_values(film, event, from, to, handle_rows, &w, why);
	*broken = w.broken;
	filter_kept_free(&w.kept);
	vec_free(&w.rows);
	vec_free(&w.call.arguments.nodes);
	vec_free(&w.call.results.nodes);
	buf_free(&w.text);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the values of the film")
			      : err;
}
