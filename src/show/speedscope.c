// SPDX-License-Identifier: Apache-2.0
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "query/names.h"
#include "show/words.h"

/* speedscope's file format (its file-format-schema.json): frames once, then stacks and their weights. */

static const char *speedscope_unit(const char *unit)
{
	if (!strcmp(unit, "ns"))
		return "nanoseconds";
	return strcmp(unit, "bytes") ? "none" : "bytes";
}

static int put_frames(struct json *j, const struct tree *tree)
{
	json_open(j, "shared", '{');
	json_open(j, "frames", '[');
	vec_foreach (&tree->labels.all, label) {
		char *name = words_safe(label->name, "");

		if (!name)
			return -ENOMEM;
		json_open(j, NULL, '{');
		json_text(j, "name", name);
		free(name);
		if (*label->file) {
			json_text(j, "file", label->file);
			json_u64(j, "line", label->line);
		} else if (*label->image) {
			json_text(j, "file", label->image);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	return 0;
}

/* The root stands for all and is left out of the stacks. */
static int put_samples(struct json *j, const struct report *report)
{
	const struct flame *flame = &report->flame;
	const struct tree_node *nodes = report->tree.nodes.at;
	uint32_t *path = calloc(TREE_DEPTH_MAX + 2, sizeof(*path));
	uint32_t node = 0, depth = 0;

	if (!path)
		return -ENOMEM;
	json_open(j, "samples", '[');
	while ((node = flame_next(flame, node, &depth))) {
		path[depth] = nodes[node].label;
		if (!flame->nodes[node].self)
			continue;
		json_open(j, NULL, '[');
		for (uint32_t i = 1; i <= depth; i++)
			json_u64(j, NULL, path[i]);
		json_close(j, ']');
	}
	json_close(j, ']');
	free(path);
	return 0;
}

/* In the order of put_samples(). */
static void put_weights(struct json *j, const struct flame *flame)
{
	uint32_t node = 0, depth = 0;

	json_open(j, "weights", '[');
	while ((node = flame_next(flame, node, &depth)))
		if (flame->nodes[node].self)
			json_u64(j, NULL, flame->nodes[node].self);
	json_close(j, ']');
}

int show_speedscope(const struct report *report, const struct show_options *options, FILE *out)
{
	const struct view *view = &report->view;
	struct json j = {.out = out};
	int err;

	(void)options;
	json_open(&j, NULL, '{');
	json_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&j, "exporter", "stackcam " STACKCAM_VERSION);
	json_text(&j, "name", report->title);
	err = put_frames(&j, &report->tree);
	json_open(&j, "profiles", '[');
	json_open(&j, NULL, '{');
	json_text(&j, "type", "sampled");
	json_text(&j, "name", view->event->name);
	json_text(&j, "unit", speedscope_unit(view->event->unit));
	json_u64(&j, "startValue", 0);
	json_u64(&j, "endValue", view->total);
	if (!err)
		err = put_samples(&j, report);
	put_weights(&j, &report->flame);
	json_close(&j, '}');
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
	return err;
}
