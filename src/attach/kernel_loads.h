/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KERNEL_LOADS_H
#define ATTACH_KERNEL_LOADS_H

#include <stdbool.h>

struct btf;

/*
 * Whether the verifier accepts a load from an arbitrary address (Linux 6.17), as in KERNEL_READ()
 * of bpf/kernel.h: tries a short program. types: the kernel's types; null: not readable.
 */
bool kernel_loads_try(const struct btf *types);

#endif
