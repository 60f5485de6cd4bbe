// SPDX-License-Identifier: Apache-2.0
/*
 * A file with DWARF, read by libdw in its sandbox. libdw may crash, hang or run out of memory
 * there: what is tested is that this process goes on, and that what it hears holds together.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/dwarf_process.h"

#define ADDRESSES 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sandbox_limits limits = {(size_t)96 << 20, 5};
	struct dwarf_answers answers;
	uint64_t addresses[ADDRESSES];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct fail why = {0};
	int err;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = 0x1000 + i * 4;
	err = dwarf_ask(fd, -1, addresses, ADDRESSES, true, &limits, NULL, &answers, &why);
	check(!err == !why.what[0]);
	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct dwarf_answer *a = &answers.at[i];

		check(a->first + a->count <= answers.place_count);
		for (size_t j = a->first; j < a->first + a->count; j++) {
			const struct dwarf_place *p = &answers.places[j];

			check(!p->function || strlen(p->function) <= 16384);
			check(!p->file || strlen(p->file) <= 16384);
		}
	}
	dwarf_answers_free(&answers);
	close(fd);
	return 0;
}
