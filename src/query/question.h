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
#include "query/identity.h"
#include "query/when.h"

/* Selects samples. Members that are not set keep everything. */
struct filter {
	vec(uint32_t) pids;
	vec(uint32_t) tids;
	vec(const char *) comms;      /* globs for the name of the thread or of its process */
	struct regex *focus, *ignore; /* for names of functions; null: all, none */
	const char *focus_text, *ignore_text;
	struct when from, to;
	/* set of enum wait_class; 0: all, and samples that are not waits */
	uint64_t waits;
	/* for memory in use: only allocations of at least that age, ns; 0: all */
	uint64_t leaks;
	const char *leaks_text;
	/* for a level: only the growth since that many ns before; 0: all */
	uint64_t grown;
	const char *grown_text;
	/* id or number of a request: only samples on its behalf; null: all */
	const char *request;
	/* selects processes by id in the film; null: all */
	bool (*keeps)(void *context, const struct film *film, uint32_t process);
	void *keeps_context;
};

/* How stacks are merged into a flame. */
struct shape {
	bool by_process, by_thread; /* group by frames at the root */
	/* with by_process: one group for all processes of a name, a control group … */
	bool by_name, by_cgroup, by_container, by_user, by_service;
	const struct identity *rules; /* names of services, borrowed; null: those that need none */
	bool by_image;		      /* merge consecutive frames of one image */
	bool lines;		      /* a frame per source line instead of per function */
	bool inlines;		      /* show inlined functions as frames */
	bool native;		      /* show the interpreter's own frames */
	/* for waits, at the root: the cause, and the waker with its stack */
	bool by_wait, by_waker;
	bool by_lock, by_holder; /* for waits for locks, at the root: the lock, and its holder */
	bool by_cpu;		 /* at the root: the CPU that a sample was made on */
	/* at the root: endpoint of the request that the thread worked on */
	bool by_endpoint;
	bool by_label; /* at the root: the program's own labels */
};

/* Whether it asks for functions only, of all processes together. */
bool shape_is_plain(const struct shape *shape);

enum {
	SHAPE_SERVICE_SIZE = 256 /* bytes of a service's name with its zero */
};

/*
 * What groups processes by the shape, in place of their pids: their name, control group, container,
 * user or service. Null: each process is a group of its own. The text belongs to the process, or is
 * in service.
 */
const char *shape_process_group(const struct shape *shape, const struct film_process *process,
				char service[SHAPE_SERVICE_SIZE]);

/* The name in JSON of what that is: "process", "cgroup"; null: each process is its own group. */
const char *shape_process_key(const struct shape *shape);

/*
 * A query for a film. All zero selects everything of the film's first event; an event of calls only
 * if the film has no other.
 */
struct question {
	const char *event; /* null: the first event, calls last */
	struct filter filter;
	struct shape shape;
	struct identity *rules; /* of --service, which shape borrows; null: none */
	const char *by_value;	/* for calls with values: --by arg.NAME, or result; null: none */
	bool is_raw;		/* for calls: do not subtract the tracer's own cost */
	bool idle; /* for waits: include waits for new work, which are an event of their own */
};

/* The options of a question, common to all verbs with questions. */
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
 * Handles one option. value must outlive the question. Returns 0, -EINVAL with *why filled,
 * -ENOMEM, or -ENOENT: not an option of a question.
 */
int question_parse(struct question *q, int option, const char *value, struct fail *why);

/*
 * Adds a rule that names services for --by service, as query/identity.h has it. Returns 0, or a
 * negative errno with *why filled.
 */
int question_add_service(struct question *q, const char *rule, struct fail *why);

void question_free(struct question *q);

/* Whether any member of a filter is set. */
bool filter_is_set(const struct filter *f);

/* Appends the filter's options as the user wrote them: "--pid 12 --focus '^parse_'". */
void filter_describe(const struct filter *f, struct buf *words);

/*
 * Sets [*from, *to) to the filter's range of the film's monotonic time. -EINVAL with *why filled:
 * the end is not after the start.
 */
int filter_span(const struct filter *f, const struct film_info *info, uint64_t *from, uint64_t *to,
		struct fail *why);

#endif
