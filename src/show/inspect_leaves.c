// SPDX-License-Identifier: Apache-2.0
#include "show/inspect_leaves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "query/shown_text.h"

enum {
	DEPTH_MAX = 3 /* of members */
};

struct walk {
	const struct shown_tree *tree;
	int (*emit)(void *context, const struct inspect_leaf *leaf);
	void *context;
};

char *inspect_leaf_text(const struct inspect_leaf *leaf)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (leaf->has_length && leaf->tree->nodes.at[leaf->at].status != SHOWN_NIL)
		fprintf(to, "%" PRIu64, leaf->tree->nodes.at[leaf->at].length);
	else
		shown_print_value(to, leaf->tree, leaf->at);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static int emit_leaf(const struct walk *w, size_t at, const char *path)
{
	const struct shown *node = &w->tree->nodes.at[at];
	struct inspect_leaf leaf = {
		.tree = w->tree,
		.at = at,
		.has_length = node->kind == SHOWN_LIST || node->kind == SHOWN_PAIRS,
	};
	char *full = NULL;
	int err;

	if (path && asprintf(&full, leaf.has_length ? "len(%s)" : "%s", path) < 0)
		return -ENOMEM;
	leaf.path = full;
	err = w->emit(w->context, &leaf);
	free(full);
	return err;
}

static int add_node(const struct walk *w, size_t at, const char *path, unsigned int depth)
{
	const struct shown *node = &w->tree->nodes.at[at];
	size_t member = at + 1;
	int err = 0;

	if (node->kind == SHOWN_ADDRESS && node->status == SHOWN_VALUE)
		return 0;
	if (node->kind != SHOWN_OBJECT || node->status == SHOWN_NIL || !node->children)
		return emit_leaf(w, at, path);
	if (depth == DEPTH_MAX)
		return emit_leaf(w, at, NULL);
	for (uint32_t i = 0; i < node->children && !err && member < w->tree->nodes.count; i++) {
		const char *name = w->tree->nodes.at[member].name;
		char *inner;

		if (asprintf(&inner, "%s.%s", path, name ? name : "?") < 0)
			return -ENOMEM;
		err = add_node(w, member, inner, depth + 1);
		free(inner);
		member = shown_behind(w->tree, member);
	}
	return err;
}

/* Arguments go by their names, results by "result" or by theirs. */
static int add_tree(struct walk *w, const struct shown_tree *tree, bool are_results)
{
	unsigned int number = 0;
	int err = 0;

	w->tree = tree;
	for (size_t at = 0; at < tree->nodes.count && !err; at = shown_behind(tree, at)) {
		const char *name = tree->nodes.at[at].name;
		bool is_named = name && *name && *name != '~';
		char *path;
		int length;

		number++;
		if (is_named)
			length = asprintf(&path, are_results ? "result %s" : "%s", name);
		else if (are_results && at == 0 && shown_behind(tree, 0) == tree->nodes.count)
			length = asprintf(&path, "result");
		else
			length = asprintf(&path, are_results ? "result %u" : "argument %u", number);
		if (length < 0)
			return -ENOMEM;
		err = add_node(w, at, path, 0);
		free(path);
	}
	return err;
}

int inspect_each_leaf(const struct inspect_line *line,
		      int (*emit)(void *context, const struct inspect_leaf *leaf), void *context)
{
	struct walk w = {.emit = emit, .context = context};
	int err = add_tree(&w, line->arguments, false);

	return err ? err : add_tree(&w, line->results, true);
}
