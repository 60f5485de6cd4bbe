/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_KERNEL_NAMES_H
#define CAMERA_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbols.h"

struct probes;

/*
 * Names of kernel addresses by a BPF program that asks the kernel's own sorted table
 * (bpf/kernel_names.bpf.c), without reading the whole of /proc/kallsyms. found is called as by
 * symbols_of_kernel(), for what could be named. Returns 0 or a negative errno; then /proc/kallsyms
 * remains.
 */
int kernel_names_ask(struct probes *probes, const uint64_t *addresses, size_t count,
		     symbol_found *found, void *context);

#endif
