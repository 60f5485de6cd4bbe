/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_DRIVER_OWN_H
#define CUDA_DRIVER_OWN_H

/* What the files of the library that stands for a driver's share. */

#include <pthread.h>

#include "cuda_driver.h"

#define EXPORTED __attribute__((visibility("default"), used))
#define HIDDEN	 __attribute__((visibility("hidden"), used))
#define DONE	 0
#define INVALID	 1
#define NO_ROOM	 2

extern unsigned int driver_state;
extern pthread_mutex_t driver_lock;
extern struct driver_truth driver_truth;
extern __thread int driver_own_tag; /* of the calling thread */

/* An exported function that jumps to do_NAME(). */
#define ENTRY(name)                                                                              \
	HIDDEN void *word_##name = (void *)do_##name;                                            \
	__asm__(".text\n.p2align 5\n"                                                            \
		".globl " #name "\n.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t" \
		"cmpl $0x321cba00, driver_state(%rip)\n\t"                                       \
		"je 1f\n\t"                                                                      \
		"jmp *word_" #name "(%rip)\n\t"                                                  \
		".p2align 3\n1:\tmov $4, %eax\n\tret\n\t.cfi_endproc\n\t"                        \
		".size " #name ", . - " #name "\n")

#endif
