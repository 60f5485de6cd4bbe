// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "exchange/chrome/writer.h"
#include "exchange/firefox/writer.h"
#include "exchange/folded/writer.h"
#include "exchange/perfetto/writer.h"
#include "exchange/pprof/writer.h"
#include "exchange/speedscope/writer.h"
#include "film/events.h"
#include "query/slices.h"
#include "show/logs.h"
#include "show/machine.h"
#include "show/requests.h"
#include "show/slices.h"
#include "show/summary.h"
#include "show/values.h"

static int report_pprof(const struct report *report, const struct show_options *options, FILE *out)
{
	(void)options;
	return pprof_write_report(report, out);
}

static int diff_pprof(const struct diff *diff, const struct show_options *options, FILE *out)
{
	(void)options;
	return pprof_write_diff(diff, out);
}

static int report_speedscope(const struct report *report, const struct show_options *options,
			     FILE *out)
{
	(void)options;
	return speedscope_write_report(report, out);
}

static int diff_speedscope(const struct diff *diff, const struct show_options *options, FILE *out)
{
	(void)options;
	return speedscope_write_flame(&diff->flame, out);
}

static int times_perfetto(struct film *film, const struct question *q,
			  const struct show_options *options, FILE *out, uint64_t *samples,
			  struct fail *why)
{
	(void)options;
	return perfetto_write_samples(film, q, out, samples, why);
}

static int times_firefox(struct film *film, const struct question *q,
			 const struct show_options *options, FILE *out, uint64_t *samples,
			 struct fail *why)
{
	(void)options;
	return firefox_write_samples(film, q, out, samples, why);
}

/* speedscope, firefox and chrome stand before json: the first extension that fits counts */
static const struct show_format formats[] = {
	{.name = "table",
	 .extensions = "txt",
	 .of_sums = true,
	 .report = show_table,
	 .diff = show_diff_table},
	{.name = "tree", .extensions = "tree", .of_flame = true, .report = show_tree},
	{.name = "folded", .extensions = "folded", .flame = folded_write_flame},
	{.name = "heatmap", .extensions = "heatmap.svg", .times = show_heatmap},
	{.name = "svg",
	 .alias = "flame-svg",
	 .extensions = "svg",
	 .of_flame = true,
	 .flame = show_svg},
	{.name = "html",
	 .alias = "flame-html",
	 .extensions = "html htm",
	 .of_flame = true,
	 .needs_page = true,
	 .flame = show_html},
	{.name = "pprof",
	 .extensions = "pb.gz pprof",
	 .is_binary = true,
	 .by_thread = true,
	 .report = report_pprof,
	 .diff = diff_pprof},
	{.name = "speedscope",
	 .extensions = "speedscope.json",
	 .report = report_speedscope,
	 .diff = diff_speedscope},
	{.name = "firefox", .extensions = "firefox.json", .times = times_firefox},
	{.name = "chrome", .extensions = "chrome.json", .story = chrome_write_calls},
	{.name = "perfetto",
	 .extensions = "perfetto-trace pftrace perfetto",
	 .is_binary = true,
	 .story = perfetto_write_calls,
	 .slices = perfetto_write_slices,
	 .times = times_perfetto},
	{.name = "states", .extensions = "states", .slices = show_states},
	{.name = "states-json", .extensions = "states.json", .slices = show_states_json},
	{.name = "requests",
	 .extensions = "requests",
	 .of_event = EVENT_REQUESTS,
	 .times = show_requests},
	{.name = "requests-json",
	 .extensions = "requests.json",
	 .of_event = EVENT_REQUESTS,
	 .times = show_requests_json},
	{.name = "values", .extensions = "values", .of_values = true, .times = show_values},
	{.name = "values-json",
	 .extensions = "values.json",
	 .of_values = true,
	 .times = show_values_json},
	{.name = "inspect", .extensions = "inspect", .of_values = true, .times = show_inspect},
	{.name = "inspect-json",
	 .extensions = "inspect.json jsonl",
	 .of_values = true,
	 .times = show_inspect_json},
	{.name = "logs", .extensions = "logs", .of_event = EVENT_LOGS, .times = show_logs},
	{.name = "logs-json",
	 .extensions = "logs.json",
	 .of_event = EVENT_LOGS,
	 .times = show_logs_json},
	{.name = "machine",
	 .extensions = "machine",
	 .of_event = EVENT_MACHINE,
	 .times = show_machine},
	{.name = "machine-json",
	 .extensions = "machine.json",
	 .of_event = EVENT_MACHINE,
	 .times = show_machine_json},
	{.name = "summary", .extensions = "summary", .times = show_summary},
	{.name = "summary-json", .extensions = "summary.json", .times = show_summary_json},
	{.name = "json",
	 .extensions = "json",
	 .of_sums = true,
	 .report = show_json,
	 .diff = show_diff_json},
	{.name = "histogram",
	 .extensions = "histogram",
	 .of_calls = true,
	 .of_sums = true,
	 .report = show_histogram},
	{.name = "graph", .extensions = "graph", .of_calls = true, .report = show_graph},
};

