// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text.h"

static void set_words(struct fail *f, int err, const char *to_do, const char *format, va_list args)
{
	f->err = err;
	vsnprintf(f->what, sizeof(f->what), format, args);
	snprintf(f->to_do, sizeof(f->to_do), "%s", to_do ? to_do : "");
}

int fail(struct fail *f, int err, const char *to_do, const char *format, ...)
{
	va_list args;

	if (!f)
		return err;
	va_start(args, format);
	set_words(f, err, to_do, format, args);
	va_end(args);
	return err;
}

/* What helps is the same for all that may fail so. */
static void say_limit_of_files(struct fail *f)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	snprintf(f->to_do, sizeof(f->to_do),
		 "this process may open no more than %llu: 'ulimit -n 4096' raises that, or "
		 "LimitNOFILE= of its unit",
		 (unsigned long long)files.rlim_cur);
}

int fail_errno(struct fail *f, int err, const char *to_do, const char *format, ...)
{
	va_list args;
	size_t used;

	if (!f)
		return err;
	va_start(args, format);
	set_words(f, err, to_do, format, args);
	va_end(args);
	used = strlen(f->what);
	snprintf(f->what + used, sizeof(f->what) - used, ": %s", strerror(-err));
	if (err == -EMFILE)
		say_limit_of_files(f);
	return err;
}

void fail_print(const struct fail *f)
{
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, f->what);
	if (f->to_do[0]) {
		fputs("; ", stderr);
		text_print_safe(stderr, f->to_do);
	}
	fputc('\n', stderr);
}

int fail_exit_status(const struct fail *f)
{
	switch (-f->err) {
	case EPERM:
	case EACCES:
	case ENOSYS:
	case EOPNOTSUPP:
		return 3;
	default:
		return 1;
	}
}
