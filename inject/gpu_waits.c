// SPDX-License-Identifier: Apache-2.0
/*
 * Which work of a GPU a thread waits for where it synchronises. The profiling library has a record
 * of each such call, with its stream, and records of what ran there. They come in any order, and in
 * several buffers: so the newest work of each stream is kept here, and a wait is compared with it
 * when another buffer has come, or at the end. What ran on the stream while the thread waited is
 * what it waited for. An event has the stream that it was put into last, before the wait's call.
 * A copy that waits has no such record: its call is timed here, and its stream is that of the
 * copy.
 */
#include "gpu.h"

/* CUpti_ActivitySynchronization */
enum {
	SYNC_TYPE = 4,
	SYNC_BEGIN = 8,
	SYNC_END = 16,
	SYNC_NUMBER = 24,
	SYNC_CONTEXT = 28,
	SYNC_STREAM = 32,
	SYNC_EVENT = 36,
	TYPE_EVENT = 1,
	TYPE_OF_DEVICE = 2, /* a stream waits for an event, and no thread does */
	TYPE_STREAM = 3,
	TYPE_COPY = 256, /* of this file: a copy that waits, which has no such record */
};

/* CUpti_ActivityCudaEvent: behind the kind */
enum {
	EVENT_NUMBER = 4, /* of the call; behind it the context, the stream, and the event */
};

/* Streams share places, events do, and so do the waits that are not yet compared. */
#define STREAMS 16
#define WORKS	512
#define WAITS	256
#define EVENTS	1024
#define COPIES	1024

/* How many different kinds of work of a wait are told apart. */
#define KINDS 16

struct work {
	uint64_t work, begin, end;
	uint32_t context, stream;
};

struct wait {
	uint64_t begin, end;
	uint32_t number, context, stream, event; /* in the order of the record */
	uint32_t type;
	bool is_old; /* it came with an earlier buffer */
};

/* In the order of the record. */
struct event {
	uint32_t number, context, stream, event;
};

/* What ran during a wait, by kind of work. */
struct found {
	uint64_t works[KINDS], ns[KINDS], all;
	size_t count;
};

static struct work works[STREAMS][WORKS];
static uint64_t next_work[STREAMS];
static struct wait waits[WAITS];
static struct event events[EVENTS];

/* Of a copy's call: when it began, and where its record says that it ran. */
static struct {
	uint64_t begin;
	uint32_t number;
} begun[COPIES];
static struct {
	uint32_t number, context, stream;
} copied[COPIES];

/* Copies that have ended since the last buffer; number 0: not yet written. */
static struct {
	uint64_t begin, end;
	uint32_t number;
} ended[WAITS];
static uint64_t ended_count, ended_read;
static size_t wait_count;
static uint64_t unsampled_ns, unsampled_end;
static int lock;

static __attribute__((noinline)) void report_waited(uint64_t call, uint64_t ns, uint64_t end,
						    const struct found *found, size_t most)
{
	register uint64_t r8 __asm__("r8") = found ? found->ns[most] : 0;
	register uint64_t r9 __asm__("r9") = found ? found->all : 0;

	__asm__ volatile(".globl stackcam_gpu_waited\n\t"
			 ".hidden stackcam_gpu_waited\n"
			 "stackcam_gpu_waited: nop"
			 :
			 : "D"(call), "S"(ns), "d"(end), "c"(found ? found->works[most] : 0),
			   "r"(r8), "r"(r9)
			 : "memory");
}

/* -- comparing --------------------------------------------------------------------------------- */

static void add_kind(struct found *found, uint64_t work, uint64_t ns)
{
	size_t i = 0;

	while (i < found->count && found->works[i] != work)
		i++;
	found->all += ns;
	if (i == KINDS)
		return;
	if (i == found->count) {
		found->works[i] = work;
		found->ns[i] = 0;
		found->count++;
	}
	found->ns[i] += ns;
}

