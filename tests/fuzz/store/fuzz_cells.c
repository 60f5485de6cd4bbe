// SPDX-License-Identifier: Apache-2.0

/* Lists of an index, past their compression and its checksum: of any bytes, and of any cells. */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "../check.h"
#include "store/cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PATHS = 1000,
	CELLS_MAX = 300
};

static void take_any(const uint8_t *data, size_t size)
{
	size_t room = ZSTD_compressBound(size), packed;
	void *block = malloc(room);
	struct cells_reader reader = {0};
	struct cell_sum sums[HOUR_MINUTES];
	uint32_t counts[HOUR_MINUTES] = {0};

	check(block);
	for (size_t i = 0; i < HOUR_MINUTES && i < size; i++)
		counts[i] = data[i] % 8;
	packed = ZSTD_compress(block, room, data, size, 1);
	if (!cells_unpack(&reader, block, packed, counts, HOUR_MINUTES, PATHS, true))
		for (size_t i = 0; i < reader.path.count; i++)
			check(reader.path.at[i] > 0 && reader.path.at[i] < PATHS);
	minutes_unpack(&reader, block, packed, sums);
	cells_reader_free(&reader);
	free(block);
}

static void take_cells(const uint8_t *data, size_t size)
{
	struct cell cells[CELLS_MAX];
	struct cells_reader reader = {0};
	struct columns columns = {0};
	struct cell_list list = {0};
	uint32_t path = 0, counts[2] = {0};
	size_t n = 0;

	for (; n < CELLS_MAX && n + 9 <= size; n++) {
		path += 1 + data[n] % 3;
		cells[n].path = path;
		cells[n].samples = data[n];
		memcpy(&cells[n].value, data + n + 1, sizeof(cells[n].value));
	}
	if (!n)
		return;
	counts[0] = (uint32_t)n / 2;
	counts[1] = (uint32_t)n - counts[0];
	check(!cells_pack(&columns, cells, counts, 2));
	check(!cells_unpack(&reader, columns.packed.at, columns.packed.count, counts, 2, PATHS,
			    true));
	for (size_t i = 0; i < n; i++)
		check(reader.path.at[i] == cells[i].path && reader.value.at[i] == cells[i].value &&
		      reader.samples.at[i] == cells[i].samples);
	/* halves that overlap, in both orders */
	check(!cells_merge(&list, cells + n / 3, n - n / 3));
	check(!cells_merge(&list, cells, n / 3 + (n > 1)));
	check(list.count == n);
	for (size_t i = 0; i < n; i++)
		check(list.at[i].path == cells[i].path);
	vec_free(&list);
	cells_reader_free(&reader);
	columns_free(&columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	take_any(data, size);
	take_cells(data, size);
	return 0;
}
