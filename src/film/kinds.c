// SPDX-License-Identifier: Apache-2.0
#include "film/kinds.h"

/* Columns of samples, and where struct film_samples has them. */
enum {
	SAMPLE_TIME,
	SAMPLE_THREAD,
	SAMPLE_STACK,
	SAMPLE_VALUE,
	SAMPLE_CPU,
	SAMPLE_COLUMNS
};

#define SAMPLE(member, ...)                                                               \
	LAYOUT_COLUMN(film_sample, member, .view = offsetof(struct film_samples, member), \
		      ##__VA_ARGS__)

static const struct layout_column sample_columns[] = {
	[SAMPLE_TIME] = SAMPLE(time),
	[SAMPLE_THREAD] = SAMPLE(thread, .id_of = LAYOUT_THREAD),
	[SAMPLE_STACK] = SAMPLE(stack, .id_of = LAYOUT_STACK),
	[SAMPLE_VALUE] = SAMPLE(value),
	[SAMPLE_CPU] = SAMPLE(cpu, .later = true),
};

/* Those of calls: they stand in a block in another way (calls.h). */
enum {
	CALL_END,
	CALL_DURATION,
	CALL_WAITED,
	CALL_THREAD,
	CALL_FRAME,
	CALL_LANE,
	CALL_DEPTH,
	CALL_CPU,
	CALL_FLAGS,
	CALL_COLUMNS,
};

#define CALL(member, ...) \
	LAYOUT_COLUMN(film_call, member, .view = offsetof(struct film_calls, member), ##__VA_ARGS__)

static const struct layout_column call_columns[] = {
	[CALL_END] = CALL(end),
	[CALL_DURATION] = CALL(duration),
	[CALL_WAITED] = CALL(waited),
	[CALL_THREAD] = CALL(thread, .id_of = LAYOUT_THREAD),
	[CALL_FRAME] = CALL(frame, .id_of = LAYOUT_FRAME),
	[CALL_LANE] = CALL(lane),
	[CALL_DEPTH] = CALL(depth),
	[CALL_CPU] = CALL(cpu),
	[CALL_FLAGS] = CALL(flags),
};

static int pack_calls(struct calls_packer *p, struct columns *c, const void *rows, size_t count)
{
	return calls_pack(p, c, rows, count);
}

static int unpack_calls(struct calls_reader *r, const struct layout_limits *limits,
			const void *data, size_t size, size_t count, union film_view *view)
{
	return calls_unpack(r, data, size, count, limits->of[LAYOUT_THREAD],
			    limits->of[LAYOUT_FRAME], &view->calls);
}

/* What probes cost: a block of costs has error too. */
enum {
	PROBE_COLUMNS = 3,
	COST_COLUMNS
};

static const struct layout_column probe_columns[] = {
	LAYOUT_COLUMN(film_probe, frame, .id_of = LAYOUT_FRAME),
	LAYOUT_COLUMN(film_probe, own),
	LAYOUT_COLUMN(film_probe, outer),
	LAYOUT_COLUMN(film_probe, error),
};

enum {
	SUM_FRAME,
	SUM_CALLS,
	SUM_TOTAL,
	SUM_SELF,
	SUM_BUCKETS = 9,
	SUM_COLUMNS = SUM_BUCKETS + FILM_SUM_BUCKETS
};

#define BUCKET(i) LAYOUT_COLUMN(film_sum, buckets[i])
#define BUCKETS(i)                                                                     \
	BUCKET(i), BUCKET((i) + 1), BUCKET((i) + 2), BUCKET((i) + 3), BUCKET((i) + 4), \
		BUCKET((i) + 5), BUCKET((i) + 6), BUCKET((i) + 7)

static const struct layout_column sum_columns[] = {
	[SUM_FRAME] = LAYOUT_COLUMN(film_sum, frame, .id_of = LAYOUT_FRAME),
	[SUM_CALLS] = LAYOUT_COLUMN(film_sum, calls),
	[SUM_TOTAL] = LAYOUT_COLUMN(film_sum, total),
	[SUM_SELF] = LAYOUT_COLUMN(film_sum, self),
	LAYOUT_COLUMN(film_sum, waited),
	LAYOUT_COLUMN(film_sum, min),
	LAYOUT_COLUMN(film_sum, max),
	LAYOUT_COLUMN(film_sum, recursive),
	LAYOUT_COLUMN(film_sum, inferred),
	[SUM_BUCKETS] = BUCKET(0),
	BUCKET(1),
	BUCKET(2),
	BUCKET(3),
	BUCKET(4),
	BUCKET(5),
	BUCKET(6),
	BUCKET(7),
	BUCKETS(8),
	BUCKETS(16),
	BUCKETS(24),
	BUCKETS(32),
};

_Static_assert(sizeof(sum_columns) == SUM_COLUMNS * sizeof(sum_columns[0]),
	       "each bucket is a column");
_Static_assert((int)SUM_COLUMNS <= (int)LAYOUT_COLUMNS_MAX, "a layout has no more columns");

enum {
	WAIT_END,
	WAIT_DURATION,
	WAIT_THREAD,
	WAIT_STACK,
	WAIT_REST
};

#define WAIT(member, ...) \
	LAYOUT_COLUMN(film_wait, member, .view = offsetof(struct film_waits, member), ##__VA_ARGS__)

static const struct layout_column wait_columns[] = {
	[WAIT_END] = WAIT(end, .how = LAYOUT_NOISE),
	[WAIT_DURATION] = WAIT(duration, .how = LAYOUT_NOISE),
	[WAIT_THREAD] = WAIT(thread, .id_of = LAYOUT_THREAD),
	[WAIT_STACK] = WAIT(stack, .id_of = LAYOUT_STACK),
	WAIT(waker, .id_of = LAYOUT_THREAD),
	WAIT(waker_stack, .id_of = LAYOUT_STACK),
	LAYOUT_COLUMN(film_wait, count, .view = offsetof(struct film_waits, count_of),
		      .needed = true),
	WAIT(call),
	WAIT(context),
	WAIT(state),
	WAIT(descriptor),
	WAIT(flags),
	WAIT(arguments[0]),
	WAIT(arguments[1]),
	WAIT(arguments[2]),
	WAIT(arguments[3]),
};

enum {
	WAIT_COLUMNS = sizeof(wait_columns) / sizeof(wait_columns[0])
};

enum {
	LOCK_END,
	LOCK_DURATION,
	LOCK_THREAD,
	LOCK_STACK,
	LOCK_REST
};

#define LOCK(member, ...) \
	LAYOUT_COLUMN(film_lock, member, .view = offsetof(struct film_locks, member), ##__VA_ARGS__)

static const struct layout_column lock_columns[] = {
	[LOCK_END] = LOCK(end, .how = LAYOUT_NOISE),
	[LOCK_DURATION] = LOCK(duration, .how = LAYOUT_NOISE),
	[LOCK_THREAD] = LOCK(thread, .id_of = LAYOUT_THREAD),
	[LOCK_STACK] = LOCK(stack, .id_of = LAYOUT_STACK),
	LOCK(waker, .id_of = LAYOUT_THREAD),
	LOCK(waker_stack, .id_of = LAYOUT_STACK),
	LOCK(holder, .id_of = LAYOUT_THREAD),
	LOCK(place, .id_of = LAYOUT_FRAME),
	LOCK(address),
	LOCK(value),
	LOCK(kind),
	LOCK(sure),
	LOCK(context),
	LOCK(flags),
};

enum {
	LOCK_COLUMNS = sizeof(lock_columns) / sizeof(lock_columns[0])
};

enum {
	TURN_END,
	TURN_THREAD,
	TURN_STACK,
	TURN_WAITED,
	TURN_REST
};

#define TURN(member, ...) \
	LAYOUT_COLUMN(film_turn, member, .view = offsetof(struct film_turns, member), ##__VA_ARGS__)

static const struct layout_column turn_columns[] = {
	[TURN_END] = TURN(end, .how = LAYOUT_NOISE),
	[TURN_THREAD] = TURN(thread, .id_of = LAYOUT_THREAD),
	[TURN_STACK] = TURN(stack, .id_of = LAYOUT_STACK),
	[TURN_WAITED] = TURN(waited, .how = LAYOUT_NOISE),
	TURN(ran, .how = LAYOUT_NOISE),
	TURN(ready, .how = LAYOUT_NOISE),
	TURN(unseen),
	TURN(waker, .id_of = LAYOUT_THREAD),
	TURN(cpu),
	TURN(call),
	TURN(state),
	TURN(context),
	TURN(descriptor),
	TURN(flags),
	TURN(arguments[0]),
	TURN(arguments[1]),
	TURN(arguments[2]),
	TURN(arguments[3]),
	TURN(object, .id_of = LAYOUT_FRAME, .later = true),
	TURN(ready_object, .id_of = LAYOUT_FRAME, .later = true),
	TURN(on, .id_of = LAYOUT_THREAD, .later = true),
	TURN(lock, .later = true),
	TURN(holder, .id_of = LAYOUT_THREAD, .later = true),
	TURN(lock_kind, .later = true),
};

enum {
	TURN_COLUMNS = sizeof(turn_columns) / sizeof(turn_columns[0])
};

enum {
	REQUEST_END,
	REQUEST_DURATION,
	REQUEST_THREAD,
	REQUEST_STACK,
	REQUEST_REST
};

#define REQUEST(member, ...)                                                                \
	LAYOUT_COLUMN(film_request, member, .view = offsetof(struct film_requests, member), \
		      ##__VA_ARGS__)

/* Eight bytes of a text in struct row, of which struct rows has columns. */
#define TEXT_WORD(row, rows, member, i)                     \
	{                                                   \
		.name = #member, .size = sizeof(uint64_t),  \
		.at = offsetof(struct row, member) + (i)*8, \
		.view = offsetof(struct rows, member[i])    \
	}
#define WORD(member, i) TEXT_WORD(film_request, film_requests, member, i)

static const struct layout_column request_columns[] = {
	[REQUEST_END] = REQUEST(end, .how = LAYOUT_NOISE),
	[REQUEST_DURATION] = REQUEST(duration, .how = LAYOUT_NOISE),
	[REQUEST_THREAD] = REQUEST(thread, .id_of = LAYOUT_THREAD),
	[REQUEST_STACK] = REQUEST(stack, .id_of = LAYOUT_STACK),
	REQUEST(first, .how = LAYOUT_NOISE),
	REQUEST(received),
	REQUEST(sent),
	REQUEST(connection),
	REQUEST(number),
	REQUEST(parent),
	REQUEST(peer[0]),
	REQUEST(peer[1]),
	REQUEST(own[0]),
	REQUEST(own[1]),
	WORD(path, 0),
	WORD(path, 1),
	WORD(path, 2),
	WORD(path, 3),
	WORD(path, 4),
	WORD(path, 5),
	WORD(path, 6),
	WORD(path, 7),
	WORD(id, 0),
	WORD(id, 1),
	WORD(id, 2),
	WORD(id, 3),
	WORD(id, 4),
	REQUEST(endpoint, .id_of = LAYOUT_FRAME),
	REQUEST(answerer, .id_of = LAYOUT_THREAD),
	REQUEST(status),
	REQUEST(flags),
	REQUEST(peer_port),
	REQUEST(own_port),
	REQUEST(protocol),
	REQUEST(role),
	REQUEST(id_kind),
	REQUEST(stream, .later = true),
	REQUEST(goroutine, .later = true),
	REQUEST(place, .id_of = LAYOUT_FRAME, .later = true),
};

_Static_assert(FILM_REQUEST_PATH == 8 * 8 && FILM_REQUEST_ID == 5 * 8,
	       "each word of the texts is a column");

enum {
	REQUEST_COLUMNS = sizeof(request_columns) / sizeof(request_columns[0])
};

enum {
	HELD_TIME,
	HELD_THREAD,
	HELD_STACK,
	HELD_VALUE,
	HELD_BORN,
	HELD_COUNT,
};

#define HELD(member, ...) \
	LAYOUT_COLUMN(film_held, member, .view = offsetof(struct film_helds, member), ##__VA_ARGS__)

static const struct layout_column held_columns[] = {
	[HELD_TIME] = HELD(time),
	[HELD_THREAD] = HELD(thread, .id_of = LAYOUT_THREAD),
	[HELD_STACK] = HELD(stack, .id_of = LAYOUT_STACK),
	[HELD_VALUE] = HELD(value),
	[HELD_BORN] = HELD(born),
	[HELD_COUNT] =
		LAYOUT_COLUMN(film_held, count, .view = offsetof(struct film_helds, count_of)),
};

enum {
	HELD_COLUMNS = sizeof(held_columns) / sizeof(held_columns[0])
};

enum {
	VALUE_END,
	VALUE_DURATION,
	VALUE_REST
};

#define VALUE(member, ...)                                                              \
	LAYOUT_COLUMN(film_value, member, .view = offsetof(struct film_values, member), \
		      ##__VA_ARGS__)

#define VALUE_WORD(i) TEXT_WORD(film_value, film_values, text, i)

static const struct layout_column value_columns[] = {
	[VALUE_END] = VALUE(end),
	[VALUE_DURATION] = VALUE(duration),
	VALUE(thread, .id_of = LAYOUT_THREAD),
	VALUE(frame, .id_of = LAYOUT_FRAME),
	VALUE(goroutine),
	VALUE(flags),
	VALUE(part),
	VALUE(place),
	VALUE(children),
	VALUE(name, .id_of = LAYOUT_FRAME),
	VALUE(type, .id_of = LAYOUT_FRAME),
	VALUE(kind),
	VALUE(status),
	VALUE(number),
	VALUE(length),
	VALUE(size),
	VALUE_WORD(0),
	VALUE_WORD(1),
	VALUE_WORD(2),
	VALUE_WORD(3),
};

_Static_assert(FILM_VALUE_TEXT == 4 * 8, "each word of the text is a column");

enum {
	VALUE_COLUMNS = sizeof(value_columns) / sizeof(value_columns[0])
};

enum {
	GAUGE_END,
	GAUGE_DURATION,
	GAUGE_THREAD,
	GAUGE_REST
};

#define GAUGE(member, ...)                                                              \
	LAYOUT_COLUMN(film_gauge, member, .view = offsetof(struct film_gauges, member), \
		      ##__VA_ARGS__)

static const struct layout_column gauge_columns[] = {
	[GAUGE_END] = GAUGE(end),
	[GAUGE_DURATION] = GAUGE(duration),
	[GAUGE_THREAD] = GAUGE(thread, .id_of = LAYOUT_THREAD),
	GAUGE(kind),
	GAUGE(object, .id_of = LAYOUT_FRAME),
	GAUGE(value),
	LAYOUT_COLUMN(film_gauge, count, .view = offsetof(struct film_gauges, count_of)),
	GAUGE(time),
	GAUGE(longest),
};

enum {
	GAUGE_COLUMNS = sizeof(gauge_columns) / sizeof(gauge_columns[0])
};

enum {
	LOG_TIME,
	LOG_THREAD,
	LOG_REST
};

#define LOG(member, ...) \
	LAYOUT_COLUMN(film_log, member, .view = offsetof(struct film_logs, member), ##__VA_ARGS__)
#define LOG_WORD(i) TEXT_WORD(film_log, film_logs, text, i)

static const struct layout_column log_columns[] = {
	[LOG_TIME] = LOG(time, .how = LAYOUT_NOISE),
	[LOG_THREAD] = LOG(thread, .id_of = LAYOUT_THREAD),
	LOG(number, .how = LAYOUT_NOISE),
	LOG(stream, .id_of = LAYOUT_FRAME),
	LOG(size),
	LOG(part, .most = FILM_LOG_PARTS - 1),
	LOG(bytes, .most = FILM_LOG_TEXT),
	LOG(kind),
	LOG(level),
	LOG(flags),
	LOG_WORD(0),
	LOG_WORD(1),
	LOG_WORD(2),
	LOG_WORD(3),
	LOG_WORD(4),
	LOG_WORD(5),
	LOG_WORD(6),
	LOG_WORD(7),
	LOG_WORD(8),
	LOG_WORD(9),
	LOG_WORD(10),
	LOG_WORD(11),
	LOG_WORD(12),
	LOG_WORD(13),
	LOG_WORD(14),
	LOG_WORD(15),
};

_Static_assert(FILM_LOG_TEXT == 16 * 8, "each word of the text is a column");

enum {
	LOG_COLUMNS = sizeof(log_columns) / sizeof(log_columns[0])
};

enum {
	WORK_END,
	WORK_DURATION,
	WORK_THREAD,
	WORK_REST
};

#define WORK(member, ...) \
	LAYOUT_COLUMN(film_work, member, .view = offsetof(struct film_works, member), ##__VA_ARGS__)

static const struct layout_column work_columns[] = {
	[WORK_END] = WORK(end, .how = LAYOUT_NOISE),
	[WORK_DURATION] = WORK(duration, .how = LAYOUT_NOISE),
	[WORK_THREAD] = WORK(thread, .id_of = LAYOUT_THREAD),
	WORK(stack, .id_of = LAYOUT_STACK),
	WORK(name, .id_of = LAYOUT_FRAME),
	WORK(launched, .how = LAYOUT_NOISE),
	WORK(bytes),
	WORK(device),
	WORK(stream),
	WORK(flags),
};

enum {
	WORK_COLUMNS = sizeof(work_columns) / sizeof(work_columns[0])
};

static const struct film_kind kinds[FILM_BLOCK_KINDS] = {
	[FILM_BLOCK_SAMPLES] =
		{
			.name = "samples",
			.layout = {sample_columns, SAMPLE_COLUMNS, sizeof(struct film_sample),
				   sizeof(struct film_samples)},
			.span = FILM_SPAN_TIMES,
			.time = &sample_columns[SAMPLE_TIME],
			.total = &sample_columns[SAMPLE_VALUE],
			.thread = &sample_columns[SAMPLE_THREAD],
			.stack = &sample_columns[SAMPLE_STACK],
			.cpu = &sample_columns[SAMPLE_CPU],
			.sorted = true,
			/*
			 * When a timer fires is known no better than to about a microsecond, and
			 * what is below is noise that takes a quarter of a film. A power of two, as
			 * planes of bytes are what is compressed.
			 */
			.clock = 1024,
			.lost = LOST_SAMPLE,
		},
	[FILM_BLOCK_CALLS] =
		{
			.name = "calls",
			.layout = {call_columns, CALL_COLUMNS, sizeof(struct film_call),
				   sizeof(struct film_calls)},
			.span = FILM_SPAN_TIMES,
			.time = &call_columns[CALL_END],
			.length = &call_columns[CALL_DURATION],
			.total = &call_columns[CALL_DURATION],
			.outermost = &call_columns[CALL_DEPTH],
			.many = true,
			.lost = LOST_CALL,
			.pack = pack_calls,
			.unpack = unpack_calls,
		},
	[FILM_BLOCK_PROBES] =
		{
			.name = "probes",
			.layout = {probe_columns, PROBE_COLUMNS, sizeof(struct film_probe), 0},
			/* readers that know no costs take these */
			.also = FILM_BLOCK_COSTS,
			.lost = LOST_PROBE,
		},
	[FILM_BLOCK_SUMS] =
		{
			.name = "sums",
			.layout = {sum_columns, SUM_COLUMNS, sizeof(struct film_sum), 0},
			.span = FILM_SPAN_GIVEN,
			.total = &sum_columns[SUM_SELF],
			.lost = LOST_SUM,
		},
	[FILM_BLOCK_COSTS] =
		{
			.name = "costs",
			.layout = {probe_columns, COST_COLUMNS, sizeof(struct film_probe), 0},
			.beside = true,
			.lost = LOST_PROBE,
		},
	[FILM_BLOCK_WAITS] =
		{
			.name = "waits",
			.layout = {wait_columns, WAIT_COLUMNS, sizeof(struct film_wait),
				   sizeof(struct film_waits)},
			.span = FILM_SPAN_TIMES,
			.time = &wait_columns[WAIT_END],
			.length = &wait_columns[WAIT_DURATION],
			.total = &wait_columns[WAIT_DURATION],
			.thread = &wait_columns[WAIT_THREAD],
			.stack = &wait_columns[WAIT_STACK],
			.sorted = true,
			.lost = LOST_PAUSE,
		},
	[FILM_BLOCK_LOCKS] =
		{
			.name = "locks",
			.layout = {lock_columns, LOCK_COLUMNS, sizeof(struct film_lock),
				   sizeof(struct film_locks)},
			.span = FILM_SPAN_TIMES,
			.time = &lock_columns[LOCK_END],
			.length = &lock_columns[LOCK_DURATION],
			.total = &lock_columns[LOCK_DURATION],
			.thread = &lock_columns[LOCK_THREAD],
			.stack = &lock_columns[LOCK_STACK],
			.sorted = true,
			.lost = LOST_PAUSE,
		},
	[FILM_BLOCK_TURNS] =
		{
			.name = "turns",
			.layout = {turn_columns, TURN_COLUMNS, sizeof(struct film_turn),
				   sizeof(struct film_turns)},
			.span = FILM_SPAN_TIMES,
			.time = &turn_columns[TURN_END],
			.length = &turn_columns[TURN_WAITED],
			.total = &turn_columns[TURN_WAITED],
			.thread = &turn_columns[TURN_THREAD],
			.stack = &turn_columns[TURN_STACK],
			.sorted = true,
			.follow = true,
			.lost = LOST_PAUSE,
		},
	[FILM_BLOCK_REQUESTS] =
		{
			.name = "requests",
			.layout = {request_columns, REQUEST_COLUMNS, sizeof(struct film_request),
				   sizeof(struct film_requests)},
			.span = FILM_SPAN_TIMES,
			.time = &request_columns[REQUEST_END],
			.length = &request_columns[REQUEST_DURATION],
			.total = &request_columns[REQUEST_DURATION],
			.thread = &request_columns[REQUEST_THREAD],
			.stack = &request_columns[REQUEST_STACK],
			.sorted = true,
			/* a program makes them up in no time, by markers (doc/markers.md) */
			.pending = 48u << 20,
			.lost = LOST_REQUEST,
		},
	[FILM_BLOCK_HELD] =
		{
			.name = "held",
			.layout = {held_columns, HELD_COLUMNS, sizeof(struct film_held),
				   sizeof(struct film_helds)},
			.span = FILM_SPAN_TIMES,
			.time = &held_columns[HELD_TIME],
			.total = &held_columns[HELD_VALUE],
			.thread = &held_columns[HELD_THREAD],
			.stack = &held_columns[HELD_STACK],
			.born = &held_columns[HELD_BORN],
			.count = &held_columns[HELD_COUNT],
			.sorted = true,
			.lost = LOST_SAMPLE,
		},
	[FILM_BLOCK_VALUES] =
		{
			.name = "values",
			.layout = {value_columns, VALUE_COLUMNS, sizeof(struct film_value),
				   sizeof(struct film_values)},
			.span = FILM_SPAN_TIMES,
			.time = &value_columns[VALUE_END],
			.length = &value_columns[VALUE_DURATION],
			.sorted = true,
			.together = true,
			.lost = LOST_VALUE,
		},
	[FILM_BLOCK_GAUGES] =
		{
			.name = "gauges",
			.layout = {gauge_columns, GAUGE_COLUMNS, sizeof(struct film_gauge),
				   sizeof(struct film_gauges)},
			.span = FILM_SPAN_TIMES,
			.time = &gauge_columns[GAUGE_END],
			.length = &gauge_columns[GAUGE_DURATION],
			.thread = &gauge_columns[GAUGE_THREAD],
			.sorted = true,
			.lost = LOST_GAUGE,
		},
	[FILM_BLOCK_LOGS] =
		{
			.name = "logs",
			.layout = {log_columns, LOG_COLUMNS, sizeof(struct film_log),
				   sizeof(struct film_logs)},
			.span = FILM_SPAN_TIMES,
			.time = &log_columns[LOG_TIME],
			.thread = &log_columns[LOG_THREAD],
			.sorted = true,
			.lost = LOST_LOG,
		},
	[FILM_BLOCK_WORKS] =
		{
			.name = "works",
			.layout = {work_columns, WORK_COLUMNS, sizeof(struct film_work),
				   sizeof(struct film_works)},
			.span = FILM_SPAN_TIMES,
			.time = &work_columns[WORK_END],
			.length = &work_columns[WORK_DURATION],
			.total = &work_columns[WORK_DURATION],
			.had_no_total = true,
			.thread = &work_columns[WORK_THREAD],
			.sorted = true,
			.lost = LOST_WORK,
		},
};

const struct film_kind *film_kind(uint64_t kind)
{
	return kind < FILM_BLOCK_KINDS && kinds[kind].name ? &kinds[kind] : NULL;
}
