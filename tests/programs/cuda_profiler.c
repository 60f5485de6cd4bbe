// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for the profiling library of a GPU's driver (CUPTI): callbacks at launches, and records of
 * kernels and copies in buffers that its user provides, laid out as CUPTI's are (cupti_activity.h
 * of CUDA 12). The environment says what goes wrong:
 *
 *	PROFILER_TAKEN		another tool has it
 *	PROFILER_REFUSES	it gives no records, and the subscriber must go
 *	PROFILER_UNTIMED	when kernels of that name ran is not known
 *	PROFILER_NO_COPIES	it gives no records of copies
 *	PROFILER_DROPS		that many records had no room
 *	PROFILER_NO_SAMPLES	it samples no instructions, as the user may not
 *	PROFILER_DROPS_SAMPLES	that many samples of instructions were dropped in each reading
 *	PROFILER_LATE_NODES	the first that many nodes of graphs were made before it looked
 *	PROFILER_NO_NODES	it does not say when nodes of graphs are made
 *	PROFILER_VERSION	of its interface: below 22, structs of samples are smaller
 *
 * Each microsecond of a kernel is a sample of an instruction: of the first 13 of its code, in turn,
 * and of three reasons.
 *
 * Of two such libraries in a process, the second one hears of nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_driver.h"

#define EXPORTED     __attribute__((visibility("default")))
#define KERNEL_BYTES 208
#define COPY_BYTES   88
#define PEERS_BYTES  96
#define WAIT_BYTES   40
#define EVENT_BYTES  24
#define TAKEN	     39 /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
#define REFUSED	     35 /* CUPTI_ERROR_INSUFFICIENT_PRIVILEGES */
#define NO_MORE	     12 /* CUPTI_ERROR_MAX_LIMIT_REACHED */
#define CALLBACKS    1024

typedef void at_callback(void *user, int domain, uint32_t id, const void *data);
typedef void request(uint8_t **buffer, size_t *size, size_t *most);
typedef void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct driver_hooks hooks;
static at_callback *subscriber;
static void *subscriber_user;
static uint8_t is_enabled[CALLBACKS];
static request *on_request;
static complete *on_complete;
static int has_kernels, has_copies, has_waits, has_events;
static uint32_t resources; /* callbacks of that domain that are enabled, as bits */
static uint8_t *buffer;
static size_t buffer_size, buffer_used, dropped, handed_over;
static uint64_t recorded_ns; /* of kernels and copies, in records that had room */
static int is_second;

__attribute__((constructor)) static void loaded(void)
{
	const char *by = getenv("PROFILER_OF");
	char own[16];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	is_second = by && !strcmp(by, own);
	setenv("PROFILER_OF", own, 1);
}

__attribute__((destructor)) static void unloaded(void)
{
	if (subscriber && getenv("PROFILER_REFUSES"))
		abort();
}

static void put(uint8_t *record, size_t at, const void *value, size_t size)
{
	memcpy(record + at, value, size);
}

static void hand_over(void)
{
	uint8_t *full = buffer;

	buffer = NULL;
	if (!full)
		return;
	on_complete(NULL, 0, full, buffer_size, buffer_used);
	handed_over++;
}

static void launch(uint32_t callback, uint32_t number)
{
	uint8_t data[72] = {0}; /* CUpti_CallbackData: at its beginning CUPTI_API_ENTER */
	at_callback *to = __atomic_load_n(&subscriber, __ATOMIC_ACQUIRE);

	put(data, 64, &number, sizeof(number));
	if (to && callback < CALLBACKS && is_enabled[callback])
		to(subscriber_user, 1, callback, data);
}

static void end(uint32_t callback, uint32_t number)
{
	const uint32_t site = 1; /* CUPTI_API_EXIT */
	uint8_t data[72] = {0};
	at_callback *to = __atomic_load_n(&subscriber, __ATOMIC_ACQUIRE);

	put(data, 0, &site, sizeof(site));
	put(data, 64, &number, sizeof(number));
	if (to && callback < CALLBACKS && is_enabled[callback])
		to(subscriber_user, 1, callback, data);
}

static void sample(const char *name, uint64_t ns);

enum {
	COPY = 1,
	SET = 2,
	KERNEL = 10,
	PEERS = 22,
	EVENT = 36,
	WAIT = 38,
};

static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case KERNEL:
		return KERNEL_BYTES;
	case PEERS:
		return PEERS_BYTES;
	case EVENT:
		return EVENT_BYTES;
	default:
		return kind == WAIT ? WAIT_BYTES : COPY_BYTES;
	}
}

