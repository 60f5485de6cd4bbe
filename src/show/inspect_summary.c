// SPDX-License-Identifier: Apache-2.0
#include "show/inspect_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/latency.h"
#include "show/inspect_leaves.h"
#include "show/latency_bars.h"

enum {
	VALUES_MAX = 4096, /* of each argument: further ones are counted */
	COLUMNS_MAX = 64,  /* of each function; there are no more rows than fit on a few screens */
	ROWS = 10,
	SLOWEST = 10,
};

struct amount {
	uint64_t calls, ended; /* ended: those whose latency is known */
	uint64_t total, max;   /* ns, of those */
};

struct value {
	char *text;
	struct amount amount;
};

/* The values of an argument, a result, or a member of one. */
struct column {
	char *path;
	struct map numbers; /* from the hash of a value's text to its number */
	vec(struct value) values;
	struct amount others;
};

struct slow_call {
	uint64_t latency;
	char *line; /* as inspect_print_text() prints it */
};

struct function {
	char *name;
	struct amount amount;
	struct latency latency;
	vec(struct column) columns;
	uint64_t left_out; /* values for which there was no column */
	struct slow_call slowest[SLOWEST];
	size_t slow_count;
};

struct inspect_summary {
	vec(struct function) functions;
};

struct inspect_summary *inspect_summary_new(void)
{
	return calloc(1, sizeof(struct inspect_summary));
}

static void free_function(struct function *f)
{
	vec_foreach (&f->columns, column) {
		vec_foreach (&column->values, value)
			free(value->text);
		vec_free(&column->values);
		map_free(&column->numbers);
		free(column->path);
	}
	vec_free(&f->columns);
	for (size_t i = 0; i < f->slow_count; i++)
		free(f->slowest[i].line);
	latency_free(&f->latency);
	free(f->name);
}

void inspect_summary_free(struct inspect_summary *summary)
{
	if (!summary)
		return;
	vec_foreach (&summary->functions, f)
		free_function(f);
	vec_free(&summary->functions);
	free(summary);
}

/* -- a call is added --------------------------------------------------------------------------- */

static void add(struct amount *amount, const struct inspect_line *line)
{
	amount->calls++;
	if (!line->has_end)
		return;
	amount->ended++;
	if (__builtin_add_overflow(amount->total, line->latency, &amount->total))
		amount->total = UINT64_MAX;
	if (amount->max < line->latency)
		amount->max = line->latency;
}

static struct function *function_of(struct inspect_summary *summary, const char *name)
{
	struct function fresh = {0};

	vec_foreach (&summary->functions, f)
		if (!strcmp(f->name, name))
			return f;
	fresh.name = strdup(name);
	if (!fresh.name || !vec_push(&summary->functions, fresh)) {
		free(fresh.name);
		return NULL;
	}
	return vec_last(&summary->functions);
}

/* 0 with *result null: the function has its most columns. */
static int column_of(struct function *f, const char *path, struct column **result)
{
	struct column fresh = {0};

	*result = NULL;
	vec_foreach (&f->columns, column) {
		if (!strcmp(column->path, path)) {
			*result = column;
			return 0;
		}
	}
	if (f->columns.count == COLUMNS_MAX)
		return 0;
	fresh.path = strdup(path);
	if (!fresh.path || !vec_push(&f->columns, fresh)) {
		free(fresh.path);
		return -ENOMEM;
	}
	*result = vec_last(&f->columns);
	return 0;
}

/* Takes text. */
static int add_value(struct column *column, char *text, const struct inspect_line *line)
{
	uint64_t key = hash_bytes(text, strlen(text));
	const uint64_t *number = map_get(&column->numbers, key);
	struct value fresh = {.text = text};

	if (number && !strcmp(column->values.at[*number].text, text)) {
		add(&column->values.at[*number].amount, line);
		free(text);
		return 0;
	}
	/* a number means that two texts have the same hash: the second one is not worth more */
	if (number || column->values.count == VALUES_MAX) {
		add(&column->others, line);
		free(text);
		return 0;
	}
	if (!map_put(&column->numbers, key, column->values.count) ||
	    !vec_push(&column->values, fresh)) {
		free(text);
		return -ENOMEM;
	}
	add(&vec_last(&column->values)->amount, line);
	return 0;
}

struct adding {
	struct function *function;
	const struct inspect_line *line;
};

