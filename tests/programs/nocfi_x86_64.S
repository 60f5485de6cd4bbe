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

	.section .note.GNU-stack, "", @progbits