/* The caller has the lock. Null: there is no room. */
static uint8_t *new_record(uint32_t kind)
{
	size_t size = size_of(kind), most;
	uint8_t *record;

	if (!buffer || buffer_used + size > buffer_size) {
		hand_over();
		on_request(&buffer, &buffer_size, &most);
		buffer_used = 0;
	}
	if (!buffer) {
		dropped++;
		return NULL;
	}
	record = buffer + buffer_used;
	buffer_used += size;
	memset(record, 0, size);
	put(record, 0, &kind, sizeof(kind));
	return record;
}

static void put_kernel(const struct driver_ran *ran)
{
	const char *untimed = getenv("PROFILER_UNTIMED");
	int has_time = !untimed || strcmp(untimed, ran->name);
	uint8_t *record = new_record(KERNEL);

	if (has_time)
		sample(ran->name, ran->end - ran->begin);
	if (record && has_time) {
		put(record, 16, &ran->begin, sizeof(ran->begin));
		put(record, 24, &ran->end, sizeof(ran->end));
	}
	if (record) {
		recorded_ns += has_time ? ran->end - ran->begin : 0;
		put(record, 40, &ran->device, sizeof(ran->device));
		put(record, 48, &ran->stream, sizeof(ran->stream));
		put(record, 92, &ran->number, sizeof(ran->number));
		put(record, 104, &ran->name, sizeof(ran->name));
		put(record, 144, &ran->node, sizeof(ran->node));
		put(record, 156, &ran->graph, sizeof(ran->graph));
	}
}

static void put_copy(const struct driver_ran *ran)
{
	uint32_t kind = ran->direction == 15 ? SET : ran->direction == 10 ? PEERS : COPY;
	uint8_t *record = new_record(kind);

	if (!record)
		return;
	if (kind != SET) {
		record[4] = ran->direction;
		record[5] = ran->from;
	}
	recorded_ns += ran->end - ran->begin;
	put(record, 8, &ran->bytes, sizeof(ran->bytes));
	put(record, 16, &ran->begin, sizeof(ran->begin));
	put(record, 24, &ran->end, sizeof(ran->end));
	put(record, 32, &ran->device, sizeof(ran->device));
	put(record, 40, &ran->stream, sizeof(ran->stream));
	put(record, kind == PEERS ? 60 : 44, &ran->number, sizeof(ran->number));
	put(record, kind == PEERS ? 72 : 64, &ran->node, sizeof(ran->node));
	put(record, kind == PEERS ? 80 : 72, &ran->graph, sizeof(ran->graph));
}

static void add_ran(const struct driver_ran *ran)
{
	pthread_mutex_lock(&lock);
	if (ran->name && has_kernels)
		put_kernel(ran);
	else if (!ran->name && has_copies)
		put_copy(ran);
	pthread_mutex_unlock(&lock);
}

static void add_waited(const struct driver_waited *waited)
{
	uint8_t *record;

	pthread_mutex_lock(&lock);
	record = has_waits ? new_record(WAIT) : NULL;
	if (record) {
		put(record, 4, &waited->type, sizeof(waited->type));
		put(record, 8, &waited->begin, sizeof(waited->begin));
		put(record, 16, &waited->end, sizeof(waited->end));
		put(record, 24, &waited->number, sizeof(waited->number));
		put(record, 32, &waited->stream, sizeof(waited->stream));
		put(record, 36, &waited->event, sizeof(waited->event));
	}
	pthread_mutex_unlock(&lock);
}

static void add_event(const struct driver_event *event)
{
	uint8_t *record;

	pthread_mutex_lock(&lock);
	record = has_events ? new_record(EVENT) : NULL;
	if (record) {
		put(record, 4, &event->number, sizeof(event->number));
		put(record, 12, &event->stream, sizeof(event->stream));
		put(record, 16, &event->event, sizeof(event->event));
	}
	pthread_mutex_unlock(&lock);
}

/* -- samples of instructions ------------------------------------------------------------------- */

#define INSTRUCTIONS 13
#define REASONS	     3
#define CODES	     8
#define KERNELS	     8

struct stall {
	uint32_t reason, samples;
};

struct pc {
	size_t size;
	uint64_t code, offset;
	uint32_t index, unused;
	const char *function;
	size_t count;
	struct stall *stalls;
};

struct pc_data {
	size_t size, most;
	uint64_t total, dropped;
	size_t count, left;
	uint64_t range;
	uint8_t *pcs;
	uint64_t of_driver;
};

/* What all functions of this part begin with. */
struct parameters {
	size_t size;
	void *unused, *context;
	void *first;
	void *second, *third;
};

