/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_PPROF_PROFILE_H
#define EXCHANGE_PPROF_PROFILE_H

#include <stdio.h>

#include "base/gzip.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/protobuf.h"

/* Field numbers of the message Profile in github.com/google/pprof/proto/profile.proto. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
	PPROF_COMMENT,
	PPROF_DEFAULT_SAMPLE_TYPE,
};

/*
 * Writes a profile.proto packed by gzip, message by message. Messages refer to each other by ids
 * that the caller chooses, from 1 on, and may come in any order. Errors are kept until
 * pprof_end().
 *
 *	pprof_begin()
 *	pprof_put_type(), pprof_put_number(), pprof_put_text()
 *	pprof_put_sample()
 *	pprof_put_function(), then for each location pprof_add_line() and pprof_put_location()
 *	pprof_put_mapping()
 *	pprof_end()		in every case
 */
struct pprof_profile {
	struct gzip gzip;
	struct buf out;	    /* on its way to gzip */
	struct buf message; /* under construction, … */
	struct buf inner;   /* … one inside it, … */
	struct buf lines;   /* … and the lines of the next location */
	vec(char *) strings;
	struct map string_of; /* by hash; the next hash where two share one */
	bool failed;
};

/* The caller closes out, and sees there whether writing failed. */
void pprof_begin(struct pprof_profile *p, FILE *out);

/* Returns 0 or -ENOMEM. */
int pprof_end(struct pprof_profile *p);

/* The index of a string, made harmless, in the profile's table; 0 is "". */
uint64_t pprof_string(struct pprof_profile *p, const char *s);

/* A ValueType: PPROF_SAMPLE_TYPE or PPROF_PERIOD_TYPE. */
void pprof_put_type(struct pprof_profile *p, enum pprof_field field, const char *type,
		    const char *unit);
void pprof_put_number(struct pprof_profile *p, enum pprof_field field, uint64_t value);

/* PPROF_COMMENT or PPROF_DEFAULT_SAMPLE_TYPE. */
void pprof_put_text(struct pprof_profile *p, enum pprof_field field, const char *text);

/* Adds a label to those of a sample. */
void pprof_add_label(struct pprof_profile *p, struct buf *labels, const char *key,
		     const char *value);
void pprof_add_number_label(struct pprof_profile *p, struct buf *labels, const char *key,
			    uint64_t value);

/*
 * A sample: ids of its locations as varints, leaf first; its values as varints, one for each sample
 * type; its labels. Empties locations and values.
 */
void pprof_put_sample(struct pprof_profile *p, struct buf *locations, struct buf *values,
		      const struct buf *labels);

/* name and file: indexes of strings. */
void pprof_put_function(struct pprof_profile *p, uint64_t id, uint64_t name, uint64_t file);

/* A line of the next location; line: 0 where it is not known. Innermost first. */
void pprof_add_line(struct pprof_profile *p, uint64_t function, uint32_t line);

/* mapping and address: 0 where there is none. */
void pprof_put_location(struct pprof_profile *p, uint64_t id, uint64_t mapping, uint64_t address);

struct pprof_mapping {
	uint64_t id;
	uint64_t end;	      /* of its addresses, which begin at 0; 0: not known */
	const char *file;     /* its path */
	const char *build_id; /* in hexadecimal; "": none */
	bool is_named;	      /* readers need not look for functions, files and lines */
};
void pprof_put_mapping(struct pprof_profile *p, const struct pprof_mapping *mapping);

#endif
