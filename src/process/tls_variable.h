/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_TLS_VARIABLE_H
#define PROCESS_TLS_VARIABLE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/capture/tls_abi.h"
#include "process/targets.h"

/*
 * Pointers in thread-local storage that a program or a library exports, by which a program shows
 * others what its threads do. Which of the models of such storage a file uses is seen by its
 * relocations; what the dynamic linker made of them stands in the process, once that has come so
 * far. bpf/capture/tls.h reads such a variable.
 */

/* How a file's code comes to a variable. */
enum tls_model {
	TLS_MODEL_NONE,
	TLS_MODEL_PROGRAM,    /* a fixed place, which the program's linker knew (local exec) */
	TLS_MODEL_OFFSET,     /* a word has its place (initial exec, R_X86_64_TPOFF64) */
	TLS_MODEL_DESCRIPTOR, /* two words, of which the second has the place, or leads to
				 module and offset (ARCH_RELOCATION_TLS_DESCRIPTOR) */
	TLS_MODEL_MODULE,     /* a word has the module (R_X86_64_DTPMOD64) */
};

/* What is known of a file; all zero: it has no such variable. */
struct tls_variable {
	enum tls_model model;
	uint32_t which; /* of the names that were looked for */
	int64_t offset; /* TLS_MODEL_PROGRAM, TLS_MODEL_MODULE */
	uint64_t slot;	/* address in the image: of the words */
};

/* Looks for one of the names, each of a pointer, among what the file exports. */
void tls_variable_find(const struct image *image, const char *const *names, size_t count,
		       struct tls_variable *found);

/*
 * Where that is in a process that has the image at the bias (address = bias + address in the
 * image). read: as in struct runtime_memory. process: its mappings show which C library it has.
 * Returns 0; -EAGAIN: what the dynamic linker has to fill in is not there yet.
 */
int tls_variable_place(const struct tls_variable *variable,
		       int (*read)(void *context, void *to, size_t size, uint64_t address),
		       void *context, const struct process *process, uint64_t bias,
		       struct tls_place *place);

#endif
