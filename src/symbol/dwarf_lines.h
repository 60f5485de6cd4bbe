/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DWARF_LINES_H
#define SYMBOL_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Lines and inlined functions from DWARF, through libdw.
 *
 * libdw trusts what it reads: it ends the process when memory is short, asserts, and opens files
 * that are named in the one it reads. Nothing of this file may therefore be called in a process
 * that has anything to lose: see dwarf_process.h.
 */

#define DWARF_PLACES_MAX 64 /* deepest chain of inlined functions that is reported */

/* As struct symbol_name, but names as the linker knows them. */
struct dwarf_place {
	const char *function; /* null: not known */
	const char *file;     /* null: not known */
	uint32_t line;
};

/*
 * places[0] is where the instruction comes from; each next one is where that was inlined into. The
 * last one's function is the one that the symbol table should name, too. Strings live until the
 * call returns.
 */
typedef void dwarf_found(void *context, size_t index, const struct dwarf_place *places,
			 size_t count);

/*
 * addresses: sorted, each once. inlines: also look for inlined functions; else count is 1 and
 * function null. kept: bytes that libdw may keep of what it has read before it begins anew.
 * alternate_fd: the file of .gnu_debugaltlink, or -1. Returns 0; -EBADMSG: libdw cannot read it;
 * -E2BIG: it is too large or too tangled for the bounds here (some answers may have been given);
 * -ENOLINK: all was answered, but for inlined functions of .dwo files that cannot be had; -ENOMEM.
 */
int dwarf_answer(int fd, int alternate_fd, const uint64_t *addresses, size_t count, bool inlines,
		 size_t kept, dwarf_found *found, void *context);

#endif
