// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int report_svg(const struct report *report, const struct show_options *options, FILE *out)
{
	(void)options;
	return show_svg(&report->flame, out);
}

static int report_html(const struct report *report, const struct show_options *options, FILE *out)
{
	(void)options;
	return show_html(&report->flame, out);
}

static int diff_svg(const struct diff *diff, const struct show_options *options, FILE *out)
{
	(void)options;
	return show_svg(&diff->flame, out);
}

static int diff_html(const struct diff *diff, const struct show_options *options, FILE *out)
{
	(void)options;
	return show_html(&diff->flame, out);
}

/* speedscope stands before json: the first extension that fits counts */
static const struct show_format formats[] = {
	{.name = "table", .extensions = "txt", .report = show_table, .diff = show_diff_table},
	{.name = "tree", .extensions = "tree", .report = show_tree},
	{.name = "folded", .extensions = "folded", .report = show_folded, .diff = show_diff_folded},
	{.name = "svg", .extensions = "svg", .report = report_svg, .diff = diff_svg},
	{.name = "html", .extensions = "html htm", .report = report_html, .diff = diff_html},
	{.name = "pprof",
	 .extensions = "pb.gz pprof",
	 .is_binary = true,
	 .by_thread = true,
	 .report = show_pprof},
	{.name = "speedscope", .extensions = "speedscope.json", .report = show_speedscope},
	{.name = "json", .extensions = "json", .report = show_json, .diff = show_diff_json},
};

const struct show_format *show_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
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
		if (!of_diff || formats[i].diff)
			used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
						 formats[i].name);
}