int show_format_report(const struct show_format *format, const struct report *report,
		       const struct show_options *options, FILE *out)
{
	return format->flame ? format->flame(&report->flame, out)
			     : format->report(report, options, out);
}

int show_format_diff(const struct show_format *format, const struct diff *diff,
		     const struct show_options *options, FILE *out)
{
	return format->flame ? format->flame(&diff->flame, out) : format->diff(diff, options, out);
}

static int refuse_event(const struct show_format *format, const char *event, struct fail *why)
{
	char to_do[64];

	snprintf(to_do, sizeof(to_do), "-e %s names calls, if the film has any",
		 event_type(EVENT_CALLS)->name);
	return fail(why, -EINVAL, to_do, "format %s shows calls; %s is not an event of calls",
		    format->name, event);
}

static int refuse_sums(const struct show_format *format, struct fail *why)
{
	return fail(why, -EINVAL, "formats table, histogram and json show its sums",
		    "a film of --summary has no single calls: it cannot be shown as %s",
		    format->name);
}

int show_format_fits(const struct show_format *format, const struct view *view,
		     const struct show_options *options, struct fail *why)
{
	const char *event = view->event->name;

	if (format->needs_page && !show_has_page())
		return fail(why, -ENOTSUP,
			    "build it with node and npm (meson setup -Dpage=enabled), "
			    "or choose --format svg",
			    "cannot write %s: this stackcam was built without its web page",
			    format->name);
	if (!view->calls && format->of_calls)
		return refuse_event(format, event, why);
	if (!view->calls && (options->column_count || options->order >= FUNCTIONS_BY_CALLS))
		return fail(
			why, -EINVAL, NULL,
			"columns and orders of calls do not fit %s, which is not an event of calls",
			event);
	if (view->calls && view->calls->is_summary && !format->of_sums)
		return refuse_sums(format, why);
	return 0;
}

static int count_sum(void *context, const struct film_sum *sum)
{
	uint64_t *count = context;

	*count += sum->calls > 0;
	return 0;
}

int show_story_fits(const struct show_format *format, struct film *film, const char *event,
		    struct fail *why)
{
	const char *name = event ? event : event_type(EVENT_CALLS)->name;
	uint32_t id = film_find_event(film, name);
	uint64_t sums = 0;
	int err;

	if (!id && event)
		return fail(why, -ENOENT, NULL, "the film has no event '%s'", event);
	if (!id)
		return fail(why, -EINVAL, "'stackcam trace' films calls",
			    "format %s shows calls, and the film has none", format->name);
	if (!view_is_calls(&film->events[id]))
		return refuse_event(format, name, why);
	if (film_call_count(film, id))
		return 0;
	err = film_each_sum(film, id, 0, UINT64_MAX, count_sum, &sums, why);
	return err ? err : sums ? refuse_sums(format, why) : 0;
}

bool show_has_slices(const struct show_format *format, const struct film *film, const char *event)
{
	if (!format->slices)
		return false;
	if (event)
		return film_has_turns(film, film_find_event(film, event));
	/* a format that also tells of calls shows those */
	if (format->story && film_find_event(film, event_type(EVENT_CALLS)->name))
		return false;
	return slices_event(film);
}

bool show_has_story(const struct show_format *format, const struct film *film, const char *event)
{
	uint32_t id = film_find_event(film, event ? event : event_type(EVENT_CALLS)->name);

	return format->story && (!format->times || (id && view_is_calls(&film->events[id])));
}

const struct show_format *show_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name) ||
		    (formats[i].alias && !strcmp(formats[i].alias, name)))
			return &formats[i];
	return NULL;
}

const char *show_format_near(const char *name, bool of_diff)
{
	struct nearest nearest = {.given = name};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!of_diff || formats[i].diff || formats[i].flame)
			nearest_offer(&nearest, formats[i].name);
	return nearest.name;
}

const struct show_format *show_format_json(const struct show_format *format)
{
	static const char ending[] = "json";
	size_t length = strlen(format->name);
	char name[64];

	if (!strcmp(format->name, "table"))
		return show_format_find(ending);
	if (length >= strlen(ending) && !strcmp(format->name + length - strlen(ending), ending))
		return format;
	snprintf(name, sizeof(name), "%s-json", format->name);
	return show_format_find(name);
}

static bool has_extension(const char *path, const char *extension, size_t length)
{
	size_t all = strlen(path);

	return all > length && path[all - length - 1] == '.' &&
	       !strncasecmp(path + all - length, extension, length);
}

/*
 * The last ending of a path's last part, with its dot; null: it has none. A hidden file's name
 * is none.
 */
static const char *ending_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? dot : NULL;
}

const struct show_format *show_format_of_path(const char *path, const char **unknown)
{
	*unknown = NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const char *at = formats[i].extensions;

		while (*at) {
			size_t length = strcspn(at, " ");

			if (has_extension(path, at, length))
				return &formats[i];
			at += length;
			at += strspn(at, " ");
		}
	}
	*unknown = ending_of(path);
	return &formats[0];
}

void show_format_names(bool of_diff, char *to, size_t size)
{
	size_t used = 0;

	*to = 0;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && used < size; i++)
		if (!of_diff || formats[i].diff || formats[i].flame)
			used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
						 formats[i].name);
}
