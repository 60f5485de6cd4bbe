// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/call_notes.h"
#include "show/latency_bars.h"
#include "show/words.h"

static int print_function(const struct function *f, const struct show_options *options, FILE *out)
{
	const struct call_stats *stats = f->calls[TREE_NOW];
	const char *rough = stats->latency.is_coarse ? "~" : "";
	char calls[32], average[32], median[32], p99[32];
	int err;

	fputc('\n', out);
	err = call_heading(f, options, out);
	text_count(calls, sizeof(calls), stats->calls);
	fprintf(out, ": %s call%s", calls, text_plural(stats->calls));
	if (stats->measured) {
		text_duration(average, sizeof(average), call_stats_average(stats));
		text_quantile(median, sizeof(median), call_stats_quantile(stats, 500), stats->max);
		text_quantile(p99, sizeof(p99), call_stats_quantile(stats, 990), stats->max);
		fprintf(out, ", avg %s, p50 %s%s, p99 %s%s", average, rough, median, rough, p99);
	}
	if (stats->measured < stats->calls) {
		text_count(calls, sizeof(calls), stats->calls - stats->measured);
		fprintf(out, "; %s of unknown duration", calls);
	}
	fputc('\n', out);
	latency_bars(&stats->latency, out);
	return err;
}

int show_histogram(const struct report *report, const struct show_options *options, FILE *out)
{
	size_t all, count;
	const struct function **rows = call_rows(report, options->order, &all);
	int err = rows ? 0 : -ENOMEM;

	words_heading(&report->view, out);
	count = words_rows(all, options->limit);
	for (size_t i = 0; !err && i < count; i++)
		err = print_function(rows[i], options, out);
	if (all > count)
		fprintf(out, "\n… %zu more functions; --limit 0 shows all\n", all - count);
	if (report->view.samples)
		fputc('\n', out);
	if (report->view.calls->is_summary && report->view.calls->subtracted)
		fputs("bars are as measured, the tracer's own cost in them\n", out);
	call_notes(report, out);
	free(rows);
	return err;
}
