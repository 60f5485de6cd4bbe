// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/text.h"
#include "exchange/protobuf.h"
#include "film/events.h"
#include "exchange/pprof/film.h"
#include "query/flame_labels.h"

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

struct profile {
	const struct flame *flame;
	struct gzip gzip;
	struct buf out, message, inner;
	struct labels labels;
	uint32_t *label_of;
	struct labels strings; /* names alone; numbered from 1, as 0 is the empty one */
	struct labels images;
	bool failed;
};

static void put_field(struct profile *p, enum pprof_field field)
{
	proto_message(&p->out, field, &p->message);
	if (p->out.count > 65536)
		gzip_take(&p->gzip, &p->out);
}

static uint32_t intern(struct profile *p, struct labels *to, const char *s)
{
	uint32_t id = label_intern(to, &(struct label){.name = s, .image = "", .file = ""});

	p->failed |= id == LABEL_NONE;
	return id;
}

static uint64_t string_index(struct profile *p, const char *s)
{
	return *s ? intern(p, &p->strings, s) + 1ull : 0;
}

/* Locations and functions have the number of their label, from 1; a group is one, too. */
static void put_locations(struct profile *p)
{
	uint64_t id = 0;

	vec_foreach (&p->labels.all, label) {
		id++;
		proto_number(&p->message, 1, id);
		proto_number(&p->message, 2, string_index(p, label->name));
		proto_number(&p->message, 3, string_index(p, label->name));
		proto_number(&p->message, 4, string_index(p, label->file));
		put_field(p, PPROF_FUNCTION);
		proto_number(&p->message, 1, id);
		if (*label->image)
			proto_number(&p->message, 2, intern(p, &p->images, label->image) + 1ull);
		proto_number(&p->inner, 1, id);
		proto_number(&p->inner, 2, label->line);
		proto_message(&p->message, 4, &p->inner);
		put_field(p, PPROF_LOCATION);
	}
}

static void put_mappings(struct profile *p)
{
	uint64_t id = 0;

	vec_foreach (&p->images.all, image) {
		proto_number(&p->message, 1, ++id);
		proto_number(&p->message, 5, string_index(p, image->name));
		/* there is no function, file, line or inlined function to look up */
		for (unsigned int has = 7; has <= 10; has++)
			proto_number(&p->message, has, 1);
		put_field(p, PPROF_MAPPING);
	}
}

/* Leaf first. The value is an int64 there. */
static void put_sample(struct profile *p, uint32_t node, uint64_t value, bool is_base)
{
	uint64_t limited = value < INT64_MAX ? value : INT64_MAX;

	if (!value)
		return;
	for (uint32_t at = node; at; at = p->flame->nodes[at].parent)
		buf_put_varint(&p->inner, p->label_of[at] + 1ull);
	proto_message(&p->message, 1, &p->inner);
	buf_put_varint(&p->inner, is_base ? -limited : limited);
	proto_message(&p->message, 2, &p->inner);
	if (is_base) {
		proto_number(&p->inner, 1, string_index(p, BASE_KEY));
		proto_number(&p->inner, 2, string_index(p, BASE_VALUE));
		proto_message(&p->message, 3, &p->inner);
	}
	put_field(p, PPROF_SAMPLE);
}

static void put_samples(struct profile *p)
{
	for (uint32_t i = 1; i < p->flame->count; i++) {
		put_sample(p, i, p->flame->nodes[i].self, false);
		put_sample(p, i, p->flame->nodes[i].before_self, true);
	}
}

static void put_comment(struct profile *p, const char *text)
{
	proto_number(&p->out, PPROF_COMMENT, string_index(p, text));
}

static void put_comments(struct profile *p, const struct pprof_about *about)
{
	put_comment(p, p->flame->title);
	for (size_t i = 0; i < about->comment_count; i++)
		put_comment(p, about->comments[i]);
	if (p->flame->is_diff)
		put_comment(p, "negative: before, scaled to the total of now");
}

static void put_strings(struct profile *p)
{
	proto_text(&p->out, PPROF_STRING, "");
	vec_foreach (&p->strings.all, string) {
		char *safe = text_safe(string->name, "");

		p->failed |= !safe;
		if (safe)
			proto_text(&p->out, PPROF_STRING, safe);
		free(safe);
	}
	gzip_take(&p->gzip, &p->out);
}

int pprof_write_flame(const struct flame *flame, const struct pprof_about *about, FILE *out)
{
	struct profile p = {.flame = flame};
	int err = flame_labels(flame, &p.labels, &p.label_of);

	gzip_start(&p.gzip, out);
	if (!err) {
		proto_number(&p.message, 1, string_index(&p, flame->event));
		proto_number(&p.message, 2, string_index(&p, event_unit_abroad(flame->unit)));
		put_field(&p, PPROF_SAMPLE_TYPE);
		proto_number(&p.out, PPROF_TIME_NANOS, about->from);
		proto_number(&p.out, PPROF_DURATION_NANOS, about->duration);
		put_comments(&p, about);
		put_samples(&p);
		put_locations(&p);
		put_mappings(&p);
		put_strings(&p);
	}
	if (p.failed || p.message.failed || p.inner.failed)
		err = -ENOMEM;
	if (gzip_finish(&p.gzip) && !err)
		err = -ENOMEM;
	free(p.label_of);
	labels_free(&p.labels);
	labels_free(&p.strings);
	labels_free(&p.images);
	buf_free(&p.out);
	buf_free(&p.message);
	buf_free(&p.inner);
	return err;
}