static bool is_of(const struct work *work, const struct wait *wait)
{
	return work->context == wait->context &&
	       (wait->stream == GPU_STREAM_ANY || work->stream == wait->stream);
}

static void find_works(const struct work *of, const struct wait *wait, struct found *found)
{
	for (size_t i = 0; i < WORKS; i++) {
		uint64_t begin = of[i].begin > wait->begin ? of[i].begin : wait->begin;
		uint64_t end = of[i].end < wait->end ? of[i].end : wait->end;

		if (end > begin && is_of(&of[i], wait))
			add_kind(found, of[i].work, end - begin);
	}
}

static struct event *event_place(uint32_t context, uint32_t event)
{
	return &events[(context * 31 + event) % EVENTS];
}

/*
 * The stream that the event of a wait was last put into, by a call before that of the wait; numbers
 * wrap.
 */
static uint32_t stream_of_event(const struct wait *wait)
{
	const struct event *event = event_place(wait->context, wait->event);

	return event->number && event->context == wait->context && event->event == wait->event &&
			       (int32_t)(wait->number - event->number) > 0
		       ? event->stream
		       : GPU_STREAM_EVENT;
}

/* The context and stream of a wait for a copy: those of the copy's record. */
static void find_copy(struct wait *wait)
{
	size_t i = wait->number % COPIES;

	if (copied[i].number != wait->number)
		return;
	wait->context = copied[i].context;
	wait->stream = copied[i].stream;
}

static void report_wait(struct wait *wait)
{
	uint64_t ns = wait->end - wait->begin;
	struct found found;
	size_t most = 0;

	if (wait->stream == GPU_STREAM_EVENT)
		wait->stream = stream_of_event(wait);
	if (wait->type == TYPE_COPY)
		find_copy(wait);
	found.count = 0;
	found.all = found.ns[0] = found.works[0] = 0;
	for (uint32_t i = 0; i < STREAMS; i++)
		if (wait->stream == GPU_STREAM_ANY ||
		    (wait->stream < GPU_STREAM_COPY && i == wait->stream % STREAMS))
			find_works(works[i], wait, &found);
	for (size_t i = 1; i < found.count; i++)
		if (found.ns[i] > found.ns[most])
			most = i;
	/* streams run beside each other */
	if (found.ns[most] > ns)
		found.ns[most] = ns;
	if (found.all > ns)
		found.all = ns;
	report_waited(wait->number | (uint64_t)wait->stream << 32, ns, wait->end, &found, most);
}

/* Reports the waits that came with earlier buffers, or all. */
static void report_waits(bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < wait_count; i++) {
		if (all || waits[i].is_old)
			report_wait(&waits[i]);
		else
			waits[kept++] = waits[i];
	}
	wait_count = kept;
	for (size_t i = 0; i < kept; i++)
		waits[i].is_old = true;
}

/* -- records ----------------------------------------------------------------------------------- */

static void add_wait(const struct wait *wait)
{
	if (wait_count == WAITS) {
		report_wait(&waits[0]);
		waits[0] = waits[--wait_count];
	}
	waits[wait_count++] = *wait;
}

static void add_unsampled(uint64_t ns, uint64_t end)
{
	__atomic_fetch_add(&unsampled_ns, ns, __ATOMIC_RELAXED);
	__atomic_store_n(&unsampled_end, end, __ATOMIC_RELAXED);
}

