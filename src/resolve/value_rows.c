// SPDX-License-Identifier: Apache-2.0
#include "resolve/value_rows.h"

#include <string.h>

struct rows {
	struct film_writer *film;
	struct film_value call;
	vec(struct film_value) all;
};

static uint32_t mark_of(struct rows *rows, const char *words)
{
	return words && *words ? film_mark(rows->film, words) : 0;
}

static bool put_text(struct rows *rows, const char *text, size_t size)
{
	struct film_value *row = vec_last(&rows->all);
	size_t part = size < FILM_VALUE_TEXT ? size : FILM_VALUE_TEXT;

	row->size = (uint32_t)size;
	memcpy(row->text, text, part);
	for (size_t at = part; at < size; at += part) {
		struct film_value more = rows->call;

		part = size - at < FILM_VALUE_TEXT ? size - at : FILM_VALUE_TEXT;
		more.part = FILM_VALUE_MORE;
		more.place = (uint32_t)rows->all.count;
		memcpy(more.text, text + at, part);
		if (!vec_push(&rows->all, more))
			return false;
	}
	return true;
}

static bool put_node(struct rows *rows, const struct shown *node, enum film_value_part part)
{
	struct film_value row = rows->call;

	row.part = (uint8_t)part;
	row.place = (uint32_t)rows->all.count;
	row.kind = (uint8_t)node->kind;
	row.status = (uint8_t)node->status;
	row.number = node->number;
	if (node->kind == SHOWN_REAL)
		memcpy(&row.number, &node->real, sizeof(row.number));
	row.length = node->length;
	row.children = node->children;
	row.name = mark_of(rows, node->name);
	row.type = mark_of(rows, node->type);
	if (!vec_push(&rows->all, row))
		return false;
	return (node->kind != SHOWN_TEXT && node->kind != SHOWN_NAME) || !node->size ||
	       put_text(rows, node->text, node->size);
}

static bool put_tree(struct rows *rows, const struct shown_tree *tree, enum film_value_part part)
{
	if (tree->failed)
		return false;
	vec_foreach (&tree->nodes, node)
		if (!put_node(rows, node, part))
			return false;
	return true;
}

bool value_rows_put(struct film_writer *film, uint32_t event, const struct film_value *call,
		    const struct shown_tree *arguments, const struct shown_tree *results)
{
	struct rows rows = {.film = film, .call = *call};
	bool done = put_tree(&rows, arguments, FILM_VALUE_ARGUMENT) &&
		    (!results || put_tree(&rows, results, FILM_VALUE_RESULT));

	if (done && !rows.all.count)
		done = vec_push(&rows.all, rows.call);
	if (done)
		film_values(film, event, rows.all.at, rows.all.count);
	vec_free(&rows.all);
	return done;
}
