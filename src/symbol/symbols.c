// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/batch.h"
#include "symbol/elf_symbols.h"

struct symbols {
	struct symbol_options options;
};

int symbols_new(const struct symbol_options *options, struct symbols **symbols)
{
	*symbols = calloc(1, sizeof(**symbols));
	if (!*symbols)
		return -ENOMEM;
	(*symbols)->options = *options;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols);
}

static int tell(const struct batch *batch, symbol_found *found, void *context)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct symbol_name name = {0};
		char *function;

		if (!batch->at[i].name)
			continue;
		function = symbol_demangle(batch->at[i].name);
		if (!function)
			return -ENOMEM;
		name.function = function;
		batch_tell(batch, &batch->at[i], &name, 1, found, context);
		free(function);
	}
	return 0;
}

int symbols_of_image(struct symbols *symbols, const struct symbol_image *image,
		     const uint64_t *addresses, size_t count, symbol_found *found, void *context,
		     struct fail *why)
{
	struct batch batch;
	struct elf_file file;
	int err;

	(void)symbols;
	err = image->memory ? elf_file_open_memory(&file, image->memory, image->memory_size)
			    : elf_file_open(&file, image->fd);
	if (err)
		return fail_errno(why, err, NULL, "%s", image->path ? image->path : "?");
	if (batch_make(&batch, addresses, count)) {
		elf_file_close(&file);
		return fail_errno(why, -ENOMEM, NULL, "naming functions");
	}
	err = elf_symbols_answer(&file, SHT_SYMTAB, true, &batch, why);
	if (err >= 0 && batch_settle(&batch))
		err = elf_symbols_answer(&file, SHT_DYNSYM, false, &batch, why);
	if (err >= 0)
		err = tell(&batch, found, context);
	batch_free(&batch);
	elf_file_close(&file);
	return err < 0 ? err : 0;
}
