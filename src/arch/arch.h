/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

/*
 * What is a fact of the CPU architecture that stackcam is built for: its registers by their DWARF
 * numbers, the numbers of its system calls, what the kernel and the linker lay out for it. Programs
 * in the kernel include it, too (arch/bpf.h has what they alone need), so it needs no C library.
 *
 * Each architecture has a folder with the same names in it; no other room includes from there.
 */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/registers.h"
#include "arch/x86_64/system_calls.h"
#else
#error "src/arch has no folder for this architecture"
#endif

#endif
