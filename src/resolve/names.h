/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_NAMES_H
#define RESOLVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/allowance.h"
#include "film/writer.h"
#include "symbol/symbols.h"
#include "process/image.h"

/*
 * Names for the frames of a film. Frames wait, by image, until they are named in one go: one pass
 * over an image's symbols costs the same for one address as for a thousand.
 */
struct names;
struct probes;

/*
 * probes: loaded, to ask the kernel for its names. allowance: of the time that reading files may
 * take; it stays the caller's.
 */
int names_new(const struct symbol_options *options, struct film_writer *film, struct probes *probes,
	      struct allowance *allowance, struct names **names);
void names_free(struct names *names);

/* A frame waits to be named. For code of a file (and the vDSO), with its image: */
void names_want(struct names *names, const struct image *image, uint32_t frame, uint64_t address);
/* of the kernel, */
void names_want_kernel(struct names *names, uint32_t frame, uint64_t address);
/* and JIT code of a process. */
void names_want_jit(struct names *names, pid_t pid, uint32_t frame, uint64_t address);

/*
 * Goes up when code was replaced by other code that is called otherwise: frames of that process's
 * JIT code that are seen from then on are others than those before.
 */
uint32_t names_jit_age(const struct names *names, pid_t pid);

/* Names what waits for this image or process now: it is about to be gone. */
void names_image_gone(struct names *names, const struct image *image);
void names_process_gone(struct names *names, pid_t pid);

/*
 * To be called a few times a second: names some of what waits, ever more seldom, so that a film cut
 * short has most of its names, and JIT code has them while its process and its map are there.
 */
void names_early(struct names *names, uint64_t now);

/*
 * The same for a film that is looked at while it grows: names all that waits, every few seconds,
 * but not for more than a small part of the time. True: all frames so far have their name, or will
 * have none.
 */
bool names_settle(struct names *names, uint64_t now);

/* Names all that waits; the kernel's symbols are many, and stay until the end. */
void names_all(struct names *names);

/* Another film: nothing waits any more, names_all() was called. */
void names_turn(struct names *names, struct film_writer *film);

/* What symbols_of_image() takes of a mapped file, which it only refers to. */
struct symbol_image names_image(const struct image *image);

/* Frames that were to be named, and that got a name. */
void names_statistics(const struct names *names, uint64_t *wanted, uint64_t *named);

#endif
