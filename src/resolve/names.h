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
 * Names the frames of a film. Frames are collected by image and named together, because one pass
 * over an image's symbols costs the same for one address as for a thousand.
 */
struct names;
struct probes;

/*
 * options->leaves_builds: frames of files with a build id keep their places, where the code of
 * their functions begins as unwind information has it, and get no names. probes: loaded; used to
 * look up kernel symbols. allowance: for reading files; owned by the caller.
 */
int names_new(const struct symbol_options *options, struct film_writer *film, struct probes *probes,
	      struct allowance *allowance, struct names **names);
void names_free(struct names *names);

/* Queue a frame to be named: of code in a file or the vDSO, */
void names_want(struct names *names, const struct image *image, uint32_t frame, uint64_t address);
/* of the kernel, */
void names_want_kernel(struct names *names, uint32_t frame, uint64_t address);
/* and of JIT code of a process. */
void names_want_jit(struct names *names, pid_t pid, uint32_t frame, uint64_t address);

/*
 * A number that increases when a process's JIT code was replaced by code with another name: later
 * frames must not share ids with earlier ones.
 */
uint32_t names_jit_age(const struct names *names, pid_t pid);

/* Names the queued frames of an image or process that is about to disappear. */
void names_image_gone(struct names *names, const struct image *image);
void names_process_gone(struct names *names, pid_t pid);

/*
 * Names some of the queued frames; call it a few times a second. It works less and less often, so
 * that a film that is cut short has most of its names, and JIT code is named while its process and
 * its perf map exist.
 */
void names_early(struct names *names, uint64_t now);

/*
 * The same for a film that is read while it grows: names all queued frames every few seconds,
 * within a small share of the time. True: the names of all frames so far are final.
 */
bool names_settle(struct names *names, uint64_t now);

/* Names all queued frames. The kernel's many symbols stay in memory until names_free(). */
void names_all(struct names *names);

/* Continues with another film, after names_all(). */
void names_turn(struct names *names, struct film_writer *film);

/* The argument of symbols_of_image() for a mapped file. It points into *image. */
struct symbol_image names_image(const struct image *image);

/* The number of frames to be named, and of frames that got a name. */
void names_statistics(const struct names *names, uint64_t *wanted, uint64_t *named);

#endif
