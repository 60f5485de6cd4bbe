// SPDX-License-Identifier: Apache-2.0
#include "server/put.h"

#include <errno.h>
#include <stdlib.h>

#include "film/film.h"
#include "query/flame.h"
#include "query/flame_prune.h"

void put_time(struct json *j, const char *key, uint64_t time)
{
	json_thousandths(j, key, (int64_t)(time / 1000000));
}

void put_sum(struct json *j, const char *key, const struct store_sum *sum)
{
	json_open(j, key, '{');
	put_time(j, "from", sum->from);
	put_time(j, "to", sum->to);
	json_u64(j, "samples", sum->samples);
	json_u64(j, "total", sum->total);
	json_u64(j, "truncated", sum->truncated);
	json_u64(j, "guessed", sum->guessed);
	json_u64(j, "lost", sum->lost);
	json_u64(j, "lost_samples", sum->lost_samples);
	json_text(j, "unit", sum->unit ? sum->unit : "");
	put_time(j, "complete_from", sum->complete_from);
	put_time(j, "complete_until", sum->complete_until);
	put_time(j, "filmed", sum->filmed);
	json_bool(j, "by_films", sum->by_films);
	json_bool(j, "by_paths", sum->by_paths);
	json_u64(j, "films_damaged", sum->films_damaged);
	json_u64(j, "films_unread", sum->films_unread);
	json_u64(j, "films_unfetched", sum->films_unfetched);
	json_close(j, '}');
}

void put_request_figures(struct json *j, const struct request_figures *figures)
{
	json_u64(j, "count", figures->count);
	json_u64(j, "failed", figures->failed);
	json_u64(j, "open", figures->open);
	json_u64(j, "total", figures->total);
	json_u64(j, "p50", request_figures_quantile(figures, 500));
	json_u64(j, "p90", request_figures_quantile(figures, 900));
	json_u64(j, "p99", request_figures_quantile(figures, 990));
	json_u64(j, "longest", figures->longest);
}

/* "group" for what stands for a process or a thread. */
static const char *kind_name(unsigned int kind)
{
	return kind ? film_frame_kind_name(kind) : "group";
}

static void put_texts(struct json *j, const char *key, const struct labels *labels,
		      const char *(*text_of)(const struct label *label))
{
	json_open(j, key, '[');
	vec_foreach (&labels->all, label)
		json_text(j, NULL, text_of(label));
	json_close(j, ']');
}

static const char *name_of(const struct label *label)
{
	return label->name;
}

static const char *image_of(const struct label *label)
{
	return label->image;
}

static const char *kind_of(const struct label *label)
{
	return kind_name(label->kind);
}

static const char *file_of(const struct label *label)
{
	return label->file;
}

static void put_labels(struct json *j, const struct labels *labels)
{
	bool has_files = false;

	json_open(j, "labels", '{');
	put_texts(j, "name", labels, name_of);
	put_texts(j, "image", labels, image_of);
	put_texts(j, "kind", labels, kind_of);
	vec_foreach (&labels->all, label)
		has_files |= *label->file != 0;
	if (has_files) {
		put_texts(j, "file", labels, file_of);
		json_open(j, "line", '[');
		vec_foreach (&labels->all, label)
			json_u64(j, NULL, label->line);
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_column(struct json *j, const char *key, const struct flame *flame,
		       uint64_t (*number_of)(const struct flame_node *node))
{
	json_open(j, key, '[');
	for (uint32_t i = 0; i < flame->count; i++)
		json_u64(j, NULL, number_of(&flame->nodes[i]));
	json_close(j, ']');
}

static uint64_t parent_of(const struct flame_node *node)
{
	return node->parent;
}

static uint64_t self_of(const struct flame_node *node)
{
	return node->self;
}

static uint64_t total_of(const struct flame_node *node)
{
	return node->total;
}

static uint64_t before_self_of(const struct flame_node *node)
{
	return node->before_self;
}

static uint64_t before_total_of(const struct flame_node *node)
{
	return node->before_total;
}

static uint64_t guess_of(const struct flame_node *node)
{
	return node->guess;
}

static uint64_t inlined_of(const struct flame_node *node)
{
	return node->inlined;
}

static bool has_any(const struct flame *flame, uint64_t (*number_of)(const struct flame_node *node))
{
	for (uint32_t i = 0; i < flame->count; i++)
		if (number_of(&flame->nodes[i]))
			return true;
	return false;
}

static void put_nodes(struct json *j, const struct flame *flame, const uint32_t *label_of)
{
	json_open(j, "nodes", '{');
	put_column(j, "parent", flame, parent_of);
	/* the root stands for all and has none */
	json_open(j, "label", '[');
	for (uint32_t i = 0; i < flame->count; i++)
		json_i64(j, NULL, i ? (int64_t)label_of[i] : -1);
	json_close(j, ']');
	put_column(j, "self", flame, self_of);
	put_column(j, "total", flame, total_of);
	if (flame->is_diff) {
		put_column(j, "before_self", flame, before_self_of);
		put_column(j, "before_total", flame, before_total_of);
	}
	if (has_any(flame, guess_of))
		put_column(j, "guess", flame, guess_of);
	if (has_any(flame, inlined_of))
		put_column(j, "inlined", flame, inlined_of);
	json_close(j, '}');
}

int put_flame(struct json *j, const struct flame *flame, uint32_t most)
{
	struct flame pruned;
	struct labels labels = {0};
	uint32_t hidden, *label_of = NULL;
	int err = flame_prune(flame, most, &pruned, &hidden);

	if (!err)
		err = flame_labels(&pruned, &labels, &label_of);
	if (!err) {
		put_labels(j, &labels);
		put_nodes(j, &pruned, label_of);
		json_u64(j, "hidden", hidden + flame->left_out);
	}
	free(label_of);
	labels_free(&labels);
	flame_free(&pruned);
	return err;
}

static void put_function(struct json *j, const struct function *f, bool is_diff)
{
	json_open(j, NULL, '{');
	json_text(j, "name", f->label->name);
	json_text(j, "image", f->label->image);
	json_text(j, "kind", kind_name(f->label->kind));
	if (*f->label->file) {
		json_text(j, "file", f->label->file);
		json_u64(j, "line", f->label->line);
	}
	json_u64(j, "self", f->self[TREE_NOW]);
	json_u64(j, "total", f->total[TREE_NOW]);
	if (is_diff) {
		json_u64(j, "before_self", f->self[TREE_BEFORE]);
		json_u64(j, "before_total", f->total[TREE_BEFORE]);
	}
	json_close(j, '}');
}

int put_functions(struct json *j, const struct functions *functions, enum function_order order,
		  size_t limit, bool is_diff, uint64_t *others)
{
	const struct function **rows = order == FUNCTIONS_AS_THEY_ARE
					       ? functions_in_order(functions, order)
					       : functions_first(functions, order, &limit);

	*others = functions->left_out;
	for (size_t i = 0; i < functions->count; i++)
		*others += functions->at[i].self[TREE_NOW];
	json_open(j, "functions", '[');
	for (size_t i = 0; rows && i < functions->count && i < limit; i++) {
		put_function(j, rows[i], is_diff);
		*others -= rows[i]->self[TREE_NOW];
	}
	json_close(j, ']');
	free(rows);
	return rows ? 0 : -ENOMEM;
}
