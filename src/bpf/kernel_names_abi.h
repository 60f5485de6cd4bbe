/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_KERNEL_NAMES_ABI_H
#define BPF_KERNEL_NAMES_ABI_H

/* The question and the answer of kernel_names.bpf.c. */

#ifndef __bpf__
#include <linux/types.h>
#endif

#define KERNEL_NAMES_MAX 256 /* addresses of one call */

struct kernel_name {
	__u64 address;
	__s32 length; /* with the final zero, also when it did not fit; negative: an error */
	char name[148];
};

#endif
