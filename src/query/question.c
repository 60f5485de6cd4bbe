// SPDX-License-Identifier: Apache-2.0
#include "query/question.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "film/names.h"
#include "query/wait_class.h"

const char question_help[] =
	"  -e, --event EVENT     which event of the film (default: its first, calls last)\n"
	"  -p, --pid PID[,PID…]  only these processes\n"
	"  -t, --tid TID[,TID…]  only these threads\n"
	"  -n, --comm, --name GLOB\n"
	"                        only threads whose name, or whose process's name, matches;\n"
	"                        may be given several times\n"
	"      --focus REGEX     only stacks with a function that matches\n"
	"      --ignore REGEX    without the stacks with a function that matches\n"
	"      --from T, --to T  only this span: 2.5 or 2.5s, 1500ms since the film's start;\n"
	"                        14:32, 14:32:08.5 local time; or RFC 3339\n"
	"      --wait CLASS[,CLASS…]\n"
	"                        of waits, only those for: lock, poll, sleep, disk, file,\n"
	"                        page-fault, socket-read, socket-write, connect, accept, ipc,\n"
	"                        child, signal, io_uring, stopped, ready, work; of goroutines "
	"also\n"
	"                        channel, select, sync, network, gc; other\n"
	"      --idle            of off-cpu: also waits for new work, and stopped threads\n"
	"      --leaks TIME      of mem-inuse: only what was allocated that long before, 60s say\n"
	"      --grown TIME      of mem-inuse and other levels: only what stacks hold more than\n"
	"                        that long before, or when the film began\n"
	"      --request ID          only what threads did for that request, by its id or number\n"
	"      --by WHAT[,WHAT…] group by process, name, cgroup, container, user or service\n"
	"                        (of processes), thread, image, label; by cpu of samples,\n"
	"                        recorded with --sample-cpu; by endpoint of the\n"
	"                        request that a thread worked on; of waits by wait, waker;\n"
	"                        of waits for locks by lock, holder; of calls with values\n"
	"                        by arg.NAME, arg.NAME.MEMBER, result: how long they took\n"
	"      --lines           split functions by source line\n"
	"      --inlines         show inlined functions as frames of their own\n"
	"      --native          show the interpreter's own frames that run those of a language\n"
	"      --raw             of calls: durations as measured, the tracer's own cost in them\n";

