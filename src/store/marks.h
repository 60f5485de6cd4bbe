/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MARKS_H
#define STORE_MARKS_H

#include "store/ask.h"

/*
 * Marks: moments that clients have named, such as a deployment, and those of new versions, which
 * the store finds by itself. They go with the films of their time.
 */
enum {
	STORE_MARKS_MAX = 10000,   /* when there are more, the oldest is dropped */
	STORE_MARK_NAME_MAX = 255, /* bytes of a host, service or version */
	STORE_MARK_TEXT_MAX = 1000,
};

struct store_mark {
	uint64_t time;			      /* ns since 1970 */
	const char *host, *service, *version; /* "": of all */
	const char *text;
	bool is_derived; /* the version's first sample: to the minute, and without text */
};

/*
 * Keeps a mark, on disk when it returns 0. -EINVAL with *why filled: one of its texts is too long
 * or has control characters, or no film of its time is kept.
 */
int store_mark(struct store *store, const struct store_mark *mark, struct fail *why);

/* The latest of the marks of an ask, at most limit, in the order of their time. */
struct store_mark_list {
	uint64_t from, to; /* the time that was looked at: [from, to) */
	struct store_mark *at;
	size_t count;
	uint64_t others; /* earlier ones */
	struct store_answer_private *private;
};
int store_marks(struct store *store, const struct store_ask *ask, size_t limit,
		struct store_mark_list *list, struct fail *why);
void store_marks_free(struct store_mark_list *list);

/*
 * For store/ask_marks.c: calls emit() with each mark in [from, to) that was kept, in the order of
 * their time. A value of emit() other than 0 ends the walk and is returned; it must not ask the
 * store.
 */
int store_each_mark(struct store *store, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct store_mark *mark), void *context);

#endif
