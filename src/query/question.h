/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_QUESTION_H
#define QUERY_QUESTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/regex.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/vec.h"
#include "film/reader.h"
#include "query/when.h"

/* Which samples count. What is not set keeps everything. */
struct filter {
	vec(uint32_t) pids;
	vec(uint32_t) tids;
	vec(const char *) comms;      /* globs on the name of the thread or of its process */
	struct regex *focus, *ignore; /* on the names of functions; null: all, none */
	const char *focus_text, *ignore_text;
	struct when from, to;
	/* a bit for each enum wait_class that counts; 0: all, and what is not a wait */
	uint64_t waits;
	/*
	 * of memory in use: only what had been allocated at least that long before, ns; 0: all
	 */
	uint64_t leaks;
	const char *leaks_text;
	/* of a level: only what there is more than so long before, ns; 0: all */
	uint64_t grown;
	const char *grown_text;
	/* the id of a request, or its number: only what was done for it; null: all */
	const char *request;
	/* which processes count, by their id in the film; null: all */
	bool (*keeps)(void *context, const struct film *film, uint32_t process);
	void *keeps_context;
};

/* How stacks are merged to a flame. */
struct shape {
	bool by_process, by_thread; /* frames at the root that group */
	bool by_name;		    /* with by_process: all processes of a name are one group */
	bool by_image;		    /* one frame for consecutive frames of one image */
	bool lines;		    /* a frame per source line, not per function */
	bool inlines;		    /* inlined functions as frames of their own */
	bool native; /* the interpreter's own frames, which run those of a language */
	/*
	 * of waits: what they were for, and the thread that ended them with its stack, at the root
	 */
	bool by_wait, by_waker;
	bool by_lock, by_holder; /* of waits for locks: which one, and who held it */
	bool by_endpoint;	 /* of the request that the thread worked on, at the root */
	bool by_label;		 /* what programs say of their work, as frames at the root */
};

/*
 * What is asked of a film. All zero asks for everything of the film's first event; of calls only
 * where it has no other.
 */
struct question {
	const char *event; /* null: the first one, calls last */
	struct filter filter;
	struct shape shape;
	const char *by_value; /* --by arg.NAME, or result: of calls with values; null: none */
	bool is_raw;	      /* of calls: the tracer's own cost is not subtracted */
	bool idle; /* of waits: with those for new work, which are an event of their own */
};

/* The options of a question, the same for every verb that asks one. */
enum question_option {
	QUESTION_EVENT = 'e',
	QUESTION_PID = 'p',
	QUESTION_TID = 't',
	QUESTION_COMM = 'n',
	QUESTION_FOCUS = 0x1000,
	QUESTION_IGNORE,
	QUESTION_FROM,
	QUESTION_TO,
	QUESTION_BY,
	QUESTION_LINES,
	QUESTION_INLINES,
	QUESTION_NATIVE,
	QUESTION_RAW,
	QUESTION_WAIT,
	QUESTION_IDLE,
	QUESTION_LEAKS,
	QUESTION_GROWN,
	QUESTION_REQUEST,
};

#define QUESTION_SHORT_OPTIONS "e:p:t:n:"

/* clang-format off */
#define QUESTION_LONG_OPTIONS                                                                      \
	{"event", required_argument, NULL, QUESTION_EVENT},                                        \
	{"pid", required_argument, NULL, QUESTION_PID},                                            \
	{"tid", required_argument, NULL, QUESTION_TID},                                            \
	{"comm", required_argument, NULL, QUESTION_COMM},                                          \
	{"name", required_argument, NULL, QUESTION_COMM},                                          \
	{"focus", required_argument, NULL, QUESTION_FOCUS},                                        \
	{"ignore", required_argument, NULL, QUESTION_IGNORE},                                      \
	{"from", required_argument, NULL, QUESTION_FROM},                                          \
	{"to", required_argument, NULL, QUESTION_TO},                                              \
	{"by", required_argument, NULL, QUESTION_BY},                                              \
	{"wait", required_argument, NULL, QUESTION_WAIT},                                          \
	{"idle", no_argument, NULL, QUESTION_IDLE},                                                \
	{"leaks", required_argument, NULL, QUESTION_LEAKS},                                                \
	{"grown", required_argument, NULL, QUESTION_GROWN},                                                \
	{"request", required_argument, NULL, QUESTION_REQUEST},                                            \
	{"lines", no_argument, NULL, QUESTION_LINES},                                              \
	{"inlines", no_argument, NULL, QUESTION_INLINES},                                          \
	{"native", no_argument, NULL, QUESTION_NATIVE},                                            \
	{"raw", no_argument, NULL, QUESTION_RAW}
/* clang-format on */

extern const char question_help[];

/*
 * Takes one option. value must outlive the question. Returns 0, -EINVAL with *why filled, -ENOMEM,
 * or -ENOENT when the option is not one of a question.
 */
int question_take(struct question *q, int option, const char *value, struct fail *why);

void question_free(struct question *q);

/* Whether a filter drops anything. */
bool filter_is_set(const struct filter *f);

/* Appends the filter's options as they were given, "--pid 12 --focus '^parse_'". */
void filter_describe(const struct filter *f, struct buf *words);

/*
 * The span of the film's monotonic time that the filter asks for, as [*from, *to). -EINVAL with
 * *why filled when it is none, because the end does not come after the start.
 */
int filter_span(const struct filter *f, const struct film_info *info, uint64_t *from, uint64_t *to,
		struct fail *why);

#endif
