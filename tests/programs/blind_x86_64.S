/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library without unwind information, as some assembler code is: rbp counts, and where its frame is, only memory tells.
 * Nobody can find its caller by its code.
 */
	.text

	/* JNI: the number is the third argument */
	.globl	Java_Blind_spin
	.type	Java_Blind_spin, @function
Java_Blind_spin:
	mov	%rdx, %rdi

	/* long blind_spin(long turns) */
	.globl	blind_spin
	.type	blind_spin, @function
blind_spin:
	push	%rbp
	push	%rbx
	mov	%rsp, saved(%rip)
	mov	%rdi, %rax
	and	$0x70, %rax
	sub	%rax, %rsp
	mov	%rdi, %rbp
1:
	dec	%rbp
	xor	%rbx, %rbx
	test	%rbp, %rbp
	jnz	1b
	mov	saved(%rip), %rsp
	pop	%rbx
	pop	%rbp
	ret
	.size	blind_spin, . - blind_spin
	.size	Java_Blind_spin, . - Java_Blind_spin

	.local	saved
	.comm	saved, 8, 8

	.section .note.GNU-stack, "", @progbits
