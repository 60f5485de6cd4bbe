/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "symbol/code_table.h"

/*
 * jit-PID.dump, in which a runtime tells of the code that it makes: where, when, which function,
 * and of which source lines it is. The format is described in
 * tools/perf/Documentation/jitdump-specification.txt of Linux. It is written by appending, and read
 * as it grows.
 */
struct jitdump {
	/*
	 * Whose code is asked for, to be set before the first reading; 0: the writer's. A child
	 * sees its parent's dump, which tells of what lies in the child only up to the fork.
	 */
	uint32_t reader;
	uint64_t reader_began; /* ns of CLOCK_MONOTONIC */

	struct code_table code;
	uint64_t read_to;    /* bytes of the file that are in it; 0: not even its header */
	uint64_t read_at;    /* when; 0: never */
	uint32_t pid;	     /* of the writer, as it sees itself */
	bool own_clock;	     /* its times are of a clock of the processor */
	bool broken;	     /* nothing behind read_to makes sense */
	bool lines_late;     /* lines lie by the size of an ELF header behind their place */
	uint64_t lines;	     /* where those of the next function are; 0: it has none */
	uint64_t work_done;  /* to find lines */
	struct map by_index; /* number of a function -> its last place in code.entries */
};

/*
 * Reads the records that were added since the last call. now: ns of CLOCK_MONOTONIC. Returns 0;
 * -ENOEXEC: it is not a jitdump for this machine, or not from some place on; -ENOMEM, or -errno of
 * read(). Of a dump with much that is new, the rest is for the next call.
 */
int jitdump_read(struct jitdump *dump, int fd, uint64_t now);

/*
 * The name of an entry, and the line at one of its addresses; false: it does not stand there any
 * more.
 */
bool jitdump_name(struct jitdump *dump, int fd, const struct code_entry *entry, uint64_t address,
		  struct code_name *name);

/* Forgets the older half of its entries. */
void jitdump_forget(struct jitdump *dump);

void jitdump_free(struct jitdump *dump);

#endif
