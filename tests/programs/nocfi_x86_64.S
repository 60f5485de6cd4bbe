/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as written by hand without unwind tables: each calls the function in rdi. */
	.text

	.globl	nocfi_with_frame_pointer
	.type	nocfi_with_frame_pointer, @function
nocfi_with_frame_pointer:
	push	%rbp
	mov	%rsp, %rbp
	call	*%rdi
	pop	%rbp
	ret
	.size	nocfi_with_frame_pointer, . - nocfi_with_frame_pointer

	.globl	nocfi_bare
	.type	nocfi_bare, @function
nocfi_bare:
	sub	$24, %rsp
	call	*%rdi
	add	$24, %rsp
	ret
	.size	nocfi_bare, . - nocfi_bare

	/* rounds its stack down, with the old stack pointer in rbx */
	.globl	nocfi_rounded
	.type	nocfi_rounded, @function
nocfi_rounded:
	sub	$24, %rsp
	mov	%rbx, (%rsp)
	mov	%rbp, 8(%rsp)
	mov	%rsp, %rbx
	sub	$0x1080, %rsp
	and	$-4096, %rsp
	mov	$7, %ebp
	call	*%rdi
	mov	%rbx, %rsp
	mov	(%rsp), %rbx
	mov	8(%rsp), %rbp
	add	$24, %rsp
	ret
	.size	nocfi_rounded, . - nocfi_rounded

	/* the same, with the old stack pointer on the stack */
	.globl	nocfi_stored
	.type	nocfi_stored, @function
nocfi_stored:
	mov	%rsp, %rax
	sub	$0x148, %rsp
	and	$-64, %rsp
	mov	%rax, 0x100(%rsp)
	call	*%rdi
	mov	0x100(%rsp), %rsp
	ret
	.size	nocfi_stored, . - nocfi_stored

	/*
	 * A function that only a pointer leads to and no symbol names, behind an instruction that few disassemblers know: it
	 * jumps by a table to where there is more on the stack.
	 */
	.balign	32
	.byte	0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2, 0xc3
	.balign	32
.Lunnamed:
	push	%rbx
	sub	$0x20, %rsp
	lea	.Ldeeper(%rip), %rax
	jmp	*%rax
	.balign	32
.Ldeeper:
	call	*%rdi
	add	$0x20, %rsp
	pop	%rbx
	ret
	.section .data.rel.ro, "aw"
	.globl	nocfi_unnamed
	.hidden	nocfi_unnamed
nocfi_unnamed:
	.quad	.Lunnamed

	.section .note.GNU-stack, "", @progbits
