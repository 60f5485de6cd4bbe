// SPDX-License-Identifier: Apache-2.0
#include "exchange/folded/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "query/tree.h"

/*
 * Calls print() for each node in which something was spent, with the frames that lead to it already
 * written. The ';' that parts frames is escaped where it belongs to a name.
 */
static int print_stacks(const struct flame *flame, FILE *out,
			bool (*has_value)(const struct flame_node *node),
			void (*print_value)(const struct flame_node *node, FILE *out))
{
	uint32_t node = 0, depth = 0, known = 0;
	char **path = calloc(TREE_DEPTH_MAX + 2, sizeof(*path));
	int err = path ? 0 : -ENOMEM;

	/* path[1] … path[known] are the names of the frames below the root */
	while (!err && (node = flame_next(flame, node, &depth))) {
		const struct flame_node *at = &flame->nodes[node];

		while (known >= depth)
			free(path[known--]);
		path[++known] = text_place(at->name, at->file, at->line, ";");
		if (!path[known])
			err = -ENOMEM;
		if (err || !has_value(at))
			continue;
		for (uint32_t i = 1; i <= known; i++)
			fprintf(out, "%s%s", i > 1 ? ";" : "", path[i]);
		print_value(at, out);
	}
	while (known)
		free(path[known--]);
	free(path);
	return err;
}

static bool has_self(const struct flame_node *node)
{
	return node->self;
}

static bool has_self_or_before(const struct flame_node *node)
{
	return node->self || node->before_self;
}

static void print_self(const struct flame_node *node, FILE *out)
{
	fprintf(out, " %" PRIu64 "\n", node->self);
}

static void print_before_and_self(const struct flame_node *node, FILE *out)
{
	fprintf(out, " %" PRIu64 " %" PRIu64 "\n", node->before_self, node->self);
}

int folded_write_flame(const struct flame *flame, FILE *out)
{
	if (flame->is_diff)
		return print_stacks(flame, out, has_self_or_before, print_before_and_self);
	return print_stacks(flame, out, has_self, print_self);
}