static const char *const reasons[REASONS] = {
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_selected",
	"smsp__pcsamp_warps_issue_stalled_barrier",
};
static struct {
	const char *name;
	uint32_t samples[INSTRUCTIONS][REASONS];
	uint64_t next;
} sampled[KERNELS];
static uint64_t made[2], code_hash;
static int is_sampling, is_configured;
static void (*on_hash)(const void *code, size_t size, uint64_t *hash);

static int is_small(void)
{
	const char *version = getenv("PROFILER_VERSION");

	return version && atoi(version) < 22;
}

/* The caller has the lock. */
static void sample(const char *name, uint64_t ns)
{
	int k = 0;

	if (!is_sampling || !is_configured)
		return;
	while (k < KERNELS - 1 && sampled[k].name && strcmp(sampled[k].name, name))
		k++;
	sampled[k].name = name;
	for (uint64_t i = 0; i < ns / 1000; i++, sampled[k].next++)
		sampled[k].samples[sampled[k].next % INSTRUCTIONS]
				  [sampled[k].next / INSTRUCTIONS % REASONS]++;
	made[strcmp(name, "axpy") != 0] += ns / 1000;
}

static void add_truth(struct driver_truth *truth)
{
	pthread_mutex_lock(&lock);
	truth->samples[0] = made[0];
	truth->samples[1] = made[1];
	truth->handed_over = handed_over;
	truth->recorded_ns = recorded_ns;
	pthread_mutex_unlock(&lock);
}

static void resource(uint32_t id, const uint8_t *data)
{
	if (subscriber && resources >> id & 1)
		subscriber(subscriber_user, 3, id, data);
}

static void context(void *of, int begins)
{
	uint8_t data[24] = {0};

	put(data, 0, &of, sizeof(of));
	resource(begins ? 1 : 2, data);
}

static void module(void *of, const void *code, size_t size)
{
	uint8_t described[24] = {0}, data[24] = {0};
	const void *at = described;

	put(described, 8, &size, sizeof(size));
	put(described, 16, &code, sizeof(code));
	put(data, 0, &of, sizeof(of));
	put(data, 16, &at, sizeof(at));
	if (on_hash)
		on_hash(code, size, &code_hash);
	resource(6, data);
}

/* CUpti_ResourceData, and in it CUpti_GraphData. */
static void node(uint32_t callback, uint64_t of, uint64_t original)
{
	const char *late = getenv("PROFILER_LATE_NODES");
	uint8_t described[56] = {0}, data[24] = {0};
	const void *at = described;

	if (late && of <= strtoull(late, NULL, 10))
		return;
	put(described, 16, &of, sizeof(of));
	put(described, 24, &original, sizeof(original));
	put(data, 16, &at, sizeof(at));
	resource(callback, data);
}

/* A node's handle is its number. */
EXPORTED int cuptiGetGraphNodeId(void *of, uint64_t *id)
{
	*id = (uintptr_t)of;
	return !of;
}

EXPORTED int cuptiGetVersion(uint32_t *version)
{
	*version = is_small() ? 18 : 26;
	return 0;
}

EXPORTED int cuptiRegisterComputeCrcCallback(void (*hash)(const void *, size_t, uint64_t *))
{
	on_hash = hash;
	return 0;
}

EXPORTED int cuptiPCSamplingEnable(struct parameters *parameters)
{
	if (getenv("PROFILER_NO_SAMPLES") || parameters->size != 24 || !parameters->context)
		return REFUSED;
	is_sampling = 1;
	return 0;
}

EXPORTED int cuptiPCSamplingDisable(struct parameters *parameters)
{
	(void)parameters;
	is_sampling = 0;
	return 0;
}

EXPORTED int cuptiPCSamplingSetConfigurationAttribute(struct parameters *parameters)
{
	struct {
		uint32_t type, status;
		uint64_t value[3];
	} *attributes = parameters->second;

	if (parameters->size != 40)
		return 1;
	for (size_t i = 0; i < (size_t)parameters->first; i++) {
		/* continuous, not one kernel after the other */
		if (attributes[i].type == 5 && attributes[i].value[0] != 1)
			return 1;
		is_configured |= attributes[i].type == 8 && attributes[i].value[0];
	}
	return 0;
}

EXPORTED int cuptiPCSamplingGetNumStallReasons(struct parameters *parameters)
{
	*(size_t *)parameters->first = REASONS;
	return parameters->size != 32;
}

EXPORTED int cuptiPCSamplingGetStallReasons(struct parameters *parameters)
{
	uint32_t *indices = parameters->second;
	char **texts = parameters->third;

	if (parameters->size != 48 || (size_t)parameters->first != REASONS)
		return 1;
	for (uint32_t i = 0; i < REASONS; i++) {
		indices[i] = 10 + i;
		strcpy(texts[i], reasons[i]);
	}
	return 0;
}

