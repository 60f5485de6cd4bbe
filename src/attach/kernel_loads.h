/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_KERNEL_LOADS_H
#define ATTACH_KERNEL_LOADS_H

#include <stdbool.h>

struct btf;

/*
 * Whether this kernel lets a program load from an address that may be any number (Linux 6.17), as
 * KERNEL_READ() of bpf/kernel.h does: tried with a short program. types: the kernel's; null: they
 * cannot be read.
 */
bool kernel_loads_try(const struct btf *types);

#endif
