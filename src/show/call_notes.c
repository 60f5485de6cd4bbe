// SPDX-License-Identifier: Apache-2.0
#include "show/call_notes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/table_names.h"
#include "show/words.h"

static void note_count(uint64_t count, const char *words, FILE *out)
{
	char number[32];

	text_count(number, sizeof(number), count);
	if (count)
		fprintf(out, "%s call%s: %s\n", number, text_plural(count), words);
}

size_t call_bounds(const struct functions *functions)
{
	size_t count = 0;

	for (size_t i = 0; i < functions->count; i++) {
		const struct call_stats *stats = functions->at[i].calls[TREE_NOW];

		count += stats && stats->is_bound;
	}
	return count;
}

static void note_bounds(const struct functions *functions, FILE *out)
{
	size_t bounds = call_bounds(functions);
	char number[32];

	text_count(number, sizeof(number), bounds);
	if (bounds)
		fprintf(out,
			"%s function%s so short, at least below some callers, that the tracer's "
			"cost is more than what was measured: 0 ns there is a bound, not a "
			"measurement\n",
			number, bounds == 1 ? " is" : "s are");
}

void call_notes(const struct report *report, FILE *out)
{
	const struct call_view *calls = report->view.calls;
	char cost[32];

	text_duration(cost, sizeof(cost), calls->subtracted);
	if (calls->is_summary && calls->subtracted)
		fprintf(out,
			"the tracer's own cost of %s within the functions is subtracted, but not "
			"what "
			"calls cost their callers; --raw shows the whole time\n",
			cost);
	else if (calls->subtracted)
		fprintf(out, "the tracer's own cost of %s is subtracted; --raw shows it\n", cost);
	note_bounds(&report->functions, out);
	if (calls->is_summary)
		fputs("sums of --summary: quantiles (~) are known to a power of two\n", out);
	note_count(calls->inferred,
		   "the return was not seen; ended then or before: a time with < is at most "
		   "that, and what may be too much does not count for the order",
		   out);
	note_count(calls->open, "had not ended; counts in total, self and calls only", out);
	note_count(calls->cut,
		   "reaches over the span; only the part in it counts, in total, self and calls "
		   "only, and is taken to have waited as the whole did",
		   out);
	note_count(calls->no_path, "stands with its caller in self and total: too many paths", out);
}

const struct function **call_rows(const struct report *report, enum function_order order,
				  size_t *count)
{
	const struct function **rows = functions_in_order(
		&report->functions, order == FUNCTIONS_AS_THEY_ARE ? FUNCTIONS_BY_TOTAL : order);

	*count = 0;
	for (size_t i = 0; rows && i < report->functions.count; i++)
		if (rows[i]->is_focus && rows[i]->calls[TREE_NOW])
			rows[(*count)++] = rows[i];
	return rows;
}

int call_heading(const struct function *f, const struct show_options *options, FILE *out)
{
	const char *path = f->label->image;
	char *name = words_function(f->label->name, f->label->file, f->label->line,
				    f->guess ? " ?" : "", options->name_width);
	char *image = text_safe(*path ? name_of_image(path) : "", "");
	bool done = name && image;

	if (done)
		fprintf(out, "%s%s%s", options->color ? TABLE_BOLD : "", name,
			options->color ? TABLE_PLAIN : "");
	if (done && *image)
		fprintf(out, *image == '[' ? "  %s" : "  [%s]", image);
	free(name);
	free(image);
	return done ? 0 : -ENOMEM;
}
