/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_NEW_FILM_H
#define RECORD_NEW_FILM_H

#include "base/fail.h"
#include "film/writer.h"

/* Creates a film of this machine that begins now. */
struct new_film {
	const char *path;     /* null: no file keeps the film, */
	bool in_memory;	      /* unless it is in memory */
	const char *hostname; /* null: the machine's hostname */
	const char *labels;   /* film/labels.h; null: none */
	const char *command;  /* the command line */
};

/* As film_create(). If info is not null, it gets the film's start and wall_offset. */
int new_film(const struct new_film *options, struct film_writer **film, struct film_info *info,
	     struct fail *why);

#endif
