/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_SYSTEM_CALL_NAMES_H
#define ARCH_SYSTEM_CALL_NAMES_H

#include <stdint.h>

/*
 * The name of a system call of a machine of that architecture; null: not known. To add one: its
 * table, and a row.
 */
const char *syscall_name(const char *arch, uint32_t number);

#endif
