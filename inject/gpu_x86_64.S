/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorder needs that puts the library into a running process, and what entries of the driver
 * library jump to then (gpu_late.c): with all registers that can have arguments as the caller has
 * set them, the function goes on where it would have.
 */
#include "gpu_stubs.h"
#include "memory_places.h"

	.section .rodata.stackcam, "a", @progbits
	.p2align 3
	.globl stackcam_memory_entries
	.type stackcam_memory_entries, @object
stackcam_memory_entries:
	.quad gpu_arm - stackcam_memory_entries
	.quad gpu_disarm - stackcam_memory_entries
	.quad gpu_injection - stackcam_memory_entries
	.quad gpu_stubs - stackcam_memory_entries
	.size stackcam_memory_entries, . - stackcam_memory_entries
	.hidden gpu_arm, gpu_disarm, gpu_injection, gpu_first_call

	.text
	.p2align 4
	.type gpu_stubs, @function
gpu_stubs:
	.cfi_startproc
	.set number, 0
	.rept GPU_STUBS
	.p2align 4
	.cfi_def_cfa_offset 8
	endbr64
	push $number
	.cfi_def_cfa_offset 16
	jmp 1f
	.set number, number + 1
	.endr
1:	push %rax
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r10
	sub $128, %rsp
	.cfi_def_cfa_offset 208
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	mov 192(%rsp), %rdi
	call gpu_first_call
	mov %rax, 192(%rsp)
	movups (%rsp), %xmm0
	movups 16(%rsp), %xmm1
	movups 32(%rsp), %xmm2
	movups 48(%rsp), %xmm3
	movups 64(%rsp), %xmm4
	movups 80(%rsp), %xmm5
	movups 96(%rsp), %xmm6
	movups 112(%rsp), %xmm7
	add $128, %rsp
	.cfi_def_cfa_offset 80
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rax
	.cfi_def_cfa_offset 16
	pop %r11
	.cfi_def_cfa_offset 8
	jmp *%r11
	.cfi_endproc
	.size gpu_stubs, . - gpu_stubs

	.section .note.GNU-stack, "", @progbits
