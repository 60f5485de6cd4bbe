// SPDX-License-Identifier: Apache-2.0
/* The notes of a file that a process has mapped, which say where it has probes. */
#include <stdint.h>
#include <stdlib.h>

#include "bpf/memory/heap_abi.h"
#include "sources/memory/otel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uprobe_place places[MEM_OTEL_PLACES_MAX];
	struct elf_file file;
	uint64_t failed;
	size_t count;

	if (elf_file_open_memory(&file, data, size))
		return 0;
	count = mem_otel_places(&file, places, &failed);
	check(count <= MEM_OTEL_PLACES_MAX);
	for (size_t i = 0; i < count; i++) {
		check(places[i].kind == UPROBE_ENTRY && places[i].offset < size);
		check(places[i].counter < size);
		check(!(places[i].cookie & ~MEM_HEAP_USDT_FREE &
			~((1ull << 3 * MEM_HEAP_USDT_BITS) - 1)));
	}
	elf_file_close(&file);
	return 0;
}
