/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_FILMS_H
#define CMD_FILMS_H

#include <signal.h>
#include <stddef.h>

#include "base/fail.h"
#include "film/reader.h"

/* The name of a film that comes from standard input. */
#define FILM_FROM_STDIN "-"

/*
 * Opens films of one machine as one film: a single one as it is; several are merged, and one that
 * is FILM_FROM_STDIN is copied, into a temporary file that is gone when this returns. Returns 0 or
 * a negative errno with *why filled; the caller frees the film.
 */
int cmd_films_open(const char *const *paths, size_t count, struct film **film, struct fail *why);

/*
 * Blocks the signals that end the program, so that none leaves a temporary film behind, but for
 * those that it was started to ignore. stop: set to these. The caller restores *before.
 */
void cmd_stops_block(sigset_t *stop, sigset_t *before);

#endif
