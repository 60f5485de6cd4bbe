// SPDX-License-Identifier: Apache-2.0
/*
 * From sums by path to a tree. A path's number is above its parent's, so all is done by going
 * through arrays in their order: no text is compared and nothing is looked up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/ask_private.h"

/* Fresh memory is zero without being touched: of a large dictionary most is never needed. */
static bool grow(void **array, size_t used, size_t room, size_t size)
{
	void *grown = calloc(room, size);

	if (!grown)
		return false;
	if (*array)
		memcpy(grown, *array, used * size);
	free(*array);
	*array = grown;
	return true;
}

/*
 * Makes room for all paths of the view. The first side finds all zero; for the second, select() may
 * have found more paths, and what the first one added stays.
 */
static bool make_room(struct sums_view *view, enum tree_side side)
{
	struct path_sums *p = &view->by_path;
	size_t used = p->room, room = used;

	if (view->paths > used) {
		room = view->paths + view->paths / 4 + PIECE;
		if (side == TREE_NOW)
			sums_drop(p);
		if ((p->sums[0] && !grow((void **)&p->sums[0], used, room, sizeof(*p->sums[0]))) ||
		    (p->sums[1] && !grow((void **)&p->sums[1], used, room, sizeof(*p->sums[1]))) ||
		    !grow((void **)&p->seen, used, room, sizeof(*p->seen)) ||
		    !grow((void **)&p->nodes, used, room, sizeof(*p->nodes)))
			return false;
		p->room = room;
	}
	if (!p->sums[side])
		p->sums[side] = calloc(room, sizeof(*p->sums[side]));
	return p->sums[side];
}

void sums_drop(struct path_sums *p)
{
	free(p->sums[0]);
	free(p->sums[1]);
	free(p->seen);
	free(p->nodes);
	*p = (struct path_sums){0};
}

struct adder {
	struct path_sums *sums;
	enum tree_side side;
	struct store_sum *sum;
	struct fail *why;
};

static int add_row(void *context, const struct sums_row *row)
{
	struct adder *a = context;
	uint64_t *sums = a->sums->sums[a->side];
	uint8_t *seen = a->sums->seen;

	for (size_t i = 0; i < row->count; i++) {
		sums[row->path[i]] += row->value[i];
		seen[row->path[i]] = SEEN_SELF;
	}
	a->sum->truncated += row->sum.truncated;
	a->sum->guessed += row->sum.guessed;
	return sum_add(a->sum, row->sum.samples, row->sum.total, a->why);
}

int paths_add(const struct asked *asked, struct sums_view *view, enum tree_side side,
	      struct store_sum *sum, struct fail *why)
{
	struct adder adder = {&view->by_path, side, sum, why};

	if (!make_room(view, side))
		return fail_errno(why, -ENOMEM, NULL, "cannot add up the samples");
	return view->verbs->each(asked, view, SUMS_PATHS, add_row, &adder, why);
}

/* What is made of paths while a tree grows. */
struct builder {
	const struct dictionary *d;
	struct path_sums *sums;
	struct tree *tree;
	uint32_t *labels; /* of functions, or of images where the tree is of those; plus one */
	struct map child_of;
	uint8_t *not_inlined; /* by node: some samples passed it where it was called */
};

size_t paths_mark(struct sums_view *view)
{
	const struct dictionary *d = view->dictionary;
	uint8_t *seen = view->by_path.seen;
	size_t count = 1;

	for (size_t i = view->paths; i-- > 1;) {
		const struct dictionary_path *path;

		if (!seen[i])
			continue;
		path = dictionary_path_at(d, (uint32_t)i);
		count += path->plain == i;
		if (seen[i] & SEEN_SELF) {
			seen[path->parent] |= SEEN_SELF;
			if (path->plain != i)
				seen[path->plain] |= SEEN_PLAIN;
		} else {
			seen[path->parent] |= SEEN_PLAIN;
		}
	}
	return count;
}

