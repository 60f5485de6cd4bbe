/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <stdarg.h>

/*
 * An error message for the user of stackcam.
 *
 * Functions return a negative errno. If a user will read the error, the function also has a struct
 * fail parameter, which the code that knows most about the failure fills. Only a verb prints it,
 * once, as
 *
 *	stackcam: <what failed>: <why>; <what to do>
 *
 * A struct fail needs no clean-up. A null pointer is allowed everywhere: the message is discarded.
 */
struct fail {
	int err;	 /* negative errno; 0: no error */
	char what[512];	 /* what failed and why */
	char to_do[256]; /* what the user can do about it; may be "" */
};

/*
 * Fills *f and returns err (a negative errno): "return fail(f, -ENOENT, …)". to_do may be null. The
 * message may contain bytes from hostile sources: fail_print() escapes them.
 */
int fail(struct fail *f, int err, const char *to_do, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * As fail(), and appends ": " and strerror(-err). For EMFILE, advice to raise the limit of open
 * files replaces to_do.
 */
int fail_errno(struct fail *f, int err, const char *to_do, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints "stackcam: …" to standard error and escapes control characters. */
void fail_print(const struct fail *f);

/* The exit status of a verb: 3 if permissions or kernel support are missing, else 1. */
int fail_exit_status(const struct fail *f);

#endif
