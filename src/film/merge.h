/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_MERGE_H
#define FILM_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "film/reader.h"

/*
 * Several films of one machine become one, which says what all of them say: what is the same in two
 * of them (an event, a process, an image, a function, a frame, a stack) is in it once, samples and
 * calls come in order of wall time, losses are added up. Times of samples are kept to 1024 ns. Its
 * blocks are large: films that were written second by second, also a single one, become smaller.
 * It takes several times the memory of the films' tables (film_tables_of()); film_merge_files() of
 * one large film takes about twice that memory, as it only copies frames and stacks.
 */
struct film_merge;

/*
 * Begins the film at path, replacing a film that is there; null: it is kept nowhere. 0 or a
 * negative errno with *why filled.
 */
int film_merge_begin(const char *path, struct film_merge **merge, struct fail *why);

/*
 * Before the first film is added: what the labels of the film that is made are, instead of those
 * that the films say, which must all say the same. They must live until film_merge_end().
 */
void film_merge_label(struct film_merge *merge, const char *labels);

/*
 * Before the first film is added: they are of one recorder, one after the other. Their monotonic
 * clock is the same; wall time, which may have been set between two of them, is that of the first.
 */
void film_merge_one_clock(struct film_merge *merge);

/*
 * Adds all of a film. Those of a machine are to be given in order of wall time. After an error the
 * film at path is incomplete: only film_merge_end() without keeping it is right. -EINVAL:
 * films of another machine or with other labels; -ERANGE: its clock says that it is older than
 * monotonic time can tell; -EBADMSG: it is damaged.
 */
int film_merge_add(struct film_merge *merge, struct film *film, struct fail *why);

/* The same of the film at path. */
int film_merge_add_file(struct film_merge *merge, const char *path, struct fail *why);

/* Closes the film, or removes it if it is not to be kept; frees merge in every case. */
int film_merge_end(struct film_merge *merge, bool keep, struct fail *why);

/*
 * All of that for the films at paths, in any order. is_final: the film is not expected to be merged
 * again, so it takes longer and becomes smaller: films are read twice, and the catalogue is written
 * in a better order (ordered.h). *bad is the index of the film that could not be read or added, or
 * count if it was something else that failed.
 */
int film_merge_files(const char *const *paths, size_t count, const char *to, bool is_final,
		     size_t *bad, struct fail *why);

#endif