static int parse_numbers(struct question *q, int option, const char *value, struct fail *why)
{
	const char *at = value;

	for (;;) {
		size_t length = strcspn(at, ",");
		char digits[16] = "";
		uint64_t n;

		if (length < sizeof(digits))
			memcpy(digits, at, length);
		if (text_parse_u64(digits, 0, UINT32_MAX, &n))
			return fail(why, -EINVAL, NULL, "'%s' is not a list of numbers", value);
		if (option == QUESTION_PID ? !vec_push(&q->filter.pids, (uint32_t)n)
					   : !vec_push(&q->filter.tids, (uint32_t)n))
			return -ENOMEM;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

static int parse_regex(struct regex **regex, const char *value, struct fail *why)
{
	regex_free(*regex);
	*regex = NULL;
	return regex_compile(value, regex, why);
}

static int parse_groups(struct shape *shape, const char *value, struct fail *why)
{
	const struct {
		const char *name;
		bool *flag;
	} groups[] = {
		{"process", &shape->by_process}, {"name", &shape->by_name},
		{"thread", &shape->by_thread},	 {"image", &shape->by_image},
		{"label", &shape->by_label},	 {"endpoint", &shape->by_endpoint},
		{"wait", &shape->by_wait},	 {"waker", &shape->by_waker},
		{"lock", &shape->by_lock},	 {"holder", &shape->by_holder},
		{"cgroup", &shape->by_cgroup},	 {"container", &shape->by_container},
		{"user", &shape->by_user},	 {"service", &shape->by_service},
		{"cpu", &shape->by_cpu},
	};
	const size_t count = sizeof(groups) / sizeof(groups[0]);
	const char *at = value;
	int own;

	for (;;) {
		size_t length = strcspn(at, ","), i;

		for (i = 0; i < count; i++)
			if (strlen(groups[i].name) == length && !memcmp(groups[i].name, at, length))
				break;
		if (i == count)
			return fail(why, -EINVAL, NULL,
				    "'%s' is not a list of process, name, thread, image, label, "
				    "endpoint, wait, waker, "
				    "lock, holder, cgroup, container, user, service, cpu",
				    value);
		*groups[i].flag = true;
		if (!at[length])
			break;
		at += length + 1;
	}
	own = shape->by_name + shape->by_cgroup + shape->by_container + shape->by_user +
	      shape->by_service;
	if (own > 1)
		return fail(
			why, -EINVAL, NULL,
			"a process is grouped by one of name, cgroup, container, user and service");
	shape->by_process |= own > 0;
	return 0;
}

const char *shape_process_key(const struct shape *shape)
{
	if (shape->by_service)
		return "service";
	if (shape->by_container)
		return "container";
	if (shape->by_user)
		return "user";
	if (shape->by_cgroup)
		return "cgroup";
	return shape->by_name ? "process" : NULL;
}

bool shape_is_plain(const struct shape *shape)
{
	return !(shape->by_process || shape->by_thread || shape->by_image || shape->lines ||
		 shape->inlines || shape->native || shape->by_wait || shape->by_waker ||
		 shape->by_lock || shape->by_holder || shape->by_endpoint || shape->by_label ||
		 shape->by_cpu);
}

const char *shape_process_group(const struct shape *shape, const struct film_process *process,
				char service[SHAPE_SERVICE_SIZE])
{
	const char *name;

	if (shape->by_service) {
		identity_of(shape->rules, process, service, SHAPE_SERVICE_SIZE);
		return service;
	}
	if (shape->by_container)
		name = *process->container ? process->container : "[no container]";
	else if (shape->by_user)
		name = process->user ? process->user : "";
	else if (shape->by_cgroup)
		name = process->cgroup;
	else if (shape->by_name)
		name = process->comm;
	else
		return NULL;
	return *name ? name : NAME_UNKNOWN;
}

/* "arg.order.id", "arg.len(list)", "result", "result err" */
static bool is_value(const char *by)
{
	return (!strncmp(by, "arg.", 4) && by[4]) || !strcmp(by, "result") ||
	       !strncmp(by, "result ", 7) || !strncmp(by, "result.", 7);
}

static int parse_waits(struct filter *f, const char *value, struct fail *why)
{
	for (const char *at = value;; at++) {
		size_t length = strcspn(at, ",");
		enum wait_class class = wait_class_named(at, length);

		if (class == WAIT_CLASSES)
			return fail(why, -EINVAL, "see --help for what there is",
				    "'%.*s' is nothing that a wait is for", (int)length, at);
		f->waits |= 1ull << class;
		at += length;
		if (!*at)
			return 0;
	}
}

/* A time of an option, ns; its text stays the caller's. */
static int parse_time(const char *option, const char *value, uint64_t *time, const char **text,
		      struct fail *why)
{
	if (text_parse_time(value, 1000000000, time) || !*time)
		return fail(why, -EINVAL, NULL, "%s takes a time such as 60s or 500ms, not '%s'",
			    option, value);
	*text = value;
	return 0;
}

/* For any film. */
static bool ends_too_early(const struct filter *f)
{
	return f->from.kind == f->to.kind && f->from.ns >= f->to.ns &&
	       (f->from.kind == WHEN_SINCE_START || f->from.kind == WHEN_DATE);
}

static int fail_span(const struct filter *f, struct fail *why)
{
	return fail(why, -EINVAL, NULL, "--from %s is not before --to %s", f->from.text,
		    f->to.text);
}

static int parse_span(struct filter *f, int option, const char *value, struct fail *why)
{
	int err = when_parse(value, option == QUESTION_FROM ? &f->from : &f->to, why);

	return !err && ends_too_early(f) ? fail_span(f, why) : err;
}

int question_parse(struct question *q, int option, const char *value, struct fail *why)
{
	struct filter *f = &q->filter;

	switch (option) {
	case QUESTION_EVENT:
		q->event = value;
		return 0;
	case QUESTION_PID:
	case QUESTION_TID:
		return parse_numbers(q, option, value, why);
	case QUESTION_COMM:
		return vec_push(&f->comms, value) ? 0 : -ENOMEM;
	case QUESTION_FOCUS:
		f->focus_text = value;
		return parse_regex(&f->focus, value, why);
	case QUESTION_IGNORE:
		f->ignore_text = value;
		return parse_regex(&f->ignore, value, why);
	case QUESTION_FROM:
	case QUESTION_TO:
		return parse_span(f, option, value, why);
	case QUESTION_BY:
		if (is_value(value)) {
			q->by_value = value;
			return 0;
		}
		return parse_groups(&q->shape, value, why);
	case QUESTION_IDLE:
		q->idle = true;
		return 0;
	case QUESTION_LEAKS:
		return parse_time("--leaks", value, &f->leaks, &f->leaks_text, why);
	case QUESTION_GROWN:
		return parse_time("--grown", value, &f->grown, &f->grown_text, why);
	case QUESTION_REQUEST:
		if (!*value)
			return fail(why, -EINVAL, NULL, "--request takes an id, not nothing");
		f->request = value;
		return 0;
	case QUESTION_WAIT:
		return parse_waits(f, value, why);
	case QUESTION_LINES:
		q->shape.lines = true;
		return 0;
	case QUESTION_INLINES:
		q->shape.inlines = true;
		return 0;
	case QUESTION_NATIVE:
		q->shape.native = true;
		return 0;
	case QUESTION_RAW:
		q->is_raw = true;
		return 0;
	default:
		return -ENOENT;
	}
}

int question_add_service(struct question *q, const char *rule, struct fail *why)
{
	int err = q->rules ? 0 : identity_new(&q->rules, why);

	q->shape.rules = q->rules;
	return err ? err : identity_add(q->rules, rule, why);
}

void question_free(struct question *q)
{
	struct filter *f = &q->filter;

	vec_free(&f->pids);
	vec_free(&f->tids);
	vec_free(&f->comms);
	regex_free(f->focus);
	regex_free(f->ignore);
	identity_free(q->rules);
	*q = (struct question){0};
}

bool filter_is_set(const struct filter *f)
{
	return f->keeps || f->request || f->waits || f->leaks || f->grown || f->pids.count ||
	       f->tids.count || f->comms.count || f->focus || f->ignore ||
	       f->from.kind != WHEN_OPEN || f->to.kind != WHEN_OPEN;
}

static void describe_numbers(const char *option, const uint32_t *at, size_t count,
			     struct buf *words)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(words, "%s%s%" PRIu32, words->count && !i ? " " : "", i ? "," : option,
			   at[i]);
}

static void describe_text(const char *option, const char *text, struct buf *words)
{
	buf_printf(words, "%s%s '%s'", words->count ? " " : "", option, text);
}

static void describe_waits(uint64_t waits, struct buf *words)
{
	const char *before = words->count ? " --wait " : "--wait ";

	for (unsigned int i = 0; i < WAIT_CLASSES; i++) {
		if (!(waits >> i & 1))
			continue;
		buf_printf(words, "%s%s", before, wait_class_name((enum wait_class)i));
		before = ",";
	}
}

void filter_describe(const struct filter *f, struct buf *words)
{
	describe_numbers("--pid ", f->pids.at, f->pids.count, words);
	describe_numbers("--tid ", f->tids.at, f->tids.count, words);
	vec_foreach (&f->comms, glob)
		describe_text("--comm", *glob, words);
	if (f->request)
		describe_text("--request", f->request, words);
	describe_waits(f->waits, words);
	if (f->leaks)
		buf_printf(words, "%s--leaks %s", words->count ? " " : "", f->leaks_text);
	if (f->grown)
		buf_printf(words, "%s--grown %s", words->count ? " " : "", f->grown_text);
	if (f->focus)
		describe_text("--focus", f->focus_text, words);
	if (f->ignore)
		describe_text("--ignore", f->ignore_text, words);
	if (f->from.kind != WHEN_OPEN)
		describe_text("--from", f->from.text, words);
	if (f->to.kind != WHEN_OPEN)
		describe_text("--to", f->to.text, words);
}

int filter_span(const struct filter *f, const struct film_info *info, uint64_t *from, uint64_t *to,
		struct fail *why)
{
	*from = when_resolve(&f->from, info, 0);
	*to = when_resolve(&f->to, info, UINT64_MAX);
	if (*from < *to)
		return 0;
	/*
	 * before the machine's clock began, or after its end: the times are right, but nothing of
	 * the film is there
	 */
	if (*from == *to && (!*from || *from == UINT64_MAX) &&
	    (f->from.kind != f->to.kind || f->from.ns < f->to.ns))
		return 0;
	if (f->from.kind != WHEN_OPEN && f->to.kind != WHEN_OPEN)
		return fail_span(f, why);
	return 0;
}
