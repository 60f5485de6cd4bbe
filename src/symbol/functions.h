/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_FUNCTIONS_H
#define SYMBOL_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "symbol/symbols.h"

/*
 * All functions of an image, from all tables that there are: its own symbols, those of its debug
 * file, the packed ones, and the stubs through which it calls other images. The files are hostile
 * input.
 */

enum symbol_function_kind {
	SYMBOL_FUNCTION_CODE,
	SYMBOL_FUNCTION_RESOLVER, /* STT_GNU_IFUNC: the code chooses a function and returns it */
	SYMBOL_FUNCTION_STUB,	  /* of the PLT: calls a function of another image */
	SYMBOL_FUNCTION_OWN_STUB, /* the same, of a function that the image itself defines, too */
	/*
	 * it is called without a stub (-fno-plt), or only its address is taken; at no real address
	 */
	SYMBOL_FUNCTION_IMPORT,
	SYMBOL_FUNCTION_LABEL, /* a place in code that may be no function */
};

struct symbol_function {
	uint64_t address, size; /* size 0: not known */
	uint32_t name, library; /* places in text; library: of stubs, "": not known */
	uint8_t kind;		/* enum symbol_function_kind */
	uint8_t binding;	/* 2 global, 1 weak, 0 local */
};

struct symbol_functions {
	struct symbol_function *at; /* sorted by address; several can have the same one */
	size_t count, room;
	struct buf text; /* strings with their zero bytes; the first one is "" */
};

/* More than the largest programs have. */
#define SYMBOL_FUNCTIONS_MAX (2u << 20)

/*
 * The names are as they stand in the tables, without a default version ("f@@V2" is f). symbols may
 * be null: then only the image itself is read. Returns 0; -ENOEXEC: no ELF file; -E2BIG: it has
 * more of them than any real one, -ENOMEM; with *why filled. After an error nothing needs to be
 * freed.
 */
int symbol_functions_of(struct symbols *symbols, const struct symbol_image *image,
			struct symbol_functions *functions, struct fail *why);
void symbol_functions_free(struct symbol_functions *functions);

static inline const char *symbol_functions_text(const struct symbol_functions *functions,
						uint32_t place)
{
	return (const char *)functions->text.at + place;
}

/* The first one behind that of number first whose address is another. */
static inline size_t symbol_functions_next(const struct symbol_functions *functions, size_t first)
{
	size_t end = first + 1;

	while (end < functions->count && functions->at[end].address == functions->at[first].address)
		end++;
	return end;
}

#endif
