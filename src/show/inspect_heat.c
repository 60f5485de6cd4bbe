// SPDX-License-Identifier: Apache-2.0
#include "show/inspect_heat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/latency.h"
#include "show/inspect_leaves.h"

enum {
	VALUES_MAX = 4096, /* that have rows; further ones share one */
	ROWS_MAX = 24,	   /* of text: with more numbers, a row is a power of two */
	NAME_WIDTH = 24,
	/* rows of numbers: below zero, zero, above, by powers of two */
	ZERO = 64,
	GROUPS = 129,
};

struct row {
	char *text;
	bool is_number;
	int64_t number;
	uint64_t calls, total;
	uint32_t cells[LATENCY_POWERS];
};

struct inspect_heat {
	const char *path;
	struct map numbers; /* from the hash of a value's text to its row */
	vec(struct row) rows;
	struct row others;
	bool are_numbers; /* all of them */
	uint64_t count;
};

struct inspect_heat *inspect_heat_new(const char *path)
{
	struct inspect_heat *heat = calloc(1, sizeof(*heat));

	if (heat) {
		heat->path = path;
		heat->are_numbers = true;
		heat->others.text = "further values";
	}
	return heat;
}

void inspect_heat_free(struct inspect_heat *heat)
{
	if (!heat)
		return;
	vec_foreach (&heat->rows, row)
		free(row->text);
	vec_free(&heat->rows);
	map_free(&heat->numbers);
	free(heat);
}

uint64_t inspect_heat_count(const struct inspect_heat *heat)
{
	return heat->count;
}

/* -- a call is added --------------------------------------------------------------------------- */

struct adding {
	struct inspect_heat *heat;
	const struct inspect_line *line;
};

static unsigned int power_of(uint64_t number)
{
	return number > 1 ? 63 - (unsigned int)__builtin_clzll(number) : 0;
}

static void add_to(struct row *row, uint64_t latency)
{
	uint32_t *cell = &row->cells[power_of(latency)];

	row->calls++;
	if (__builtin_add_overflow(row->total, latency, &row->total))
		row->total = UINT64_MAX;
	if (*cell < UINT32_MAX)
		++*cell;
}

/* Whether it is an integer, or a length. */
static bool number_of(const struct inspect_leaf *leaf, int64_t *number)
{
	const struct shown *node = &leaf->tree->nodes.at[leaf->at];
	uint64_t value = leaf->has_length ? node->length : node->number;

	*number = (int64_t)value;
	if (node->status == SHOWN_NIL)
		return false;
	if (leaf->has_length || node->kind == SHOWN_UNSIGNED)
		return value <= INT64_MAX;
	return node->kind == SHOWN_SIGNED && node->status == SHOWN_VALUE;
}

/* Takes text. Null: no memory. */
static struct row *row_of(struct inspect_heat *heat, char *text)
{
	uint64_t key = hash_bytes(text, strlen(text));
	const uint64_t *number = map_get(&heat->numbers, key);
	struct row fresh = {.text = text};
	bool is_known = number && !strcmp(heat->rows.at[*number].text, text);

	/* two texts with the same hash: the second one is not worth more */
	if (number || heat->rows.count == VALUES_MAX) {
		free(text);
		return is_known ? &heat->rows.at[*number] : &heat->others;
	}
	if (!map_put(&heat->numbers, key, heat->rows.count) || !vec_push(&heat->rows, fresh)) {
		free(text);
		return NULL;
	}
	return vec_last(&heat->rows);
}

static int add_leaf(void *context, const struct inspect_leaf *leaf)
{
	struct adding *a = context;
	struct row *row;
	int64_t number;
	char *text;

	if (!leaf->path || strcmp(leaf->path, a->heat->path))
		return 0;
	text = inspect_leaf_text(leaf);
	row = text ? row_of(a->heat, text) : NULL;
	if (!row)
		return -ENOMEM;
	row->is_number = number_of(leaf, &number);
	row->number = number;
	a->heat->are_numbers &= row->is_number;
	a->heat->count++;
	add_to(row, a->line->latency);
	return 0;
}

int inspect_heat_add(struct inspect_heat *heat, const struct inspect_line *line)
{
	struct adding a = {heat, line};

	return line->has_end ? inspect_each_leaf(line, add_leaf, &a) : 0;
}

/* -- it is shown ------------------------------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->text, y->text);
}

static int by_number(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The rows change: nothing may be added after it. Numbers are in their order. */
static void sort(struct inspect_heat *heat)
{
	map_free(&heat->numbers);
	heat->numbers = (struct map){0};
	if (heat->rows.count)
		qsort(heat->rows.at, heat->rows.count, sizeof(*heat->rows.at),
		      heat->are_numbers ? by_number : most_first);
}

static void merge(struct row *to, const struct row *from)
{
	to->calls += from->calls;
	if (__builtin_add_overflow(to->total, from->total, &to->total))
		to->total = UINT64_MAX;
	for (unsigned int i = 0; i < LATENCY_POWERS; i++)
		if (__builtin_add_overflow(to->cells[i], from->cells[i], &to->cells[i]))
			to->cells[i] = UINT32_MAX;
}

static unsigned int group_of(int64_t number)
{
	if (!number)
		return ZERO;
	return number > 0 ? ZERO + 1 + power_of((uint64_t)number)
			  : ZERO - 1 - power_of(-(uint64_t)number);
}

/* "[16, 32)" */
static void name_group(unsigned int group, char *to, size_t size)
{
	bool is_negative = group < ZERO;
	unsigned int power = is_negative ? ZERO - 1 - group : group - ZERO - 1;
	uint64_t low = 1ull << power, high = power < 63 ? 2ull << power : UINT64_MAX;

	if (group == ZERO)
		snprintf(to, size, "0");
	else if (is_negative)
		snprintf(to, size, "(-%" PRIu64 ", -%" PRIu64 "]", high, low);
	else
		snprintf(to, size, "[%" PRIu64 ", %" PRIu64 ")", low, high);
}

