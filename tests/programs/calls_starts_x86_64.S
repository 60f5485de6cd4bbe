// SPDX-License-Identifier: Apache-2.0
// Functions by their first instruction: how an entry probe works depends on it.
	.text

	.macro FUNCTION name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm

	.macro END name
	.cfi_endproc
	.size \name, . - \name
	.endm

	FUNCTION begins_endbr
	endbr64
	lea 1(%rdi), %rax
	ret
	END begins_endbr

	FUNCTION begins_endbr_push
	endbr64
	push %rbp
	.cfi_adjust_cfa_offset 8
	mov %rsp, %rbp
	lea 2(%rdi), %rax
	pop %rbp
	.cfi_adjust_cfa_offset -8
	ret
	END begins_endbr_push

	FUNCTION begins_sub
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	lea 3(%rdi), %rax
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	END begins_sub

	FUNCTION begins_mov
	mov %rdi, %rax
	add $4, %rax
	ret
	END begins_mov

	FUNCTION begins_push
	push %rbx
	.cfi_adjust_cfa_offset 8
	lea 5(%rdi), %rbx
	mov %rbx, %rax
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	END begins_push

	FUNCTION begins_nop
	nop
	lea 6(%rdi), %rax
	ret
	END begins_nop

	FUNCTION begins_nop5
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	lea 7(%rdi), %rax
	ret
	END begins_nop5

	// a function of one byte
	FUNCTION begins_ret
	ret
	END begins_ret

	FUNCTION begins_jmp
	jmp 1f
	ud2
1:	lea 8(%rdi), %rax
	ret
	END begins_jmp

	FUNCTION begins_call
	call adds_nine
	ret
	END begins_call

	.type adds_nine, @function
adds_nine:
	.cfi_startproc
	lea 9(%rdi), %rax
	ret
	END adds_nine

	FUNCTION begins_jcc
	je 1f
1:	lea 10(%rdi), %rax
	ret
	END begins_jcc

	FUNCTION begins_xor
	xor %eax, %eax
	add %rdi, %rax
	ret
	END begins_xor

	// with a prefix
	FUNCTION begins_push_r12
	push %r12
	.cfi_adjust_cfa_offset 8
	lea 11(%rdi), %r12
	mov %r12, %rax
	pop %r12
	.cfi_adjust_cfa_offset -8
	ret
	END begins_push_r12

	// relative to the instruction pointer: it cannot be run elsewhere as it is
	FUNCTION begins_lea_rip
	lea twelve(%rip), %rax
	mov (%rax), %rax
	add %rdi, %rax
	ret
	END begins_lea_rip

	// its loop jumps to its first instruction
	FUNCTION begins_loop
1:	push %rdi
	.cfi_adjust_cfa_offset 8
	pop %rax
	.cfi_adjust_cfa_offset -8
	and $3, %edi
	dec %edi
	jg 1b
	ret
	END begins_loop

	.section .rodata
	.p2align 3
twelve:	.quad 12

	.section .note.GNU-stack, "", @progbits