/* Copies that have ended until now, in their order. */
static void read_ended(void)
{
	uint64_t count = __atomic_load_n(&ended_count, __ATOMIC_ACQUIRE), i = ended_read;

	for (; i != count; i++) {
		size_t place = i % WAITS;
		struct wait wait = {.stream = GPU_STREAM_COPY, .type = TYPE_COPY};

		wait.number = __atomic_load_n(&ended[place].number, __ATOMIC_ACQUIRE);
		if (!wait.number)
			break;
		wait.begin = ended[place].begin;
		wait.end = ended[place].end;
		add_wait(&wait);
		__atomic_store_n(&ended[place].number, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&ended_read, i, __ATOMIC_RELEASE);
}

void gpu_waits_copy_begins(uint32_t number)
{
	size_t i = number % COPIES;

	begun[i].begin = gpu_now();
	__atomic_store_n(&begun[i].number, number, __ATOMIC_RELEASE);
}

/* Any thread's, without a lock: one that finds no room is added up. */
void gpu_waits_copy_ends(uint32_t number, bool is_told)
{
	uint64_t begin = begun[number % COPIES].begin, end = gpu_now();
	uint64_t place = __atomic_load_n(&ended_count, __ATOMIC_RELAXED);

	/* another thread's call has its place */
	if (__atomic_load_n(&begun[number % COPIES].number, __ATOMIC_ACQUIRE) != number ||
	    begin > end) {
		gpu_report_state(GPU_STATE_NO_WAITS, 0);
		return;
	}
	do {
		if (!is_told || place - __atomic_load_n(&ended_read, __ATOMIC_ACQUIRE) >= WAITS) {
			add_unsampled(end - begin, end);
			return;
		}
	} while (!__atomic_compare_exchange_n(&ended_count, &place, place + 1, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	ended[place % WAITS].begin = begin;
	ended[place % WAITS].end = end;
	__atomic_store_n(&ended[place % WAITS].number, number, __ATOMIC_RELEASE);
}

bool gpu_waits_begin(void)
{
	if (!gpu_lock(&lock))
		return false;
	read_ended();
	return true;
}

void gpu_waits_add_work(uint64_t work, uint32_t number, const uint8_t *begin_and_end,
			const uint8_t *context_and_stream)
{
	struct work new = {.work = work};
	uint32_t place;

	__builtin_memcpy(&new.begin, begin_and_end, 16);
	__builtin_memcpy(&new.context, context_and_stream, 8);
	if (gpu_is_copy(work)) {
		copied[number % COPIES].number = number;
		copied[number % COPIES].context = new.context;
		copied[number % COPIES].stream = new.stream;
	}
	place = new.stream % STREAMS;
	works[place][next_work[place]++ % WORKS] = new;
}

void gpu_waits_add_event(const uint8_t *record)
{
	struct event new;

	__builtin_memcpy(&new, record + EVENT_NUMBER, sizeof(new));
	*event_place(new.context, new.event) = new;
}

void gpu_waits_add(const uint8_t *record, bool is_told)
{
	struct wait wait = {.is_old = false};

	__builtin_memcpy(&wait.type, record + SYNC_TYPE, 4);
	__builtin_memcpy(&wait.begin, record + SYNC_BEGIN, 16);
	__builtin_memcpy(&wait.number, record + SYNC_NUMBER, 16);
	if (wait.type == TYPE_OF_DEVICE)
		return;
	if (!wait.begin || wait.end < wait.begin) {
		/* the recorder counts those that began and do not end */
		if (!is_told)
			gpu_report_state(GPU_STATE_NO_WAITS, 0);
		return;
	}
	if (wait.type != TYPE_STREAM)
		wait.stream = wait.type == TYPE_EVENT ? stream_of_event(&wait) : GPU_STREAM_ANY;
	if (is_told)
		add_wait(&wait);
	else
		add_unsampled(wait.end - wait.begin, wait.end);
}

static void report_unsampled(void)
{
	uint64_t ns = __atomic_exchange_n(&unsampled_ns, 0, __ATOMIC_RELAXED);

	if (ns)
		report_waited((uint64_t)GPU_STREAM_ANY << 32, ns,
			      __atomic_load_n(&unsampled_end, __ATOMIC_RELAXED), NULL, 0);
}

void gpu_waits_end(void)
{
	report_waits(false);
	report_unsampled();
	gpu_unlock(&lock);
}

void gpu_waits_finish(void)
{
	if (!gpu_lock(&lock)) {
		gpu_report_state(GPU_STATE_NO_WAITS, 0);
		return;
	}
	read_ended();
	report_waits(true);
	report_unsampled();
	gpu_unlock(&lock);
}
