/* SPDX-License-Identifier: Apache-2.0 */
/* How Go begins its functions. */
	.section .go.buildinfo, "a"
	.quad 0

	.text
	.globl _start
_start:
	hlt

	.globl runtime.morestack_noctxt
	.type runtime.morestack_noctxt, @function
runtime.morestack_noctxt:
	ret
	.size runtime.morestack_noctxt, . - runtime.morestack_noctxt

	.globl main.small
	.type main.small, @function
main.small:
	cmp 16(%r14), %rsp
	jbe 2f
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret
2:	call runtime.morestack_noctxt
	jmp main.small
	.size main.small, . - main.small

	.globl main.large
	.type main.large, @function
main.large:
	lea -4096(%rsp), %r12
	cmp 16(%r14), %r12
	jbe 2f
	push %rbp
	mov %rsp, %rbp
	pop %rbp
	ret
2:	call runtime.morestack_noctxt
	jmp main.large
	.size main.large, . - main.large

	/* before Go 1.21: nothing that the kernel emulates follows soon */
	.globl main.old
	.type main.old, @function
main.old:
	cmp 16(%r14), %rsp
	jbe 2f
	sub $24, %rsp
	mov %rbp, 16(%rsp)
	cpuid
	add $24, %rsp
	ret
2:	call runtime.morestack_noctxt
	jmp main.old
	.size main.old, . - main.old

	.section .note.GNU-stack, "", @progbits
