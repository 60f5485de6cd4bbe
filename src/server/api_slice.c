// SPDX-License-Identifier: Apache-2.0
/* One slice of a thread: what it was, and what shows it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "film/events.h"
#include "film/names.h"
#include "server/api.h"
#include "query/lock_words.h"
#include "query/objects.h"
#include "server/ask.h"
#include "show/json_film.h"
#include "store/lanes.h"

struct putter {
	struct json *j;
	uint64_t base; /* ns since 1970 */
	bool has_put;
};

/* Times before the base are negative. */
static void put_since(struct json *j, const char *key, const struct putter *p,
		      const struct film *film, uint64_t time)
{
	json_i64(j, key, (int64_t)(time + (uint64_t)film->info.wall_offset - p->base));
}

static const char *context_name(unsigned int context)
{
	static const char *const names[] = {
		[FILM_WAIT_BY_NONE] = "",	    [FILM_WAIT_BY_THREAD] = "thread",
		[FILM_WAIT_BY_SOFTIRQ] = "softirq", [FILM_WAIT_BY_INTERRUPT] = "interrupt",
		[FILM_WAIT_BY_TIMER] = "timer",	    [FILM_WAIT_BY_EITHER] = "thread or interrupt",
	};

	return context < sizeof(names) / sizeof(names[0]) ? names[context] : "";
}

static const char *descriptor_name(unsigned int descriptor)
{
	static const char *const names[] = {
		[FILM_FD_NONE] = "",
		[FILM_FD_FILE] = "file",
		[FILM_FD_DIRECTORY] = "directory",
		[FILM_FD_BLOCK_DEVICE] = "block device",
		[FILM_FD_DEVICE] = "device",
		[FILM_FD_PIPE] = "pipe",
		[FILM_FD_SOCKET] = "socket",
		[FILM_FD_UNIX_SOCKET] = "Unix socket",
		[FILM_FD_EVENT] = "eventfd",
		[FILM_FD_TIMER] = "timerfd",
		[FILM_FD_SIGNAL] = "signalfd",
		[FILM_FD_EPOLL] = "epoll",
		[FILM_FD_NOTIFY] = "inotify",
		[FILM_FD_PROCESS] = "process",
		[FILM_FD_IO_URING] = "io_uring",
		[FILM_FD_OTHER] = "other",
		[FILM_FD_PATH] = "path",
	};

	return descriptor < sizeof(names) / sizeof(names[0]) ? names[descriptor] : "";
}

static void put_arguments(struct json *j, const struct lane_slice *found, bool is_call)
{
	json_open(j, "arguments", '[');
	for (int i = 0; is_call && found->slice.call && i < FILM_WAIT_ARGUMENTS; i++) {
		char hex[24];

		/* as texts: a reader's numbers need not hold 64 bits */
		snprintf(hex, sizeof(hex), "%#" PRIx64, found->evidence.arguments[i]);
		json_text(j, NULL, hex);
	}
	json_close(j, ']');
}

static void put_thread(struct json *j, const char *key, const struct film *film, uint32_t id)
{
	const struct film_thread *thread = &film->threads[id];

	if (!id) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	json_u64(j, "pid", film->processes[thread->process].pid);
	json_u64(j, "tid", thread->tid);
	json_text(j, "comm", thread->comm);
	json_close(j, '}');
}

static void put_frame(struct json *j, const struct film *film, const struct film_stack *stack)
{
	const struct film_frame *frame = &film->frames[stack->frame];
	char place[256];

	json_open(j, NULL, '{');
	json_text(j, "name",
		  frame->function ? film->functions[frame->function].name
				  : name_of_place(film, frame, place, sizeof(place)));
	json_text(j, "image", film->images[frame->image].path);
	json_text(j, "kind", film_frame_kind_name(frame->kind));
	json_bool(j, "is_guess", stack->how == FILM_HOW_FRAME_POINTER);
	json_close(j, '}');
}

/* The innermost frame first. */
static void put_stack(struct json *j, const struct film *film, uint32_t id)
{
	json_open(j, "stack", '[');
	for (; id; id = film->stacks[id].parent)
		put_frame(j, film, &film->stacks[id]);
	json_close(j, ']');
}

/* Of a name that is not known, the words say why. */
static void put_object(struct json *j, const struct film *film, const struct lane_slice *found)
{
	char words[4096];
	enum object_known known =
		slice_object(film, &found->slice, &found->evidence, words, sizeof(words));

	json_text(j, "object", known == OBJECT_KNOWN ? words : "");
	json_text(j, "object_unknown", known == OBJECT_UNKNOWN ? words : "");
}

/* Of a lock: its holder, and how that is known. */
static void put_holder(struct json *j, const struct film *film, const struct lane_slice *found)
{
	const struct slice_lock *lock = &found->evidence.lock;
	bool has_holder = slice_is_wait(found->slice.kind) && lock->holder;

	put_thread(j, "holder", film, has_holder ? lock->holder : 0);
	json_text(j, "holder_sure", has_holder ? lock_sure_words(lock->sure) : "");
}

