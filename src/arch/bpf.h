/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

/*
 * What programs in the kernel must know of the architecture: the registers that they are given, and
 * members of the kernel's structures that other architectures lack.
 */
#include "arch/arch.h"

#if defined(__TARGET_ARCH_x86)
#include "arch/x86_64/bpf.h"
#endif

#endif
