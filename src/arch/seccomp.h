/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_SECCOMP_H
#define ARCH_SECCOMP_H

/* What filters of system calls (seccomp(2)) must know of the architecture. */
#include <linux/audit.h>

#if defined(__x86_64__)
#define ARCH_AUDIT	   AUDIT_ARCH_X86_64
#define ARCH_FOREIGN_CALLS 0x40000000u /* from this number on: those of x32 */
#endif

#endif
