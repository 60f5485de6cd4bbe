/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_DWARF_PROCESS_H
#define SYMBOL_DWARF_PROCESS_H

#include "base/buf.h"
#include "base/fail.h"
#include "symbol/dwarf_lines.h"
#include "symbol/sandbox_child.h"

/*
 * Runs dwarf_answer() in a child process that can do nothing but compute: it has limits for memory
 * and time, may not open a file nor start a program (seccomp), and dies with its parent. Any harm
 * that a hostile file does through libdw ends there.
 */
struct dwarf_answers {
	struct dwarf_answer {
		size_t first, count; /* in places; count 0: nothing is known */
	} * at;			     /* one for each address */
	struct dwarf_place *places;
	size_t place_count, place_room;
	struct buf text; /* what the strings point into */
};

/*
 * As dwarf_answer(). files: opens those that the DWARF names; null: they are not read. *answers
 * needs dwarf_answers_free() in any case: what was found before a
 * failure is in it.
 */
int dwarf_ask(int fd, int alternate_fd, const uint64_t *addresses, size_t count, bool inlines,
	      const struct sandbox_limits *limits, const struct sandbox_files *files,
	      struct dwarf_answers *answers, struct fail *why);
void dwarf_answers_free(struct dwarf_answers *answers);

#endif
