/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_V8_H
#define ARCH_V8_H

/* How functions that V8 has compiled begin and end, for programs in the kernel, too. */
#include <linux/types.h>

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/v8.h"
#endif

#endif
