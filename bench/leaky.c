// SPDX-License-Identifier: Apache-2.0
/* leaky list|buffer: see bench/leaks. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 600
#define KEPT  __attribute__((noinline, noclone))

struct item {
	struct item *next;
	char text[1000];
};

static struct item *all;
static char *buffer;
static size_t length;

static void *filled(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		exit(1);
	return memset(memory, 1, bytes);
}

/* Each request leaves something in a list. */
static void KEPT planted_list(void)
{
	for (int i = 0; i < 60; i++) {
		struct item *item = filled(sizeof(*item));

		item->next = all;
		all = item;
	}
}

/* A log in memory that nothing cuts. */
static void KEPT planted_buffer(void)
{
	buffer = realloc(buffer, length + 60000);
	if (!buffer)
		exit(1);
	memset(buffer + length, 1, 60000);
	length += 60000;
}

static void *KEPT cache_at_start(void)
{
	char **cache = filled(30000 * sizeof(*cache));

	for (int i = 0; i < 30000; i++)
		cache[i] = filled(1000);
	return cache;
}

/* What lives for a second. */
static void KEPT window(int step)
{
	static void *slots[100][50];

	for (int i = 0; i < 50; i++) {
		free(slots[step % 100][i]);
		slots[step % 100][i] = filled(10000);
	}
}

static void KEPT churn(void)
{
	for (int i = 0; i < 500; i++)
		free(filled((size_t)(100 + i * 7)));
}

int main(int argc, char **argv)
{
	void *volatile cache = cache_at_start();

	for (int step = 0; step < STEPS; step++) {
		churn();
		window(step);
		if (argc > 1 && !strcmp(argv[1], "list"))
			planted_list();
		else
			planted_buffer();
		usleep(10000);
	}
	return !cache;
}
