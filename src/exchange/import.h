/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_IMPORT_H
#define EXCHANGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "film/labels.h"
#include "film/writer.h"

/*
 * A film made of what another profiler pushed, whose words are not those of films: its types of
 * values become events, its services processes, its locations frames. The whole push is hostile.
 */
struct import;

/* Whose it is. Strings are cut to what they may be. */
enum {
	IMPORT_NAME_MAX = 255
};
struct import_origin {
	char host[IMPORT_NAME_MAX + 1];	   /* "": not said */
	char service[IMPORT_NAME_MAX + 1]; /* "": not said */
	char labels[FILM_LABELS_SIZE];	   /* others: as in film/labels.h */
	uint64_t labels_lost;		   /* that are too many */
};

/*
 * "service_name", "host.name" … tell the service and the host; labels of protocols ("__name__")
 * tell nothing.
 */
void import_origin_label(struct import_origin *origin, const char *key, const char *value);

/* What must be known before the rest: times in ns since 1970. */
struct import_span {
	uint64_t from, to;
};

/* Whether there was and is such a time. Returns 0 or -EINVAL with *why filled. */
int import_check_span(const struct import_span *span, uint64_t now, struct fail *why);

/* Creates a film at path. Returns 0 or a negative errno with *why filled. */
int import_new(const char *path, const struct import_origin *origin, const struct import_span *span,
	       struct import **film, struct fail *why);

/*
 * Closes the film and frees it. Returns 0, or the error with *why filled that it may have met
 * before.
 */
int import_close(struct import *film, struct fail *why);

/*
 * A type of values: "cpu" in "nanoseconds" is the event on-cpu; others keep their names. Time is
 * kept in ns and sizes in bytes: scale says what a value must be multiplied with. Returns the
 * event's id, 0: it has none.
 */
struct import_type {
	uint32_t event;
	uint64_t scale;
	bool is_level; /* its values are of one moment, the end of the span */
};
struct import_type import_event(struct import *film, const char *name, const char *unit);

/* The process that ran. What is not known is 0 or "". */
struct import_thread {
	const char *service; /* "": by the rules that also hold for processes of this machine */
	uint32_t pid, tid;
	const char *comm; /* of the thread */
	const char *exe, *container;
};
uint32_t import_thread(struct import *film, const struct import_thread *thread);

/* A location: names as for film_name_frame(). */
struct import_place {
	const char *image; /* path of the file, "" */
	const uint8_t *build_id;
	size_t build_id_size;
	enum film_frame_kind kind; /* 0: not said */
	uint64_t address;	   /* in that file; 0: not said */
	const struct film_name *names;
	size_t count;
};
/* Makes an address in the memory of a process, in the mapping of its file, one in that file. */
void import_place_in(struct import_place *place, uint64_t start, uint64_t offset);
uint32_t import_frame(struct import *film, const struct import_place *place);
/*
 * The bytes of a build id that is written as digits; returns their number, 0: it is something else,
 * as Go's.
 */
size_t import_build_id(const char *hex, uint8_t to[FILM_BUILD_ID_MAX]);

uint32_t import_label(struct import *film, const char *text); /* "endpoint=/buy" */
uint32_t import_stack(struct import *film, uint32_t parent, uint32_t frame);

/*
 * A sample at a time, which is moved into the span if it lies outside; with value 0 there is none.
 */
void import_sample(struct import *film, struct import_type type, uint64_t time, uint32_t thread,
		   uint32_t stack, uint64_t value);

/* count samples spread over the span, which have the value together. */
void import_samples(struct import *film, struct import_type type, uint32_t thread, uint32_t stack,
		    uint64_t count, uint64_t value);

/*
 * What the sender says to have lost, in all, of an event or (0) of none. Told again it is the same.
 */
void import_sender_lost(struct import *film, uint32_t event, const char *reason, uint64_t count);

/* Counts what could not be understood. */
void import_lost(struct import *film, uint64_t samples);

/* Whether it has neither samples nor losses. */
bool import_is_empty(const struct import *film);

#endif