static int add_leaf(void *context, const struct inspect_leaf *leaf)
{
	const struct adding *a = context;
	struct column *column = NULL;
	char *text;
	int err = leaf->path ? column_of(a->function, leaf->path, &column) : 0;

	if (err)
		return err;
	if (!column) {
		a->function->left_out++;
		return 0;
	}
	text = inspect_leaf_text(leaf);
	return text ? add_value(column, text, a->line) : -ENOMEM;
}

static int add_slow(struct function *f, const struct inspect_line *line)
{
	struct slow_call slow = {.latency = line->latency};
	size_t at = f->slow_count, size = 0;
	FILE *to;

	if (!line->has_end || (at == SLOWEST && f->slowest[SLOWEST - 1].latency >= line->latency))
		return 0;
	to = open_memstream(&slow.line, &size);
	if (!to)
		return -ENOMEM;
	inspect_print_text(to, line);
	if (fclose(to)) {
		free(slow.line);
		return -ENOMEM;
	}
	if (at == SLOWEST)
		free(f->slowest[--at].line);
	else
		f->slow_count++;
	for (; at && f->slowest[at - 1].latency < slow.latency; at--)
		f->slowest[at] = f->slowest[at - 1];
	f->slowest[at] = slow;
	return 0;
}

int inspect_summary_add(struct inspect_summary *summary, const struct inspect_line *line)
{
	struct adding a = {.line = line};
	char *place = NULL;
	int err;

	if (line->place && asprintf(&place, "%s %s", line->place, line->function) < 0)
		return -ENOMEM;
	a.function = function_of(summary, place ? place : line->function);
	free(place);
	if (!a.function)
		return -ENOMEM;
	add(&a.function->amount, line);
	if (line->has_end && !latency_add(&a.function->latency, line->latency, 1))
		return -ENOMEM;
	err = inspect_each_leaf(line, add_leaf, &a);
	return err ? err : add_slow(a.function, line);
}

/* -- it is shown ------------------------------------------------------------------------------- */

/* By the time that they took; where none is known, by how often they were there. */
static int most_first(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->amount.total != y->amount.total)
		return x->amount.total < y->amount.total ? 1 : -1;
	if (x->amount.calls != y->amount.calls)
		return x->amount.calls < y->amount.calls ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* The numbers of the values change: nothing may be added after it. */
static void sort(struct column *column)
{
	map_free(&column->numbers);
	column->numbers = (struct map){0};
	if (column->values.count)
		qsort(column->values.at, column->values.count, sizeof(*column->values.at),
		      most_first);
}

static void print_amount(const struct amount *amount, const struct amount *all, FILE *out)
{
	char calls[32], total[32] = "-", average[32] = "-", max[32] = "-", share[16] = "-";

	text_count(calls, sizeof(calls), amount->calls);
	if (amount->ended) {
		text_duration(total, sizeof(total), amount->total);
		text_duration(average, sizeof(average), amount->total / amount->ended);
		text_duration(max, sizeof(max), amount->max);
	}
	if (all->total)
		snprintf(share, sizeof(share), "%.1f %%",
			 100.0 * (double)amount->total / (double)all->total);
	fprintf(out, "  %11s %10s %8s %10s %10s  ", calls, total, share, average, max);
}

static void print_column(struct column *column, const struct amount *all, FILE *out)
{
	size_t count = column->values.count, rows = count < ROWS ? count : ROWS;

	sort(column);
	fputs("\n  ", out);
	text_print_safe(out, column->path);
	if (count == 1 && !column->others.calls &&
	    column->values.at[0].amount.calls == all->calls) {
		fputs(" is always ", out);
		text_print_safe(out, column->values.at[0].text);
		putc('\n', out);
		return;
	}
	fprintf(out, ": %zu value%s\n  %11s %10s %8s %10s %10s  %s\n", count, text_plural(count),
		"calls", "total", "of time", "average", "longest", "value");
	for (size_t i = 0; i < rows; i++) {
		print_amount(&column->values.at[i].amount, all, out);
		text_print_safe(out, column->values.at[i].text);
		putc('\n', out);
	}
	if (count > rows)
		fprintf(out, "  … %zu more values; --json has all of them\n", count - rows);
	if (column->others.calls) {
		print_amount(&column->others, all, out);
		fputs("further values, beyond the number that it distinguishes\n", out);
	}
}

/* Never more than the longest: the middle of a part of a power of two may be. */
static uint64_t quantile(const struct function *f, unsigned int of_thousand)
{
	uint64_t ns = latency_quantile(&f->latency, of_thousand);

	return ns < f->amount.max ? ns : f->amount.max;
}

