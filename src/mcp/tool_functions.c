// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "query/around.h"
#include "query/report.h"
#include "show/show.h"
#include "show/words.h"

enum {
	ROWS_USUAL = 20,
	NAME_WIDTH = 100,
	TREE_NAME_WIDTH = 80,
	TREE_BYTES = MCP_TEXT_MAX * 2 / 5,
	ID_LENGTH = 9,
};

/*
 * A name may be too long to be given back, so each function has an id: a hash of its name and its
 * image, the same in each film.
 */
static void function_id(const struct label *label, char id[ID_LENGTH + 1])
{
	uint64_t hash = hash_bytes(label->name, strlen(label->name)) ^
			hash_u64(hash_bytes(label->image, strlen(label->image)));

	snprintf(id, ID_LENGTH + 1, "f%08" PRIx32, (uint32_t)(hash ^ hash >> 32));
}

static int put_name(const struct label *label, bool guess, FILE *out)
{
	char *name = words_function(label->name, label->file, label->line, guess ? " ?" : "",
				    NAME_WIDTH);

	if (!name)
		return -ENOMEM;
	fputs(name, out);
	free(name);
	if (*label->image) {
		fputs("  ", out);
		text_print_safe(out, name_of_image(label->image));
	}
	return 0;
}

static void put_calls(const struct call_stats *calls, FILE *out)
{
	char count[32], average[32], p99[32], most[32];

	text_count(count, sizeof(count), calls->calls);
	words_value(average, sizeof(average), "ns", call_stats_average(calls));
	text_quantile(p99, sizeof(p99), call_stats_quantile(calls, 990), calls->max);
	words_value(most, sizeof(most), "ns", calls->max);
	fprintf(out, ", %s calls, average %s, p99 %s, longest %s", count, average, p99, most);
}

static int put_function(const struct report *report, const struct function *f, FILE *out)
{
	const struct call_stats *calls = f->calls[TREE_NOW];
	char id[ID_LENGTH + 1], self[32], total[32];
	int err;

	function_id(f->label, id);
	words_value(self, sizeof(self), report->view.event->unit, f->self[TREE_NOW]);
	words_value(total, sizeof(total), report->view.event->unit, f->total[TREE_NOW]);
	fprintf(out, "%s %6.2f%% %12s %6.2f%% %12s  ", id,
		words_percent(f->self[TREE_NOW], report->view.total), self,
		words_percent(f->total[TREE_NOW], report->view.total), total);
	err = put_name(f->label, f->guess, out);
	if (calls)
		put_calls(calls, out);
	fputc('\n', out);
	return err;
}

static int put_functions(const struct report *report, const struct mcp_asked *asked,
			 enum function_order order, FILE *out)
{
	const struct function **rows = functions_in_order(&report->functions, order);
	size_t count = report->functions.count, i;
	int err = rows ? 0 : -ENOMEM;

	words_heading(&report->view, out);
	fprintf(out, "\n%-9s %7s %12s %7s %12s  %s\n", "Id", "Self%", "Self", "Total%", "Total",
		"Function, image");
	for (i = asked->offset; !err && i < count && i - asked->offset < asked->limit; i++)
		err = put_function(report, rows[i], out);
	if (i < count)
		fprintf(out, "%zu more; offset=%zu shows the next ones\n", count - i, i);
	else if (asked->offset && asked->offset >= count)
		fprintf(out, "offset=%zu is behind the last of %zu\n", asked->offset, count);
	free(rows);
	return err;
}

int mcp_tool_functions(struct mcp_call *call)
{
	const char *sort = call->arguments.texts[ARGUMENT_SORT];
	struct show_options options = {0};
	struct report report = {0};
	struct mcp_asked asked;
	int err = mcp_ask(call, ROWS_USUAL, &asked);

	if (!err && sort)
		err = show_parse_order(&options, sort, call->why);
	if (!err)
		err = report_make(asked.film, &asked.question, false, &report, call->why);
	if (!err)
		err = show_format_fits(show_format_find("table"), &report.view, &options,
				       call->why);
	if (!err && put_functions(&report, &asked, options.order, call->out))
		err = fail_errno(call->why, -ENOMEM, NULL, "cannot answer");
	report_free(&report);
	mcp_asked_free(&asked);
	return err;
}

/* -- one function ------------------------------------------------------------------------------ */

static const struct function *find_id(const struct functions *functions, const char *wanted)
{
	char id[ID_LENGTH + 1];

	if (strlen(wanted) != ID_LENGTH)
		return NULL;
	vec_foreach (functions, f) {
		function_id(f->label, id);
		if (!strcmp(id, wanted))
			return f;
	}
	return NULL;
}

/* A tree has its part of the answer, or the first one would leave no room for the other. */
static int put_tree(const char *title, const struct flame *flame, FILE *out)
{
	const struct show_options options = {.min_percent = 1, .name_width = TREE_NAME_WIDTH};
	char *text = NULL, *shown = NULL;
	size_t size = 0;
	FILE *tree = open_memstream(&text, &size);
	int err = tree ? show_flame_tree(flame, &options, tree) : -ENOMEM;

	if (tree && fclose(tree))
		err = -ENOMEM;
	if (!err) {
		shown = mcp_text_cut(text, size, TREE_BYTES);
		err = shown ? 0 : -ENOMEM;
	}
	if (!err)
		fprintf(out, "\n%s:\n%s", title, shown);
	free(shown);
	free(text);
	return err;
}

static int put_around(const struct report *report, const struct around *around, FILE *out)
{
	int err;

	words_heading(&report->view, out);
	fprintf(out, "\n%-9s %7s %12s %7s %12s  %s\n", "Id", "Self%", "Self", "Total%", "Total",
		"Function, image");
	err = put_function(report, around->of, out);
	if (around->others)
		fprintf(out, "%zu others match, with less\n", around->others);
	if (!err)
		err = put_tree("Its callers, innermost first, in shares of its total",
			       &around->sandwich.callers, out);
	return err ? err
		   : put_tree("What it called, in shares of its total", &around->sandwich.callees,
			      out);
}

int mcp_tool_around(struct mcp_call *call)
{
	const char *wanted = call->arguments.texts[ARGUMENT_FUNCTION];
	struct report report = {0};
	struct around around = {0};
	const struct function *f;
	struct mcp_asked asked;
	int err = mcp_ask(call, 0, &asked);

	if (!err)
		err = report_make(asked.film, &asked.question, false, &report, call->why);
	if (!err) {
		f = find_id(&report.functions, wanted);
		err = f ? around_of(&report, f, &around, call->why)
			: around_make(&report, wanted, &around, call->why);
	}
	if (!err && put_around(&report, &around, call->out))
		err = fail_errno(call->why, -ENOMEM, NULL, "cannot answer");
	around_free(&around);
	report_free(&report);
	mcp_asked_free(&asked);
	return err;
}
