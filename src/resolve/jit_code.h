/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_JIT_CODE_H
#define RESOLVE_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "symbol/code_table.h"

/*
 * Names of code that a process made while it ran, from what its runtime writes: a jitdump, which
 * the process maps so that it is found, and /tmp/perf-PID.map, both as the process sees them (its
 * root, its own pid). Any user who can write to /tmp could have written such a map, so a file is
 * believed only if it is regular, no link, belongs to the process's user or to root, and was
 * written to since the process began. The files are kept open: they can be asked when the process
 * is gone.
 */
struct jit_code;
struct far_files;

/*
 * far: opens its files, may be null (process/far_files.h). Null: no memory. pid is the recorder's
 * number of the process.
 */
struct jit_code *jit_code_new(pid_t pid, struct far_files *far);
void jit_code_free(struct jit_code *code);

/*
 * Reads what was added to the files since the last call, if anything was: *more. last: the process
 * is gone. Returns 0; -ENOENT: there is no file; other errors: why one of the files could not be
 * read or is not believed; the others were.
 */
int jit_code_read(struct jit_code *code, bool last, bool *more, struct fail *why);

/*
 * Answers questions (symbol/code_table.h), which change places, from what was read. The answers'
 * source and record together tell whether two of them are the same. Returns 0 or -E2BIG: not all
 * were answered.
 */
int jit_code_find(const struct jit_code *code, struct code_question *questions, size_t count);

/* Functions that were forgotten over the limit of what is kept, so far. */
uint64_t jit_code_refused(const struct jit_code *code);

/* Bytes of maps that were passed over since there was too much that is newer, so far. */
uint64_t jit_code_passed(const struct jit_code *code);

/* Functions that are kept, and to forget the older half of them. */
size_t jit_code_held(const struct jit_code *code);
void jit_code_forget(struct jit_code *code);

/* The name that an answer stands for; false: there is none any more. */
bool jit_code_name(struct jit_code *code, const struct code_question *answered,
		   struct code_name *name);

#endif
