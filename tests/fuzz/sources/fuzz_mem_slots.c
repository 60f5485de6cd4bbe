// SPDX-License-Identifier: Apache-2.0
/*
 * A file that a process has mapped, twice: the words through which it says that it calls an
 * allocator. What is taken for one of these must be the process's own, and its state must follow
 * from its value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sources/memory/slots.h"

#define MEMORY (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

/* What the words are read from: at the file's addresses, from the mapping's begin on. */
static uint8_t memory[MEMORY] __attribute__((aligned(4096)));

static void look(const struct mem_slots *slots)
{
	const uint64_t hooks[MEMORY_FUNCTIONS] = {0x1111, 0x2222}, next[MEMORY_FUNCTIONS] = {0};
	const struct mem_slot_image *provider = mem_slots_provider(slots, hooks, next);

	check(!provider ||
	      (provider >= slots->images.at && provider < slots->images.at + slots->images.count));
	check(!provider || (provider->functions[0] && !provider->is_linker));
	vec_foreach (&slots->slots, slot) {
		uint64_t value = 0;

		check(slot->function <= MEM_SLOT_NEW && slot->image < slots->images.count);
		check(slot->address % sizeof(value) == 0);
		if (slot->address >= (uintptr_t)memory &&
		    slot->address - (uintptr_t)memory <= MEMORY - sizeof(value)) {
			memcpy(&value, (void *)slot->address, sizeof(value));
			check(value == slot->value);
		}
		if (provider && mem_slots_state(slots, slot, provider, hooks) == MEM_SLOT_HOOKED)
			check(slot->value == hooks[slot->function]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mem_slots slots = {0};
	struct elf_file file;

	memcpy(memory, data, size < MEMORY ? size : MEMORY);
	if (elf_file_open_memory(&file, data, size))
		return 0;
	for (uint64_t i = 0; i < 2; i++) {
		struct procfs_mapping mapping = {
			.start = (uintptr_t)memory + i * MEMORY / 2,
			.end = (uintptr_t)memory + MEMORY,
			.readable = true,
			.executable = true,
			.inode = i + 1,
			.path = i ? "/lib/ld-2.31.so" : "/lib/libc.so.6",
		};

		if (mem_slots_add(&slots, getpid(), &mapping, &file))
			break;
	}
	if (slots.images.count == 2) {
		vec_foreach (&slots.slots, slot)
			slot->protection = PROT_READ | PROT_WRITE;
		look(&slots);
	}
	mem_slots_free(&slots);
	elf_file_close(&file);
	return 0;
}
