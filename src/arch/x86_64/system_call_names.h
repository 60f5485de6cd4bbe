/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_X86_64_SYSTEM_CALL_NAMES_H
#define ARCH_X86_64_SYSTEM_CALL_NAMES_H

#include <stddef.h>

extern const char *const x86_64_system_call_names[]; /* by number; null: there is none */
extern const size_t x86_64_system_calls;

#endif
