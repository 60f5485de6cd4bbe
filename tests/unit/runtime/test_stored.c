// SPDX-License-Identifier: Apache-2.0
/*
 * Stored processes (stored/make.sh), walked and named by the source that runs in the kernel and by
 * the runtimes' own: without their programs, without rights, the same answer everywhere; and the
 * same with pieces of them missing or damaged, which must end with a reason.
 */
#include "../prelude.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stored.h"

#define VARIANTS  20	  /* damaged ones, of each process and kind of damage */
#define READS_MAX 2000000 /* more would be a loop without end */
#define SEED	  20260601

static char *names[256];
static size_t name_count;

static const char *folder(void)
{
	const char *folder = getenv("STORED_PROCESSES");

	return folder ? folder : "stored";
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All NAME.process there are. */
static int list(void **state)
{
	DIR *all = opendir(folder());
	struct dirent *entry;

	(void)state;
	while (all && (entry = readdir(all)) && name_count < 256) {
		char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".process") != 0)
			continue;
		names[name_count] = strndup(entry->d_name, (size_t)(dot - entry->d_name));
		name_count += names[name_count] != NULL;
	}
	if (all)
		closedir(all);
	qsort(names, name_count, sizeof(*names), by_name);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	while (name_count)
		free(names[--name_count]);
	return 0;
}

static void load(struct stored *stored, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.process", folder(), name);
	assert_int_equal(stored_load(stored, path), 0);
	assert_int_equal(stored_begin(stored), 0);
	stored->reads_max = READS_MAX;
}

static char *expected_of(const char *name)
{
	static char text[1 << 20];
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.stack", folder(), name);
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return text;
}

static void assert_lines(const char *name, char *found, char *expected)
{
	unsigned int line;

	for (line = 1; *found || *expected; line++) {
		size_t a = strcspn(found, "\n"), b = strcspn(expected, "\n");

		if (a != b || memcmp(found, expected, a) != 0)
			fail_msg("%s, line %u: found '%.*s', expected '%.*s'", name, line, (int)a,
				 found, (int)b, expected);
		found += a + (found[a] != 0);
		expected += b + (expected[b] != 0);
	}
}

static void test_as_they_were(void **state)
{
	struct stored_stack *stack = malloc(sizeof(*stack));
	struct stored stored;
	size_t i;

	(void)state;
	assert_true(name_count > 0);
	for (i = 0; i < name_count; i++) {
		struct stored_source source;

		load(&stored, names[i]);
		source = stored_source(&stored);
		assert_int_equal(stored_walk(&source, stack), 0);
		assert_lines(names[i], (char *)stack->text.at, expected_of(names[i]));
		assert_int_equal(stack->end, UNWIND_END_ROOT);
		buf_free(&stack->text);
		stored_free(&stored);
	}
	free(stack);
}

/* It says something, within its bounds. */
static void assert_ends(const char *name, struct stored *stored, struct stored_stack *stack)
{
	struct stored_source source = stored_source(stored);

	stored->reads = 0;
	assert_int_equal(stored_walk(&source, stack), 0);
	if (stack->endless || stored->reads >= READS_MAX)
		fail_msg("%s: a walk without end (%u words, %lu reads)", name, stack->count,
			 (unsigned long)stored->reads);
	assert_in_range(stack->end, 0, UNWIND_ENDS - 1);
	assert_in_range(stack->count, 0, UNWIND_FRAMES_MAX);
	buf_free(&stack->text);
}

static uint64_t next(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15ull;
	return hash_u64(*random);
}

/* Each piece of memory in turn is missing; some of them, if there are very many. */
static void test_missing(void **state)
{
	struct stored_stack *stack = malloc(sizeof(*stack));
	uint64_t random = SEED;
	size_t i, n;

	(void)state;
	for (i = 0; i < name_count; i++) {
		pieces_runs runs = {0};
		struct stored stored;
		uint8_t bytes[4096];

		load(&stored, names[i]);
		assert_true(pieces_list(&stored.memory, &runs));
		for (n = 0; n < runs.count && n < VARIANTS; n++) {
			size_t which = runs.count <= VARIANTS ? n : next(&random) % runs.count;
			struct pieces_run run = runs.at[which];

			if (run.count > sizeof(bytes))
				run.count = sizeof(bytes);
			assert_true(pieces_get(&stored.memory, run.address, bytes, run.count));
			pieces_forget(&stored.memory, run.address, run.count);
			assert_ends(names[i], &stored, stack);
			assert_true(pieces_put(&stored.memory, run.address, bytes, run.count));
		}
		vec_free(&runs);
		stored_free(&stored);
	}
	free(stack);
}

/* What a hostile program would write: other bits, large numbers, addresses of what is there. */
static void damage(struct stored *stored, const pieces_runs *runs, uint64_t *random)
{
	const struct pieces_run *run = &runs->at[next(random) % runs->count];
	uint64_t at = run->address + next(random) % run->count, value;
	const struct pieces_run *other = &runs->at[next(random) % runs->count];

	switch (next(random) % 4) {
	case 0:
		value = next(random);
		break;
	case 1:
		value = other->address + next(random) % other->count;
		break;
	case 2:
		value = ~0ull >> next(random) % 64;
		break;
	default:
		value = run->address;
	}
	if (next(random) % 3 == 0) {
		pieces_put(&stored->memory, at, &value, 1);
		return;
	}
	at &= ~7ull;
	if (at < run->address || at + 8 > run->address + run->count)
		return;
	pieces_put(&stored->memory, at, &value, sizeof(value));
}

static void test_damaged(void **state)
{
	struct stored_stack *stack = malloc(sizeof(*stack));
	uint64_t random = SEED + 1;
	size_t i, n, k;

	(void)state;
	for (i = 0; i < name_count; i++) {
		for (n = 0; n < VARIANTS; n++) {
			pieces_runs runs = {0};
			struct stored stored;

			load(&stored, names[i]);
			assert_true(pieces_list(&stored.memory, &runs));
			for (k = 0; k <= n % 8; k++)
				damage(&stored, &runs, &random);
			if (n % 10 == 9)
				stored.thread.registers[next(&random) % 16] = next(&random);
			assert_ends(names[i], &stored, stack);
			vec_free(&runs);
			stored_free(&stored);
		}
	}
	free(stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_they_were),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, list, forget);
}
