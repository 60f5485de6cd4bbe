// SPDX-License-Identifier: Apache-2.0

/*
 * Blocks of any bytes, past the compression and its checksum, which no fuzzer finds its way through;
 * and columns of any numbers, which come back as they were.
 */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "film/catalogue.h"
#include "film/samples.h"
#include "film/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX 512
#define LIMIT	 1000 /* ids of whatever a block refers to */

#define check(what)              \
	do {                     \
		if (!(what))     \
			abort(); \
	} while (0)

static void take_samples(const void *block, size_t size, uint32_t count)
{
	struct film_span span = {.t0 = 1, .t1 = 5, .total = 3, .count = count};
	struct samples_reader reader = {0};
	struct film_samples samples;

	if (!samples_unpack(&reader, block, size, &span, LIMIT, LIMIT, &samples))
		check(samples.count == count && samples.time[0] == 1);
	samples_reader_free(&reader);
}

static void take_stacks(struct column_reader *reader, const void *block, size_t size, size_t count)
{
	struct film_stack *stacks = calloc(count + 1, sizeof(*stacks));
	size_t i;

	if (!stacks_unpack(reader, block, size, 7, LIMIT, stacks, count)) {
		for (i = 0; i < count; i++)
			check(stacks[i].parent < 7 + i && stacks[i].frame < LIMIT);
	}
	free(stacks);
}

static void take_functions(struct column_reader *reader, const void *block, size_t size,
			   size_t count)
{
	struct film_function *functions = calloc(count + 1, sizeof(*functions));
	struct arena texts = {0};
	size_t i;

	if (!functions_unpack(reader, block, size, LIMIT, &texts, functions, count)) {
		for (i = 0; i < count; i++)
			check(functions[i].image < LIMIT &&
			      strlen(functions[i].name) <= FILM_TEXT_MAX);
	}
	arena_free(&texts);
	free(functions);
}

static void take_places(struct column_reader *reader, const void *block, size_t size, size_t count)
{
	struct film_place *places = calloc(count + 1, sizeof(*places));
	size_t i;

	if (!places_unpack(reader, block, size, LIMIT, places, count)) {
		for (i = 0; i < count; i++)
			check(places[i].image < LIMIT);
	}
	free(places);
}

static void take_namings(struct column_reader *reader, const void *block, size_t size, size_t count)
{
	struct film_naming *namings = calloc(count + 1, sizeof(*namings));
	size_t i;

	if (!namings_unpack(reader, block, size, LIMIT, LIMIT, LIMIT, namings, count)) {
		for (i = 0; i < count; i++)
			check(namings[i].frame && namings[i].frame < LIMIT &&
			      namings[i].function < LIMIT && namings[i].file < LIMIT);
	}
	free(namings);
}

static void take_starts(struct column_reader *reader, const void *block, size_t size, size_t count)
{
	struct film_start *starts = calloc(count + 1, sizeof(*starts));
	size_t i;

	if (!starts_unpack(reader, block, size, LIMIT, starts, count)) {
		for (i = 0; i < count; i++)
			check(starts[i].frame > (i ? starts[i - 1].frame : 0) &&
			      starts[i].frame < LIMIT);
	}
	free(starts);
}

static void round_trip(const uint8_t *data, size_t size)
{
	size_t count = size / sizeof(uint64_t);
	uint64_t *values, *back;
	struct columns columns = {0};
	struct column_reader reader = {0};

	if (!count)
		return;
	values = malloc(count * sizeof(*values));
	back = malloc(count * sizeof(*back));
	memcpy(values, data, count * sizeof(*values));
	columns_begin(&columns);
	columns_put(&columns, values, count);
	check(!columns_end(&columns));
	check(!column_reader_begin(&reader, columns.packed.at, columns.packed.count, count, 1, 0));
	check(!column_reader_get(&reader, back, count));
	check(!column_reader_end(&reader));
	check(!memcmp(values, back, count * sizeof(*values)));
	columns_free(&columns);
	column_reader_free(&reader);
	free(values);
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct column_reader reader = {0};
	size_t count, room, packed;
	uint8_t *block;

	if (size < 3)
		return 0;
	count = (data[1] | (size_t)data[2] << 8) % ROWS_MAX;
	room = ZSTD_compressBound(size);
	block = malloc(room);
	packed = ZSTD_compress(block, room, data + 3, size - 3, 1);
	check(!ZSTD_isError(packed));
	switch (data[0] % 7) {
	case 0:
		take_samples(block, packed, (uint32_t)count);
		break;
	case 1:
		take_stacks(&reader, block, packed, count);
		break;
	case 2:
		take_functions(&reader, block, packed, count);
		break;
	case 3:
		take_places(&reader, block, packed, count);
		break;
	case 4:
		take_namings(&reader, block, packed, count);
		break;
	case 5:
		take_starts(&reader, block, packed, count);
		break;
	default:
		round_trip(data + 3, size - 3);
	}
	column_reader_free(&reader);
	free(block);
	return 0;
}
