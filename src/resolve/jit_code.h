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
 * Names of code that a process generated, from the files that its runtime writes: a jitdump, which
 * the process maps so that profilers find it, and /tmp/perf-PID.map, both as the process sees them
 * (its root, its own pid). Any user can create a map in /tmp, so a file is only trusted if it is a
 * regular file, not a link, belongs to the process's user or to root, and was written after the
 * process began. The files stay open, so that they can be read after the process has ended.
 */
struct jit_code;
struct far_files;

/*
 * pid: in the recorder's namespace. far: opens the files; may be null (process/far_files.h).
 * Returns null without memory.
 */
struct jit_code *jit_code_new(pid_t pid, struct far_files *far);
void jit_code_free(struct jit_code *code);

/*
 * Reads what was added to the files since the last call; *more: whether anything was. last: the
 * process has ended. Returns 0; -ENOENT: there is no file; other errors: why one of the files could
 * not be read or is not trusted; the other file was read.
 */
int jit_code_read(struct jit_code *code, bool last, bool *more, struct fail *why);

/*
 * Answers questions (symbol/code_table.h) from what was read, and reorders them. Two answers with
 * the same source and record are the same function. Returns 0, or -E2BIG: not all were answered.
 */
int jit_code_find(const struct jit_code *code, struct code_question *questions, size_t count);

/* Number of functions so far that exceeded the limit and were dropped. */
uint64_t jit_code_refused(const struct jit_code *code);

/* Bytes of perf maps so far that were skipped because there was too much newer content. */
uint64_t jit_code_passed(const struct jit_code *code);

/* Number of functions in memory; and drops the older half of them. */
size_t jit_code_held(const struct jit_code *code);
void jit_code_forget(struct jit_code *code);

/* The name for an answer; false: it was dropped. */
bool jit_code_name(struct jit_code *code, const struct code_question *answered,
		   struct code_name *name);

#endif
