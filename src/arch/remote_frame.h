/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_REMOTE_FRAME_H
#define ARCH_REMOTE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "arch/remote_registers.h"

/*
 * The frame that rt_sigreturn(2) takes a thread's registers from, as the kernel's signal frames of
 * x86-64 (arch/x86/include/uapi/asm/sigcontext.h, asm/ucontext.h): the address of the code that
 * calls it, a struct ucontext, and, on a multiple of 64, what XSAVE has written.
 */

/* extended: bytes of NT_X86_XSTATE, at least 576: the legacy area and the header behind it. */
size_t remote_frame_size(size_t extended);

/* Where it lies, of a size, if it is to lie below an address. */
uint64_t remote_frame_place(uint64_t below, size_t size);

/* Fills a frame of remote_frame_size() zero bytes, which is to lie at an address. */
void remote_frame_fill(uint8_t *frame, uint64_t address, uint64_t return_at,
		       const struct arch_user_regs *regs, uint64_t mask, const void *extended,
		       size_t extended_size);

#endif