/* One record for each instruction that has samples, as far as there is room. */
EXPORTED int cuptiPCSamplingGetData(struct parameters *parameters)
{
	struct pc_data *data = parameters->first;
	const char *drops = getenv("PROFILER_DROPS_SAMPLES");
	size_t size = is_small() ? 56 : 64;

	if (parameters->size != 32 || data->size != (is_small() ? 72 : 80))
		return 1;
	pthread_mutex_lock(&lock);
	data->count = data->left = 0;
	data->dropped = drops ? (uint64_t)atoi(drops) : 0;
	for (int i = 0; i < KERNELS * INSTRUCTIONS; i++) {
		uint32_t *samples = sampled[i / INSTRUCTIONS].samples[i % INSTRUCTIONS];
		struct pc *pc = (void *)(data->pcs + data->count * size);

		if (!samples[0] && !samples[1] && !samples[2])
			continue;
		/* few, so that the user has to ask again */
		if (data->count == 5 || data->count == data->most) {
			data->left++;
			continue;
		}
		data->count++;
		pc->code = code_hash;
		pc->offset = (uint64_t)(i % INSTRUCTIONS) * 16;
		pc->function = sampled[i / INSTRUCTIONS].name;
		pc->count = REASONS;
		for (uint32_t k = 0; k < REASONS; k++) {
			pc->stalls[k] = (struct stall){10 + k, samples[k]};
			samples[k] = 0;
		}
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* -- the interface ----------------------------------------------------------------------------- */

EXPORTED int cuptiSubscribe(void **to, at_callback *callback, void *user)
{
	if (getenv("PROFILER_TAKEN") || is_second)
		return TAKEN;
	subscriber = callback;
	subscriber_user = user;
	*to = &subscriber;
	hooks.launch = launch;
	hooks.end = end;
	hooks.ran = add_ran;
	hooks.waited = add_waited;
	hooks.event = add_event;
	hooks.node = node;
	hooks.context = context;
	hooks.module = module;
	hooks.truth = add_truth;
	return driver_hook(&hooks);
}

EXPORTED int cuptiUnsubscribe(void *of)
{
	(void)of;
	/* a record of a call that has begun is still made */
	hooks.launch = hooks.end = NULL;
	__atomic_store_n(&subscriber, NULL, __ATOMIC_RELEASE);
	return driver_hook(&hooks);
}

EXPORTED int cuptiEnableCallback(uint32_t on, void *of, int domain, uint32_t id)
{
	(void)of;
	if (domain == 3 && id > 12 && getenv("PROFILER_NO_NODES"))
		return REFUSED;
	if (domain == 3 && id < 32) {
		resources |= 1u << id;
		return 0;
	}
	if (domain != 1 || id >= CALLBACKS)
		return 1;
	is_enabled[id] = (uint8_t)on;
	return 0;
}

EXPORTED int cuptiActivityRegisterCallbacks(request *requested, complete *completed)
{
	on_request = requested;
	on_complete = completed;
	return 0;
}

EXPORTED int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	hooks.now = now;
	return driver_hook(&hooks);
}

EXPORTED int cuptiActivityEnable(int kind)
{
	if (getenv("PROFILER_REFUSES"))
		return REFUSED;
	if (kind != KERNEL && getenv("PROFILER_NO_COPIES"))
		return REFUSED;
	has_kernels |= kind == KERNEL;
	has_copies |= kind == COPY;
	has_waits |= kind == WAIT;
	has_events |= kind == EVENT;
	return 0;
}

EXPORTED int cuptiActivityDisable(int kind)
{
	pthread_mutex_lock(&lock);
	has_kernels &= kind != KERNEL;
	has_copies &= kind != COPY;
	has_waits &= kind != WAIT;
	has_events &= kind != EVENT;
	pthread_mutex_unlock(&lock);
	return 0;
}

EXPORTED int cuptiActivityFlushAll(uint32_t flag)
{
	const char *drops = getenv("PROFILER_DROPS");

	pthread_mutex_lock(&lock);
	/* once: the flag says that it is the last time */
	dropped += drops && flag ? (size_t)atoi(drops) : 0;
	hand_over();
	pthread_mutex_unlock(&lock);
	return 0;
}

EXPORTED int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record)
{
	uint8_t *next = *record ? *record + size_of(*(uint32_t *)*record) : from;

	if (next + sizeof(uint32_t) > from + valid ||
	    next + size_of(*(uint32_t *)next) > from + valid)
		return NO_MORE;
	*record = next;
	return 0;
}

EXPORTED int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	*count = dropped;
	dropped = 0;
	return 0;
}
