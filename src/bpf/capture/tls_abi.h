/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_TLS_ABI_H
#define BPF_CAPTURE_TLS_ABI_H

#include <linux/types.h>

/* Where the threads of a process have a variable (process/tls_variable.h). */
struct tls_place {
	__s64 offset; /* from the thread pointer, or in the module's block */
	__u32 module; /* 0: it has a fixed offset from the thread pointer */
	/* bytes of an entry in a thread's table of modules, as its C library has it */
	__u32 entry;
};

#endif
