// SPDX-License-Identifier: Apache-2.0
#include "query/relabel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/names.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_u64(hash ^ hash_bytes(text, strlen(text)));
}

/* As labels of several films are compared. */
static const char *image_of(const struct labels *labels, const struct label *label)
{
	return labels->across_films && *label->image ? name_of_image(label->image) : label->image;
}

static uint64_t hash_label(const struct labels *labels, const struct label *label)
{
	uint64_t hash = hash_text(0, label->name);

	hash = hash_text(hash_text(hash, image_of(labels, label)), label->file);
	return hash_u64(hash ^ ((uint64_t)label->line << 8 | label->kind));
}

static bool is_same(const struct labels *labels, const struct label *a, const struct label *b)
{
	return a->kind == b->kind && a->line == b->line && a->of_image == b->of_image &&
	       !strcmp(a->name, b->name) && !strcmp(image_of(labels, a), image_of(labels, b)) &&
	       !strcmp(a->file, b->file);
}

/* For each label the first one that is equal to it: to be freed. Null: no memory. */
static uint32_t *first_labels(struct labels *labels)
{
	uint32_t *first = calloc(labels->all.count + 1, sizeof(*first));
	struct map by_hash = {0};
	bool is_done = first;

	for (uint32_t i = 0; is_done && i < labels->all.count; i++) {
		uint64_t hash = hash_label(labels, &labels->all.at[i]);
		const uint64_t *known = map_get(&by_hash, hash);

		first[i] = i;
		/* of two that share a hash and differ, the later one stays as it is */
		if (known && is_same(labels, &labels->all.at[*known], &labels->all.at[i]))
			first[i] = (uint32_t)*known;
		else if (!known)
			is_done = map_put(&by_hash, hash, i);
	}
	map_free(&by_hash);
	if (is_done)
		return first;
	free(first);
	return NULL;
}

static void add(struct tree_node *to, const struct tree_node *from)
{
	to->guess |= from->guess;
	to->inlined &= from->inlined;
	to->group = to->group ? to->group : from->group;
	for (int side = 0; side < 2; side++)
		to->self[side] += from->self[side];
}

/* Parents precede their children: one pass moves all to their places. */
static int merge_nodes(struct tree *tree, const uint32_t *first)
{
	size_t count = tree->nodes.count, used = count ? 1 : 0;
	uint32_t *place = calloc(count + 1, sizeof(*place));
	struct map child_of = {0};
	bool is_done = place;

	for (size_t i = 1; is_done && i < count; i++) {
		struct tree_node node = tree->nodes.at[i];
		const uint64_t *known;
		uint64_t key;

		node.parent = place[node.parent];
		node.label = first[node.label];
		key = (uint64_t)node.parent << 32 | node.label;
		known = map_get(&child_of, key);
		place[i] = known ? (uint32_t)*known : (uint32_t)used;
		if (known) {
			add(&tree->nodes.at[*known], &node);
		} else {
			tree->nodes.at[used] = node;
			is_done = map_put(&child_of, key, used++);
		}
	}
	for (size_t i = 0; is_done && i < tree->groups.count; i++)
		tree->groups.at[i].node = place[tree->groups.at[i].node];
	if (is_done)
		tree->nodes.count = used;
	map_free(&child_of);
	free(place);
	return is_done ? 0 : -ENOMEM;
}

static int merge_functions(const struct tree *tree, const uint32_t *first,
			   struct functions *functions)
{
	const struct label *labels = tree->labels.all.at;
	struct map row_of = {0};
	bool is_done = true;
	size_t used = 0;

	for (size_t i = 0; is_done && i < functions->count; i++) {
		struct function row = functions->at[i];
		uint32_t label = first[row.label - labels];
		const uint64_t *known = map_get(&row_of, label);

		row.label = &labels[label];
		if (!known) {
			is_done = map_put(&row_of, label, used);
			functions->at[used++] = row;
			continue;
		}
		functions->at[*known].guess |= row.guess;
		for (int side = 0; side < 2; side++) {
			functions->at[*known].self[side] += row.self[side];
			functions->at[*known].total[side] += row.total[side];
		}
	}
	functions->count = is_done ? used : functions->count;
	map_free(&row_of);
	return is_done ? 0 : -ENOMEM;
}

int tree_relabel(struct tree *tree, struct functions *functions)
{
	uint32_t *first = first_labels(&tree->labels);
	int err = first ? merge_nodes(tree, first) : -ENOMEM;

	if (!err)
		err = merge_functions(tree, first, functions);
	free(first);
	return err;
}
