// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for the profiling library of a GPU's driver (CUPTI): callbacks at launches, and records of
 * kernels in buffers that its user provides, laid out as CUPTI's are (cupti_activity.h of CUDA 12:
 * 208 bytes). The environment says what goes wrong:
 *
 *	PROFILER_TAKEN		another tool has it
 *	PROFILER_REFUSES	it gives no records, and the subscriber must go
 *	PROFILER_UNTIMED	when kernels of that name ran is not known
 *	PROFILER_DROPS		that many records had no room
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
#define RECORD_BYTES 208
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
static int has_kernels;
static uint8_t *buffer;
static size_t buffer_size, buffer_used, dropped;
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
	if (full)
		on_complete(NULL, 0, full, buffer_size, buffer_used);
}

static void launch(uint32_t callback, uint32_t number)
{
	uint8_t data[72] = {0}; /* CUpti_CallbackData: at its beginning CUPTI_API_ENTER */

	put(data, 64, &number, sizeof(number));
	if (subscriber && callback < CALLBACKS && is_enabled[callback])
		subscriber(subscriber_user, 1, callback, data);
}

static void kernel(const char *name, uint32_t number, uint32_t graph, uint64_t begin, uint64_t end)
{
	const uint32_t kind = 10;
	const char *untimed = getenv("PROFILER_UNTIMED");
	uint8_t *record;
	size_t most;

	if (!has_kernels)
		return;
	if (untimed && !strcmp(untimed, name))
		begin = end = 0;
	pthread_mutex_lock(&lock);
	if (!buffer || buffer_used + RECORD_BYTES > buffer_size) {
		hand_over();
		on_request(&buffer, &buffer_size, &most);
		buffer_used = 0;
	}
	if (buffer) {
		record = buffer + buffer_used;
		memset(record, 0, RECORD_BYTES);
		put(record, 0, &kind, sizeof(kind));
		put(record, 16, &begin, sizeof(begin));
		put(record, 24, &end, sizeof(end));
		put(record, 92, &number, sizeof(number));
		put(record, 104, &name, sizeof(name));
		put(record, 156, &graph, sizeof(graph));
		buffer_used += RECORD_BYTES;
	} else {
		dropped++;
	}
	pthread_mutex_unlock(&lock);
}

EXPORTED int cuptiSubscribe(void **to, at_callback *callback, void *user)
{
	if (getenv("PROFILER_TAKEN") || is_second)
		return TAKEN;
	subscriber = callback;
	subscriber_user = user;
	*to = &subscriber;
	hooks.launch = launch;
	hooks.kernel = kernel;
	return driver_hook(&hooks);
}

EXPORTED int cuptiUnsubscribe(void *of)
{
	(void)of;
	hooks = (struct driver_hooks){0};
	subscriber = NULL;
	return driver_hook(&hooks);
}

EXPORTED int cuptiEnableCallback(uint32_t on, void *of, int domain, uint32_t id)
{
	(void)of;
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
	has_kernels |= kind == 10;
	return 0;
}

EXPORTED int cuptiActivityFlushAll(uint32_t flag)
{
	const char *drops = getenv("PROFILER_DROPS");

	(void)flag;
	pthread_mutex_lock(&lock);
	dropped += drops ? (size_t)atoi(drops) : 0;
	hand_over();
	pthread_mutex_unlock(&lock);
	return 0;
}

EXPORTED int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record)
{
	uint8_t *next = *record ? *record + RECORD_BYTES : from;

	if (next + RECORD_BYTES > from + valid)
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
