/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_GO_SYMBOLS_H
#define SYMBOL_GO_SYMBOLS_H

#include <stdbool.h>

#include "elf/file.h"
#include "symbol/functions.h"
#include "unwind/go_pclntab.h"

/*
 * Names, lines and inlined functions of Go programs, from Go's own table (unwind/go_pclntab.h). It
 * is there also in stripped ones, and costs so little that lines need not be asked for.
 */
struct go_symbols {
	struct elf_image image;
	struct go_table table;
};

/*
 * main is borrowed and must outlive *go. 0; -ENOENT: the file is not Go's, or its table is damaged;
 * -ENOMEM. After an error, nothing needs to be closed.
 */
int go_symbols_open(struct go_symbols *go, const struct elf_file *main);
void go_symbols_close(struct go_symbols *go);

/*
 * The places of an address as go_table_places() tells them; 0: it lies in no Go function. Strings
 * live until go_symbols_close().
 */
size_t go_symbols_places(struct go_symbols *go, uint64_t address, struct go_place *places,
			 size_t room);

/* The name of the function at address, also of C code that Go's linker took in; null: none. */
const char *go_symbols_name(const struct go_symbols *go, uint64_t address);

/*
 * Calls emit() for each function that has a name, in the order of addresses, until it returns not
 * 0.
 */
int go_symbols_each(const struct go_symbols *go,
		    int (*emit)(void *context, const struct symbol_function *function,
				const char *name),
		    void *context);

#endif
