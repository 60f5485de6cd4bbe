// SPDX-License-Identifier: Apache-2.0
#include "exchange/speedscope/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "film/events.h"
#include "query/flame.h"

/*
 * speedscope's file format (its file-format-schema.json): frames once, then stacks and their
 * weights.
 */

static int put_frames(struct json *j, const struct labels *labels)
{
	json_open(j, "shared", '{');
	json_open(j, "frames", '[');
	vec_foreach (&labels->all, label) {
		char *name = text_safe(label->name, "");

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

/* What a node has of a profile's weight. */
typedef uint64_t (*self_function)(const struct flame_node *node);

static uint64_t self_of(const struct flame_node *node)
{
	return node->self;
}

static uint64_t before_self_of(const struct flame_node *node)
{
	return node->before_self;
}

/* The root stands for all and is left out of the stacks. */
static int put_samples(struct json *j, const struct flame *flame, const uint32_t *label_of,
		       self_function self)
{
	uint32_t *path = calloc(TREE_DEPTH_MAX + 2, sizeof(*path));
	uint32_t node = 0, depth = 0;

	if (!path)
		return -ENOMEM;
	json_open(j, "samples", '[');
	while ((node = flame_next(flame, node, &depth))) {
		path[depth] = label_of[node];
		if (!self(&flame->nodes[node]))
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
static void put_weights(struct json *j, const struct flame *flame, self_function self)
{
	uint32_t node = 0, depth = 0;

	json_open(j, "weights", '[');
	while ((node = flame_next(flame, node, &depth)))
		if (self(&flame->nodes[node]))
			json_u64(j, NULL, self(&flame->nodes[node]));
	json_close(j, ']');
}

static int put_profile(struct json *j, const struct flame *flame, const uint32_t *label_of,
		       const char *side, uint64_t total, self_function self)
{
	char name[160];
	int err;

	snprintf(name, sizeof(name), "%.100s%s", flame->event, side);
	json_open(j, NULL, '{');
	json_text(j, "type", "sampled");
	json_text(j, "name", name);
	json_text(j, "unit", event_unit_speedscope(flame->unit));
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", total);
	err = put_samples(j, flame, label_of, self);
	put_weights(j, flame, self);
	json_close(j, '}');
	return err;
}

static int put_file(const struct flame *flame, const struct labels *labels,
		    const uint32_t *label_of, uint64_t total, FILE *out)
{
	struct json j = {.out = out};
	int err;

	json_open(&j, NULL, '{');
	json_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&j, "exporter", "stackcam " STACKCAM_VERSION);
	json_text(&j, "name", flame->title);
	err = put_frames(&j, labels);
	json_open(&j, "profiles", '[');
	if (!err && flame->is_diff)
		err = put_profile(&j, flame, label_of, ", before (scaled to the total of now)",
				  flame->nodes[0].before_total, before_self_of);
	if (!err)
		err = put_profile(&j, flame, label_of, flame->is_diff ? ", now" : "", total,
				  self_of);
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
	return err;
}

int speedscope_write_flame(const struct flame *flame, FILE *out)
{
	struct labels labels = {0};
	uint32_t *label_of;
	int err = flame_labels(flame, &labels, &label_of);

	if (!err)
		err = put_file(flame, &labels, label_of, flame->nodes[0].total, out);
	free(label_of);
	labels_free(&labels);
	return err;
}

int speedscope_write_report(const struct report *report, FILE *out)
{
	const struct tree *tree = &report->tree;
	uint32_t *label_of = calloc(tree->nodes.count + 1, sizeof(*label_of));
	int err = -ENOMEM;

	for (size_t i = 0; label_of && i < tree->nodes.count; i++)
		label_of[i] = tree->nodes.at[i].label;
	if (label_of)
		err = put_file(&report->flame, &tree->labels, label_of, report->view.total, out);
	free(label_of);
	return err;
}
