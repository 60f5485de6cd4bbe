// SPDX-License-Identifier: Apache-2.0
#include "exchange/pprof/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Puts p->message as a field of the profile, and hands what has come together to gzip. */
static void put_field(struct pprof_profile *p, enum pprof_field field)
{
	proto_message(&p->out, field, &p->message);
	if (p->out.count > 65536)
		gzip_add(&p->gzip, &p->out);
}

/* Adds a string that the table does not have, which owns it then. */
static uint64_t add_string(struct pprof_profile *p, char *string, uint64_t hash)
{
	if (!vec_push(&p->strings, string)) {
		free(string);
		p->failed = true;
		return 0;
	}
	if (!map_put(&p->string_of, hash, p->strings.count - 1))
		p->failed = true;
	return p->strings.count - 1;
}

uint64_t pprof_string(struct pprof_profile *p, const char *s)
{
	char *safe = text_safe(s, "");
	uint64_t hash = safe ? hash_bytes(safe, strlen(safe)) : 0, *known;

	if (!safe) {
		p->failed = true;
		return 0;
	}
	while ((known = map_get(&p->string_of, hash))) {
		if (!strcmp(p->strings.at[*known], safe)) {
			free(safe);
			return *known;
		}
		hash++;
	}
	return add_string(p, safe, hash);
}

void pprof_begin(struct pprof_profile *p, FILE *out)
{
	*p = (struct pprof_profile){.failed = false};
	gzip_start(&p->gzip, out);
	/* the table's first entry must be "" */
	pprof_string(p, "");
}

static void put_strings(struct pprof_profile *p)
{
	vec_foreach (&p->strings, s) {
		buf_put_text(&p->message, *s);
		put_field(p, PPROF_STRING);
	}
}

int pprof_end(struct pprof_profile *p)
{
	int err;

	if (!p->failed)
		put_strings(p);
	gzip_add(&p->gzip, &p->out);
	err = gzip_finish(&p->gzip);
	if (!err && (p->failed || p->message.failed || p->inner.failed || p->lines.failed))
		err = -ENOMEM;
	vec_foreach (&p->strings, s)
		free(*s);
	vec_free(&p->strings);
	map_free(&p->string_of);
	buf_free(&p->out);
	buf_free(&p->message);
	buf_free(&p->inner);
	buf_free(&p->lines);
	return err;
}

void pprof_put_type(struct pprof_profile *p, enum pprof_field field, const char *type,
		    const char *unit)
{
	proto_number(&p->message, 1, pprof_string(p, type));
	proto_number(&p->message, 2, pprof_string(p, unit));
	put_field(p, field);
}

void pprof_put_number(struct pprof_profile *p, enum pprof_field field, uint64_t value)
{
	proto_number(&p->out, field, value);
}

void pprof_put_text(struct pprof_profile *p, enum pprof_field field, const char *text)
{
	proto_number(&p->out, field, pprof_string(p, text));
}

void pprof_add_label(struct pprof_profile *p, struct buf *labels, const char *key,
		     const char *value)
{
	proto_number(&p->inner, 1, pprof_string(p, key));
	proto_number(&p->inner, 2, pprof_string(p, value));
	proto_message(labels, 3, &p->inner);
}

void pprof_add_number_label(struct pprof_profile *p, struct buf *labels, const char *key,
			    uint64_t value)
{
	proto_number(&p->inner, 1, pprof_string(p, key));
	proto_number(&p->inner, 3, value);
	proto_message(labels, 3, &p->inner);
}

void pprof_put_sample(struct pprof_profile *p, struct buf *locations, struct buf *values,
		      const struct buf *labels)
{
	proto_message(&p->message, 1, locations);
	proto_message(&p->message, 2, values);
	buf_put(&p->message, labels->at, labels->count);
	p->failed |= labels->failed;
	put_field(p, PPROF_SAMPLE);
}

void pprof_put_function(struct pprof_profile *p, uint64_t id, uint64_t name, uint64_t file)
{
	proto_number(&p->message, 1, id);
	proto_number(&p->message, 2, name);
	proto_number(&p->message, 3, name);
	proto_number(&p->message, 4, file);
	put_field(p, PPROF_FUNCTION);
}

void pprof_add_line(struct pprof_profile *p, uint64_t function, uint32_t line)
{
	proto_number(&p->inner, 1, function);
	proto_number(&p->inner, 2, line);
	proto_message(&p->lines, 4, &p->inner);
}

void pprof_put_location(struct pprof_profile *p, uint64_t id, uint64_t mapping, uint64_t address)
{
	proto_number(&p->message, 1, id);
	proto_number(&p->message, 2, mapping);
	proto_number(&p->message, 3, address);
	buf_put(&p->message, p->lines.at, p->lines.count);
	p->lines.count = 0;
	put_field(p, PPROF_LOCATION);
}

void pprof_put_mapping(struct pprof_profile *p, const struct pprof_mapping *mapping)
{
	proto_number(&p->message, 1, mapping->id);
	proto_number(&p->message, 3, mapping->end);
	proto_number(&p->message, 5, pprof_string(p, mapping->file));
	proto_number(&p->message, 6, pprof_string(p, mapping->build_id));
	/* has_functions, has_filenames, has_line_numbers, has_inline_frames */
	for (unsigned int has = 7; has <= 10 && mapping->is_named; has++)
		proto_number(&p->message, has, 1);
	put_field(p, PPROF_MAPPING);
}