static void put_evidence(struct json *j, const struct film *film, const struct lane_slice *found)
{
	const struct slice *slice = &found->slice;
	bool is_call = slice_is_wait(slice->kind) && slice->state != FILM_WAIT_GOROUTINE;
	const char state[2] = {(char)slice->state, 0};
	bool is_wait = slice_is_wait(slice->kind);
	bool is_run = slice->kind == SLICE_ON_CPU || slice->kind == SLICE_RUNNING;

	if (slice->kind == SLICE_HOLE)
		json_null(j, "cpu");
	else
		json_u64(j, "cpu", slice->cpu);
	json_text(j, "call",
		  is_wait ? wait_call_name(film->info.arch, slice->state, slice->call) : "");
	put_arguments(j, found, is_call);
	json_text(j, "state", is_wait ? state : "");
	json_text(j, "descriptor", is_wait ? descriptor_name(slice->descriptor) : "");
	put_object(j, film, found);
	json_put_works(j, film, found->works);
	json_text(j, "ready_object",
		  is_wait ? object_name(film, found->evidence.ready_object) : "");
	json_text(j, "context", slice->kind == SLICE_HOLE ? "" : context_name(slice->context));
	json_bool(j, "iowait", is_wait && slice->flags & FILM_WAIT_IOWAIT);
	/* the waker of a goroutine is one, too, unless it says something else */
	put_thread(j, "waker", film, is_run ? 0 : slice->waker);
	json_bool(j, "waker_goroutine",
		  !is_run && slice->waker && slice->on && !(slice->flags & FILM_TURN_BY_THREAD));
	put_holder(j, film, found);
	put_thread(j, "on", film, slice->on);
	put_stack(j, film, is_run ? 0 : slice->stack);
}

static int put_slice(void *context, const struct film *film, const struct lane_slice *found)
{
	const struct slice *slice = &found->slice;
	struct putter *p = context;
	char words[256];

	slice_words(film, slice, words, sizeof(words));
	json_open(p->j, "slice", '{');
	json_u64(p->j, "class", slice->kind);
	json_text(p->j, "name", slice_kind_name(slice->kind));
	json_text(p->j, "words", words);
	put_since(p->j, "start", p, film, slice->start);
	put_since(p->j, "end", p, film, slice->end);
	json_bool(p->j, "open_start", slice->began_before);
	json_bool(p->j, "open_end", slice->goes_on);
	json_bool(p->j, "last", slice->is_last);
	put_evidence(p->j, film, found);
	json_close(p->j, '}');
	p->has_put = true;
	return 0;
}

/* The thread and the moment; the rest is as for all questions. */
static int parse_place(const struct http_request *request, struct server_ask *ask,
		       struct lane_id *lane, struct fail *why)
{
	const char *at = request_parameter(request, "at");
	uint64_t pid, tid, is_goroutine;
	int err = ask_number(request->url, "lane_pid", 0, UINT32_MAX, UINT64_MAX, &pid, why);

	if (!err)
		err = ask_number(request->url, "lane_tid", 0, UINT32_MAX, UINT64_MAX, &tid, why);
	if (!err)
		err = ask_number(request->url, "lane_goroutine", 0, 1, 0, &is_goroutine, why);
	if (!err && (!at || !*at || pid == UINT64_MAX || tid == UINT64_MAX))
		err = fail(why, -EINVAL, NULL, "a slice is asked for by lane_pid, lane_tid and at");
	if (!err)
		err = ask_time(at, 0, &ask->ask.from, why);
	if (err)
		return err;
	*lane = (struct lane_id){(uint32_t)pid, (uint32_t)tid, is_goroutine};
	ask->ask.to = ask->ask.from + 1;
	if (!ask->ask.event)
		ask->ask.event = event_type(EVENT_THREADS)->name;
	return 0;
}

int api_slice(const struct http_request *request, struct answer *answer, struct fail *why)
{
	struct json j = {.out = answer->out};
	struct server_ask ask;
	struct lane_id lane;
	struct putter p = {.j = &j};
	char base[24];
	int err = ask_request(request, "lane_pid lane_tid lane_goroutine at", &ask, why);

	if (!err)
		err = parse_place(request, &ask, &lane, why);
	if (!err) {
		p.base = ask.ask.from;
		snprintf(base, sizeof(base), "%" PRIu64, p.base);
		json_open(&j, NULL, '{');
		json_text(&j, "base", base);
		err = store_slice(request->store, &ask.ask, &lane, put_slice, &p, why);
	}
	if (!err && !p.has_put)
		json_null(&j, "slice");
	if (!err)
		json_close(&j, '}');
	ask_free(&ask);
	return err;
}