/* Which columns have something: their first and last powers, and the most of one cell. */
struct extent {
	unsigned int first, last;
	uint32_t most;
};

static void extend(struct extent *extent, const struct row *row)
{
	for (unsigned int i = 0; i < LATENCY_POWERS; i++) {
		if (!row->cells[i])
			continue;
		extent->first = i < extent->first ? i : extent->first;
		extent->last = i > extent->last ? i : extent->last;
		extent->most = row->cells[i] > extent->most ? row->cells[i] : extent->most;
	}
}

/* By the logarithm of the count, so that few calls still show beside very many. */
static const char *shade_of(uint32_t count, uint32_t most)
{
	static const char *const shades[] = {"\u2591\u2591", "\u2592\u2592", "\u2593\u2593",
					     "\u2588\u2588"};
	unsigned int all = power_of(most) + 1, of = power_of(count);

	return count ? shades[of * 4 / all] : "  ";
}

static void print_row(const struct row *row, const char *name, const struct extent *extent,
		      FILE *out)
{
	char count[32], average[32];

	text_count(count, sizeof(count), row->calls);
	text_duration(average, sizeof(average), row->calls ? row->total / row->calls : 0);
	fprintf(out, "  %11s %10s |", count, average);
	for (unsigned int i = extent->first; i <= extent->last; i++)
		fputs(shade_of(row->cells[i], extent->most), out);
	fputs("| ", out);
	text_print_safe(out, name);
	putc('\n', out);
}

static void print_head(const struct inspect_heat *heat, const struct extent *extent, FILE *out)
{
	char from[32], to[32];
	int width = 2 * (int)(extent->last - extent->first + 1);

	text_duration(from, sizeof(from), extent->first ? 1ull << extent->first : 0);
	text_duration(to, sizeof(to), extent->last < 63 ? 2ull << extent->last : UINT64_MAX);
	fprintf(out, "how long calls took, by ");
	text_print_safe(out, heat->path);
	fprintf(out, ": a column for each power of two from %s to %s\n", from, to);
	fprintf(out, "  %11s %10s  %*s  %s\n", "calls", "average", width, "", "value");
}

static void print_groups(const struct inspect_heat *heat, const struct extent *extent, FILE *out)
{
	struct row *groups = calloc(GROUPS, sizeof(*groups));
	struct extent wide = *extent;
	char name[64];

	if (!groups) {
		fputs("  no memory\n", out);
		return;
	}
	vec_foreach (&heat->rows, row)
		merge(&groups[group_of(row->number)], row);
	for (unsigned int i = 0; i < GROUPS; i++)
		extend(&wide, &groups[i]);
	for (unsigned int i = 0; i < GROUPS; i++) {
		if (!groups[i].calls)
			continue;
		name_group(i, name, sizeof(name));
		print_row(&groups[i], name, &wide, out);
	}
	free(groups);
}

void inspect_heat_print_text(struct inspect_heat *heat, FILE *out)
{
	struct extent extent = {.first = LATENCY_POWERS - 1};
	struct row rest = heat->others;
	size_t shown = 0;

	sort(heat);
	vec_foreach (&heat->rows, row)
		extend(&extent, row);
	extend(&extent, &heat->others);
	if (!heat->count)
		return;
	print_head(heat, &extent, out);
	if (heat->are_numbers && heat->rows.count > ROWS_MAX) {
		print_groups(heat, &extent, out);
	} else {
		vec_foreach (&heat->rows, row) {
			if (shown++ < ROWS_MAX)
				print_row(row, row->text, &extent, out);
			else
				merge(&rest, row);
		}
		extend(&extent, &rest);
	}
	if (rest.calls)
		print_row(&rest, rest.text, &extent, out);
}

static void put_row(struct json *j, const struct row *row)
{
	json_open(j, NULL, '{');
	json_text(j, "value", row->text);
	json_u64(j, "calls", row->calls);
	json_u64(j, "total_ns", row->total);
	json_open(j, "buckets", '[');
	for (unsigned int i = 0; i < LATENCY_POWERS; i++) {
		if (!row->cells[i])
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "from_ns", i ? 1ull << i : 0);
		json_u64(j, "calls", row->cells[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void put_groups(struct json *j, const struct inspect_heat *heat)
{
	struct row *groups = calloc(GROUPS, sizeof(*groups));
	char name[64];

	if (groups)
		vec_foreach (&heat->rows, row)
			merge(&groups[group_of(row->number)], row);
	for (unsigned int i = 0; groups && i < GROUPS; i++) {
		if (!groups[i].calls)
			continue;
		name_group(i, name, sizeof(name));
		groups[i].text = name;
		put_row(j, &groups[i]);
	}
	free(groups);
}

void inspect_heat_put_json(struct inspect_heat *heat, size_t limit, struct json *j)
{
	struct row others = heat->others;
	size_t shown = 0;

	sort(heat);
	json_open(j, "heat", '{');
	json_text(j, "by", heat->path);
	json_u64(j, "calls", heat->count);
	json_open(j, "rows", '[');
	if (heat->are_numbers && heat->rows.count > limit) {
		put_groups(j, heat);
	} else {
		vec_foreach (&heat->rows, row) {
			if (shown++ < limit)
				put_row(j, row);
			else
				merge(&others, row);
		}
	}
	if (others.calls)
		put_row(j, &others);
	json_close(j, ']');
	json_close(j, '}');
}
