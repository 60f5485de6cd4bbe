/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_KERNEL_NAMES_H
#define RESOLVE_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbols.h"

struct probes;
struct kernel_name;

/*
 * Names kernel addresses with a BPF program that searches the kernel's own sorted table
 * (bpf/kernel_names.bpf.c), without reading all of /proc/kallsyms. found is called as by
 * symbols_of_kernel() for each named address. Returns 0, or a negative errno: use /proc/kallsyms
 * then.
 */
struct kernel_names {
	struct probes *probes;	   /* loaded */
	struct kernel_name *table; /* memory shared with the program; null: not mapped yet */
};

int kernel_names_ask(struct kernel_names *names, const uint64_t *addresses, size_t count,
		     symbol_found *found, void *context);

/* Call it before the probes are freed. */
void kernel_names_free(struct kernel_names *names);

#endif