static void print_function(struct function *f, FILE *out)
{
	char calls[32], average[32], median[32], p99[32], max[32];

	text_count(calls, sizeof(calls), f->amount.calls);
	text_print_safe(out, f->name);
	fprintf(out, ": %s call%s", calls, text_plural(f->amount.calls));
	if (f->amount.ended) {
		text_duration(average, sizeof(average), f->amount.total / f->amount.ended);
		text_quantile(median, sizeof(median), quantile(f, 500), f->amount.max);
		text_quantile(p99, sizeof(p99), quantile(f, 990), f->amount.max);
		text_duration(max, sizeof(max), f->amount.max);
		fprintf(out, ", avg %s, p50 %s, p99 %s, longest %s", average, median, p99, max);
	}
	if (f->amount.ended < f->amount.calls) {
		text_count(calls, sizeof(calls), f->amount.calls - f->amount.ended);
		fprintf(out, "; %s of unknown duration", calls);
	}
	putc('\n', out);
	latency_bars(&f->latency, out);
	vec_foreach (&f->columns, column)
		print_column(column, &f->amount, out);
	if (f->left_out)
		fprintf(out, "\n  %" PRIu64 " values of further members are not in the tables\n",
			f->left_out);
	if (f->slow_count)
		fputs("\n  slowest\n", out);
	for (size_t i = 0; i < f->slow_count; i++)
		fprintf(out, "    %s", f->slowest[i].line);
}

void inspect_summary_print_text(struct inspect_summary *summary, FILE *out)
{
	vec_foreach (&summary->functions, f) {
		if (f != summary->functions.at)
			putc('\n', out);
		print_function(f, out);
	}
}

static void put_amount(struct json *j, const struct amount *amount)
{
	json_u64(j, "calls", amount->calls);
	json_u64(j, "ended", amount->ended);
	json_u64(j, "total_ns", amount->total);
	json_u64(j, "max_ns", amount->max);
}

static void add_amount(struct amount *to, const struct amount *from)
{
	to->calls += from->calls;
	to->ended += from->ended;
	if (__builtin_add_overflow(to->total, from->total, &to->total))
		to->total = UINT64_MAX;
	to->max = from->max > to->max ? from->max : to->max;
}

static void put_column(struct json *j, struct column *column, size_t limit)
{
	struct amount others = column->others;
	size_t shown = 0;

	sort(column);
	json_open(j, NULL, '{');
	json_text(j, "of", column->path);
	json_u64(j, "distinct", column->values.count);
	json_open(j, "values", '[');
	vec_foreach (&column->values, value) {
		if (shown++ >= limit) {
			add_amount(&others, &value->amount);
			continue;
		}
		json_open(j, NULL, '{');
		json_text(j, "value", value->text);
		put_amount(j, &value->amount);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "others", '{');
	put_amount(j, &others);
	json_close(j, '}');
	json_close(j, '}');
}

static void put_latency(struct json *j, const struct function *f)
{
	const struct latency *latency = &f->latency;

	json_u64(j, "p50_ns", quantile(f, 500));
	json_u64(j, "p90_ns", quantile(f, 900));
	json_u64(j, "p99_ns", quantile(f, 990));
	json_open(j, "buckets", '[');
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		if (!latency_power(latency, power))
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "from_ns", power ? 1ull << power : 0);
		json_u64(j, "calls", latency_power(latency, power));
		json_close(j, '}');
	}
	json_close(j, ']');
}

void inspect_summary_put_json(struct inspect_summary *summary, size_t limit, struct json *j)
{
	json_open(j, "functions", '[');
	vec_foreach (&summary->functions, f) {
		json_open(j, NULL, '{');
		json_text(j, "function", f->name);
		put_amount(j, &f->amount);
		put_latency(j, f);
		json_open(j, "columns", '[');
		vec_foreach (&f->columns, column)
			put_column(j, column, limit);
		json_close(j, ']');
		json_u64(j, "left_out", f->left_out);
		json_open(j, "slowest", '[');
		for (size_t i = 0; i < f->slow_count; i++) {
			f->slowest[i].line[strcspn(f->slowest[i].line, "\n")] = 0;
			json_text(j, NULL, f->slowest[i].line);
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

void inspect_summary_print_json(struct inspect_summary *summary, FILE *out)
{
	struct json j = {.out = out};

	json_open(&j, NULL, '{');
	inspect_summary_put_json(summary, SIZE_MAX, &j);
	json_close(&j, '}');
	putc('\n', out);
}
