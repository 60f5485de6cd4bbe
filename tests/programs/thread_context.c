// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes what its threads work for, as OpenTelemetry's libraries do (OTEP 4947; names of
 * attributes by OTEP 4719): of each 10 ms of CPU time, 7 in buys() and 3 in reads(), each with
 * labels of its own, some in others() without, and then a sleep in sleeps(). Prints a line when it
 * is ready. With "hostile", another thread shows what no library does. Where CONTEXT_LIBRARY is
 * defined it is the library that has the variable.
 */
#include <stdint.h>
#include <string.h>

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attributes[256];
} __attribute__((packed));

#ifdef CONTEXT_LIBRARY
__attribute__((visibility("default"))) __thread struct record *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void context_set(struct record *record)
{
	otel_thread_ctx_v1 = record;
}
#else
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef CONTEXT_OWN
__attribute__((visibility("default"))) __thread struct record *otel_thread_ctx_v1;

static void context_set(struct record *record)
{
	*(struct record *volatile *)&otel_thread_ctx_v1 = record;
}
#else
void context_set(struct record *record);
#endif

/* -- names of attributes ----------------------------------------------------------------------- */

struct context {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};

/* A field of a message, with the length of its bytes below 128. */
static size_t put(uint8_t *to, unsigned int number, const void *bytes, size_t size)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)size;
	memcpy(to + 2, bytes, size);
	return size + 2;
}

static size_t put_text(uint8_t *to, unsigned int number, const char *text)
{
	return put(to, number, text, strlen(text));
}

/* An attribute of a process context, whose value is the message any. */
static size_t put_attribute(uint8_t *to, const char *key, const uint8_t *any, size_t size)
{
	uint8_t attribute[256];
	size_t used = put_text(attribute, 1, key);

	used += put(attribute + used, 2, any, size);
	return put(to, 2, attribute, used);
}

static size_t make_payload(uint8_t *to, const char *const *keys, size_t count)
{
	uint8_t any[128], array[128], text[128];
	size_t used, size = 0;

	used = put_text(any, 1, "tls_v1");
	used = put_attribute(to, "threadlocal.schema_version", any, used);
	for (size_t i = 0; i < count; i++)
		size += put(array + size, 1, text, put_text(text, 1, keys[i]));
	size = put(any, 5, array, size);
	return used + put_attribute(to + used, "threadlocal.attribute_key_map", any, size);
}

static void publish_keys(void)
{
	static const char *const keys[] = {"http.route", "user"};
	static uint8_t payload[512];
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct context *context;

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	context = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (context == MAP_FAILED)
		exit(1);
	context->version = 2;
	context->size = (uint32_t)make_payload(payload, keys, 2);
	context->published = 1;
	context->payload = (uint64_t)(uintptr_t)payload;
	memcpy(context->signature, "OTEL_CTX", 8);
}

/* -- work -------------------------------------------------------------------------------------- */

static volatile uint64_t sum;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void burn(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			sum += (uint64_t)i;
}

__attribute__((noinline)) void buys(void)
{
	burn(7000000);
	sum++;
}

__attribute__((noinline)) void reads(void)
{
	burn(3000000);
	sum++;
}

__attribute__((noinline)) void others(void)
{
	burn(1000000);
	sum++;
}

__attribute__((noinline)) void garbles(void)
{
	burn(1000000);
	sum++;
}

__attribute__((noinline)) void sleeps(void)
{
	usleep(5000);
	sum++;
}

static void add(struct record *record, uint8_t key, const char *value)
{
	record->attributes[record->size] = key;
	record->attributes[record->size + 1] = (uint8_t)strlen(value);
	memcpy(record->attributes + record->size + 2, value, strlen(value));
	record->size = (uint16_t)(record->size + 2 + strlen(value));
}

static struct record make(uint8_t number, const char *route, const char *user)
{
	struct record record = {.valid = 1};

	memset(record.trace, number, sizeof(record.trace));
	memset(record.span, number, sizeof(record.span));
	add(&record, 0, "/before");
	if (user)
		add(&record, 1, user);
	/* a key that has no name, and the last value of one that comes again */
	add(&record, 9, "secret");
	add(&record, 0, route);
	return record;
}

/* Records that are none: each for a while, in garbles() alone. */
static void *garble(void *unused)
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record wrong = make(9, "/garbled", NULL), *end;

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		exit(1);
	end = (struct record *)(pages + 4096 - 40);
	memcpy(end, &wrong, 40);
	for (;;) {
		/* nowhere, and where no user's memory is */
		context_set((struct record *)8);
		garbles();
		context_set((struct record *)0xffffffff81000000);
		garbles();
		/* more attributes than there is memory, and than are looked at */
		end->size = 65535;
		context_set(end);
		garbles();
		/* not valid, by any number that is not 1 */
		wrong.valid = 7;
		context_set(&wrong);
		garbles();
		wrong.valid = 1;
		/* a value that is longer than all of them */
		wrong.size = 4;
		wrong.attributes[1] = 255;
		garbles();
		/* no attribute has a name */
		memset(wrong.attributes, 200, sizeof(wrong.attributes));
		wrong.size = sizeof(wrong.attributes);
		garbles();
		wrong = make(9, "/garbled", NULL);
		wrong.valid = 0;
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct record buy = make(1, "/buy", "7"), read = make(2, "/read", NULL),
		      sleep = make(3, "/sleep", NULL);
	pthread_t thread;

	publish_keys();
	context_set(&buy);
	if (argc > 1 && !strcmp(argv[1], "hostile"))
		pthread_create(&thread, NULL, garble, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		context_set(&buy);
		buys();
		context_set(&read);
		reads();
		/* a record that stays where it is, as other libraries do it */
		*(volatile uint8_t *)&read.valid = 0;
		others();
		*(volatile uint8_t *)&read.valid = 1;
		context_set(NULL);
		others();
		context_set(&sleep);
		sleeps();
	}
}
#endif
