// SPDX-License-Identifier: Apache-2.0
/*
 * A file as an image in memory: its headers, symbol tables, stubs, jumps, packed symbols and the
 * links to other files. An address with a name must lie behind where its symbol begins.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbol/batch.h"
#include "symbol/debug_data.h"
#include "symbol/debug_file.h"
#include "symbol/elf_jumps.h"
#include "symbol/elf_plt.h"
#include "symbol/elf_symbols.h"

#define ADDRESSES 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

/* Where something can be: around the edges of sections. */
static size_t choose_addresses(const struct elf_file *f, uint64_t *addresses)
{
	size_t count = 0;

	for (uint32_t i = 0; i < f->section_count && count + 6 <= ADDRESSES; i++) {
		const struct elf_section *s = &f->sections[i];

		if (!(s->flags & SHF_EXECINSTR))
			continue;
		addresses[count++] = s->address;
		addresses[count++] = s->address + 1;
		addresses[count++] = s->address + s->size / 3;
		addresses[count++] = s->address + s->size / 2;
		addresses[count++] = s->address + s->size - 1;
		addresses[count++] = s->address + s->size;
	}
	return count;
}

static void check_names(const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct question *q = &b->at[i];

		check(!q->settled || q->name);
		check(!q->name || (q->name[0] && q->claim.start <= q->address));
		check(!i || q->address > b->at[i - 1].address);
	}
}

static void answer(const struct elf_file *f, bool starts)
{
	uint64_t addresses[ADDRESSES];
	struct batch batch;
	int err;

	check(!batch_make(&batch, addresses, choose_addresses(f, addresses)));
	err = elf_symbols_answer(f, SHT_SYMTAB, starts, &batch, NULL);
	check(err == 0 || err == 1 || err == -E2BIG);
	check_names(&batch);
	check(!elf_plt_answer(f, &batch));
	batch_settle(&batch);
	err = elf_symbols_answer(f, SHT_DYNSYM, starts, &batch, NULL);
	check(err == 0 || err == 1 || err == -E2BIG);
	check_names(&batch);
	batch_settle(&batch);
	check(elf_jumps_answer(f, &batch) >= 0);
	check_names(&batch);
	batch_free(&batch);
}

static void follow_links(const struct elf_file *f)
{
	static const char *const directories[] = {"/nonexistent", NULL};
	const struct debug_search search = {
		.main = f,
		.path = "/nonexistent/a",
		.root = "",
		.build_id = f->build_id,
		.build_id_size = f->build_id_size,
		.directories = directories,
	};
	struct debug_file found;

	check(debug_file_find(&search, &found, NULL) == -ENOENT);
	if (debug_file_find_alternate(&search, f, "", "/nonexistent/a", &found) == 0)
		debug_file_close(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file file, inner;
	uint8_t *unpacked;
	size_t unpacked_size;

	if (elf_file_open_memory(&file, data, size))
		return 0;
	answer(&file, true);
	follow_links(&file);
	if (!debug_data_unpack(&file, &unpacked, &unpacked_size)) {
		if (!elf_file_open_memory(&inner, unpacked, unpacked_size)) {
			answer(&inner, false);
			elf_file_close(&inner);
		}
		free(unpacked);
	}
	elf_file_close(&file);
	return 0;
}
