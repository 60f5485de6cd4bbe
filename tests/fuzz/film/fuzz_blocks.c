// SPDX-License-Identifier: Apache-2.0

/*
 * Blocks of any bytes, past the compression and its checksum, which no fuzzer finds its way
 * through; and columns of any numbers, which come back as they were.
 */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "../check.h"
#include "film/catalogue.h"
#include "film/processes.h"
#include "film/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX 512
#define LIMIT	 1000 /* ids of anything that a block refers to */

/* Of any kind of block: what is taken is what the table of kinds says that it is. */
static void take_kind(enum film_block_kind which, const void *block, size_t size, uint32_t count)
{
	const struct layout_limits limits = {
		{[LAYOUT_THREAD] = LIMIT, [LAYOUT_STACK] = LIMIT, [LAYOUT_FRAME] = LIMIT}};
	const struct film_kind *kind = film_kind(which);
	const struct film_span span = {.t0 = 1, .t1 = 5, .total = 3, .count = count};
	struct film_unpacker unpacker = {0};
	struct film_unpacked unpacked;

	if (!film_unpack(&unpacker, kind, &limits, &span, block, size, &unpacked)) {
		check(film_unpacked_count(&unpacked) == count);
		for (unsigned int i = 0; i < kind->layout.count; i++) {
			const struct layout_column *column = &kind->layout.columns[i];
			struct layout_cells cells = film_unpacked_cells(&unpacked, i);
			uint64_t number, before = 0;

			for (size_t k = 0; k < count; k++, before = number) {
				number = layout_number(cells.at + k * cells.stride, cells.size);
				check(column->id_of == LAYOUT_NUMBER || number < LIMIT);
				check(column != kind->time ||
				      (number >= before && number >= 1 && number <= 5));
			}
		}
		if (kind->time) {
			film_view_cut(kind, &unpacked.view, 2, 4);
			check(film_unpacked_count(&unpacked) < count);
		}
	}
	film_unpacker_free(&unpacker);
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

static void take_calls(const void *block, size_t size, size_t count)
{
	struct calls_reader reader = {0};
	struct film_calls calls;
	size_t i;

	if (count && !calls_unpack(&reader, block, size, count, LIMIT, LIMIT, &calls)) {
		check(calls.count == count);
		for (i = 0; i < count; i++)
			check(calls.thread[i] < LIMIT && calls.frame[i] < LIMIT &&
			      calls.duration[i] <= calls.end[i] &&
			      calls.waited[i] <= calls.duration[i] &&
			      (!i || calls.end[i] >= calls.end[i - 1]));
	}
	calls_reader_free(&reader);
}

static void take_processes(struct column_reader *reader, const void *block, size_t size,
			   size_t count, int version)
{
	struct film_process *processes = calloc(count + 1, sizeof(*processes));
	uint64_t left = 100000, had = 0;
	struct arena arena = {0};
	const struct processes_texts texts = {&arena, &left, version};
	size_t i;

	if (!processes_unpack(reader, block, size, &texts, processes, count)) {
		check(left <= 100000);
		for (i = 0; i < count; i++)
			had += strlen(processes[i].comm) + strlen(processes[i].command) +
			       strlen(processes[i].exe) + strlen(processes[i].cgroup) +
			       strlen(processes[i].container) + strlen(processes[i].user) +
			       strlen(processes[i].resource);
		check(left < 100000 || !had);
	}
	arena_free(&arena);
	free(processes);
}

static void take_threads(struct column_reader *reader, const void *block, size_t size, size_t count)
{
	struct film_thread *threads = calloc(count + 1, sizeof(*threads));
	const struct film_process processes[] = {{.comm = ""}, {.pid = 7, .comm = "seven"}};
	uint64_t left = 100000;
	struct arena arena = {0};
	const struct processes_texts texts = {&arena, &left};
	size_t i;

	if (!threads_unpack(reader, block, size, &texts, processes, 2, threads, count)) {
		for (i = 0; i < count; i++)
			check(threads[i].process < 2 && strlen(threads[i].comm) <= FILM_TEXT_MAX);
	}
	arena_free(&arena);
	free(threads);
}

/* Any calls: each thread's come back as they were. */
static void call_round_trip(const uint8_t *data, size_t size)
{
	size_t count = size / 12, i, k;
	struct film_call *given = calloc(count + 1, sizeof(*given));
	struct calls_packer packer = {0};
	struct calls_reader reader = {0};
	struct columns columns = {0};
	struct film_calls calls;
	uint64_t end = 0;

	for (i = 0; i < count; i++, data += 12) {
		end += data[0] | (uint64_t)(data[1] & 15) << 8 << (data[1] >> 4);
		given[i] = (struct film_call){
			.end = end,
			.duration = (data[2] | (uint64_t)data[3] << 8) << data[4] % 32,
			.thread = data[5] % 4,
			.frame = data[6],
			.lane = data[7] % 3,
			.depth = (uint16_t)(data[8] << data[9] % 9),
			.cpu = data[10],
			.flags = data[11],
		};
		given[i].duration = given[i].duration > end ? end : given[i].duration;
		given[i].waited = given[i].duration >> data[9] % 17;
	}
	if (count) {
		check(!calls_pack(&packer, &columns, given, count));
		check(!calls_unpack(&reader, columns.packed.at, columns.packed.count, count, 4, 256,
				    &calls));
		check(calls.count == count);
	}
	for (i = 0; i < count; i++) {
		/* the next one of this track that was not taken yet */
		for (k = 0; k < count; k++) {
			if (given[k].frame != UINT32_MAX && given[k].thread == calls.thread[i] &&
			    given[k].lane == calls.lane[i])
				break;
		}
		check(k < count && given[k].end == calls.end[i] &&
		      given[k].duration == calls.duration[i] &&
		      given[k].waited == calls.waited[i] && given[k].frame == calls.frame[i] &&
		      given[k].depth == calls.depth[i] && given[k].cpu == calls.cpu[i] &&
		      given[k].flags == calls.flags[i]);
		given[k].frame = UINT32_MAX;
	}
	calls_packer_free(&packer);
	calls_reader_free(&reader);
	columns_free(&columns);
	free(given);
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
	switch (data[0] % 22) {
	case 0:
		take_kind(FILM_BLOCK_SAMPLES, block, packed, (uint32_t)count);
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
	case 6:
		round_trip(data + 3, size - 3);
		break;
	case 7:
		take_calls(block, packed, count);
		take_kind(FILM_BLOCK_CALLS, block, packed, (uint32_t)count);
		break;
	case 8:
		take_kind(FILM_BLOCK_PROBES, block, packed, (uint32_t)count);
		take_kind(FILM_BLOCK_COSTS, block, packed, (uint32_t)count);
		break;
	case 9:
		take_kind(FILM_BLOCK_SUMS, block, packed, (uint32_t)count);
		break;
	case 11:
		for (int version = 2; version <= FILM_SCHEMA_VERSION; version++)
			take_processes(&reader, block, packed, count, version);
		break;
	case 12:
		take_threads(&reader, block, packed, count);
		break;
	case 13:
		take_kind(FILM_BLOCK_WAITS, block, packed, (uint32_t)count);
		break;
	case 14:
		take_kind(FILM_BLOCK_LOCKS, block, packed, (uint32_t)count);
		break;
	case 15:
		take_kind(FILM_BLOCK_TURNS, block, packed, (uint32_t)count);
		break;
	case 16:
		take_kind(FILM_BLOCK_HELD, block, packed, (uint32_t)count);
		break;
	case 17:
		take_kind(FILM_BLOCK_VALUES, block, packed, (uint32_t)count);
		break;
	case 18:
		take_kind(FILM_BLOCK_GAUGES, block, packed, (uint32_t)count);
		break;
	case 19:
		take_kind(FILM_BLOCK_LOGS, block, packed, (uint32_t)count);
		break;
	case 20:
		take_kind(FILM_BLOCK_WORKS, block, packed, (uint32_t)count);
		break;
	default:
		call_round_trip(data + 3, size - 3);
	}
	column_reader_free(&reader);
	free(block);
	return 0;
}
