/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <stdarg.h>

/*
 * Why something failed, in words, for the person who runs stackcam.
 *
 * Inside, functions return a negative errno. A function whose failure a person will read also takes
 * a struct fail and fills it at the place that knows most. Only a verb prints it, once, as
 *
 *	stackcam: <what failed>: <why>; <what to do>
 *
 * A struct fail needs no clean-up. A null pointer is allowed everywhere: the words are dropped.
 */
struct fail {
	int err;	 /* negative errno, 0: nothing failed */
	char what[512];	 /* what failed and why */
	char to_do[256]; /* what the reader can do about it; may be empty */
};

/*
 * Fills *f and returns err (a negative errno), so that "return fail(f, -ENOENT, …)" reads well.
 * to_do may be null. The words may hold bytes from hostile sources: fail_print() escapes them.
 */
int fail(struct fail *f, int err, const char *to_do, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * As fail(), and appends ": " and the words for err. If too many files are open, what to do is said
 * here: to raise the limit.
 */
int fail_errno(struct fail *f, int err, const char *to_do, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints "stackcam: …" to standard error, control characters escaped. */
void fail_print(const struct fail *f);

/* The exit status of design: 3 for a lack of permission or kernel support, else 1. */
int fail_exit_status(const struct fail *f);

#endif