uint32_t paths_label(const struct dictionary *d, struct tree *tree, uint32_t *labels, uint32_t id)
{
	const struct dictionary_function *f = dictionary_function_at(d, id);
	const struct film_image *image = dictionary_image_at(d, f->image);
	struct label label = {
		.name = f->name,
		.image = image->path,
		.of_image = f->is_place ? image : NULL,
		.kind = f->kind,
		.file = "",
	};
	uint32_t made;

	if (labels[id])
		return labels[id] - 1;
	if (tree->shape.by_image && f->kind != FILM_FRAME_MARK) {
		made = label_of_image(&tree->labels, image);
	} else {
		/* functions of a dictionary differ where labels do */
		made = (uint32_t)tree->labels.all.count;
		if (!vec_push(&tree->labels.all, label))
			made = LABEL_NONE;
	}
	if (made != LABEL_NONE)
		labels[id] = made + 1;
	return made;
}

static uint32_t push_node(struct builder *b, uint32_t parent, uint32_t label)
{
	struct tree *tree = b->tree;

	/* there is room */
	tree->nodes.at[tree->nodes.count] = (struct tree_node){
		.parent = parent,
		.label = label,
		.depth = tree->nodes.at[parent].depth + 1,
	};
	return (uint32_t)tree->nodes.count++;
}

/* A tree of images: a run of frames of one image is one node, and so are siblings of one. */
static uint32_t image_node(struct builder *b, uint32_t parent, uint32_t label)
{
	uint64_t key = (uint64_t)parent << 32 | label, *known;

	if (parent && b->tree->nodes.at[parent].label == label)
		return parent;
	known = map_get(&b->child_of, key);
	if (known)
		return (uint32_t)*known;
	if (!map_put(&b->child_of, key, b->tree->nodes.count))
		return 0;
	return push_node(b, parent, label);
}

static int make_nodes(struct builder *b, size_t paths)
{
	struct path_sums *r = b->sums;

	r->nodes[0] = 0;
	r->seen[0] = 0;
	for (size_t i = 1; i < paths; i++) {
		const struct dictionary_path *path;
		uint32_t node, label;

		if (!r->seen[i])
			continue;
		path = dictionary_path_at(b->d, (uint32_t)i);
		if (path->plain != i) {
			node = r->nodes[path->plain];
		} else {
			label = paths_label(b->d, b->tree, b->labels, path->function);
			if (label == LABEL_NONE)
				return -ENOMEM;
			node = b->tree->shape.by_image
				       ? image_node(b, r->nodes[path->parent], label)
				       : push_node(b, r->nodes[path->parent], label);
			if (!node)
				return -ENOMEM;
		}
		r->nodes[i] = node;
		if (r->seen[i] & SEEN_SELF) {
			struct tree_node *at = &b->tree->nodes.at[node];

			at->guess |= path->flags & PATH_GUESS;
			if (!(path->flags & PATH_INLINED) || b->tree->shape.by_image)
				b->not_inlined[node] = 1;
			for (int side = 0; side < 2; side++) {
				if (!r->sums[side])
					continue;
				at->self[side] += r->sums[side][i];
				r->sums[side][i] = 0;
			}
		}
		r->seen[i] = 0;
	}
	return 0;
}

int paths_tree(struct sums_view *view, struct tree *tree)
{
	struct builder b = {.d = view->dictionary, .sums = &view->by_path, .tree = tree};
	size_t paths = view->paths, count;
	int err = -ENOMEM;

	/* nothing was added: there is no event of that name */
	if (!view->by_path.seen || paths > view->by_path.room)
		return 0;
	count = paths_mark(view);
	b.labels = calloc(dictionary_readable(&b.d->functions), sizeof(*b.labels));
	b.not_inlined = calloc(count + 1, 1);
	if (b.labels && b.not_inlined && vec_reserve(&tree->nodes, count + 1))
		err = make_nodes(&b, paths);
	for (size_t i = 1; !err && i < tree->nodes.count; i++)
		tree->nodes.at[i].inlined = !b.not_inlined[i];
	if (err)
		sums_drop(&view->by_path);
	free(b.labels);
	free(b.not_inlined);
	map_free(&b.child_of);
	return err;
}
