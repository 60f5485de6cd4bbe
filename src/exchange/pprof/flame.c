// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/writer.h"

#include <stdlib.h>

#include "film/events.h"
#include "exchange/pprof/profile.h"
#include "query/flame.h"

/*
 * A flame in pprof's format (profile.proto, see exchange/pprof/film.h), where the single frames of
 * a film are not known any more: each label is a function and a location, without an address.
 *
 * A comparison is what "go tool pprof -normalize -diff_base BEFORE NOW" makes of two profiles (its
 * fetch.go): the samples of the earlier side are negative and have a label, by which pprof takes
 * them for the whole that percentages are of. But for which side is scaled: here it is the earlier
 * one, as wherever stackcam compares, so that what is positive is time that was spent.
 */
#define BASE_KEY   "pprof::base"
#define BASE_VALUE "true"

struct writer {
	struct pprof_profile out;
	const struct flame *flame;
	struct labels labels;
	uint32_t *label_of;
	struct labels images; /* names alone */
	struct buf locations, values, base;
};

/* The number of the mapping of an image, from 1; 0: it has none. */
static uint64_t mapping_of(struct writer *w, const char *image)
{
	uint32_t id;

	if (!*image)
		return 0;
	id = label_intern(&w->images, &(struct label){.name = image, .image = "", .file = ""});
	w->out.failed |= id == LABEL_NONE;
	return id + 1ull;
}

/* Locations and functions have the number of their label, from 1; a group is one, too. */
static void put_locations(struct writer *w)
{
	uint64_t id = 0;

	vec_foreach (&w->labels.all, label) {
		uint64_t name = pprof_string(&w->out, label->name);

		id++;
		pprof_put_function(&w->out, id, name, pprof_string(&w->out, label->file));
		pprof_add_line(&w->out, id, label->line);
		pprof_put_location(&w->out, id, mapping_of(w, label->image), 0);
	}
}

static void put_mappings(struct writer *w)
{
	uint64_t id = 0;

	vec_foreach (&w->images.all, image)
		pprof_put_mapping(&w->out, &(struct pprof_mapping){
						   .id = ++id,
						   .file = image->name,
						   .build_id = "",
						   .is_named = true,
					   });
}

/* Leaf first. The value is an int64 there. */
static void put_sample(struct writer *w, uint32_t node, uint64_t value, bool is_base)
{
	static const struct buf none;
	uint64_t limited = value < INT64_MAX ? value : INT64_MAX;

	if (!value)
		return;
	for (uint32_t at = node; at; at = w->flame->nodes[at].parent)
		buf_put_varint(&w->locations, w->label_of[at] + 1ull);
	buf_put_varint(&w->values, is_base ? -limited : limited);
	if (is_base && !w->base.count)
		pprof_add_label(&w->out, &w->base, BASE_KEY, BASE_VALUE);
	pprof_put_sample(&w->out, &w->locations, &w->values, is_base ? &w->base : &none);
}

static void put_samples(struct writer *w)
{
	for (uint32_t i = 1; i < w->flame->count; i++) {
		put_sample(w, i, w->flame->nodes[i].self, false);
		put_sample(w, i, w->flame->nodes[i].before_self, true);
	}
}

static void put_comments(struct writer *w, const struct pprof_about *about)
{
	pprof_put_text(&w->out, PPROF_COMMENT, w->flame->title);
	for (size_t i = 0; i < about->comment_count; i++)
		pprof_put_text(&w->out, PPROF_COMMENT, about->comments[i]);
	if (w->flame->is_diff)
		pprof_put_text(&w->out, PPROF_COMMENT,
			       "negative: before, scaled to the total of now");
}

int pprof_write_flame(const struct flame *flame, const struct pprof_about *about, FILE *out)
{
	struct writer w = {.flame = flame};
	int err = flame_labels(flame, &w.labels, &w.label_of), finished;

	pprof_begin(&w.out, out);
	if (!err) {
		pprof_put_type(&w.out, PPROF_SAMPLE_TYPE, flame->event,
			       event_unit_abroad(flame->unit));
		pprof_put_number(&w.out, PPROF_TIME_NANOS, about->from);
		pprof_put_number(&w.out, PPROF_DURATION_NANOS, about->duration);
		put_comments(&w, about);
		put_samples(&w);
		put_locations(&w);
		put_mappings(&w);
	}
	finished = pprof_end(&w.out);
	free(w.label_of);
	labels_free(&w.labels);
	labels_free(&w.images);
	buf_free(&w.locations);
	buf_free(&w.values);
	buf_free(&w.base);
	return err ? err : finished;
}
