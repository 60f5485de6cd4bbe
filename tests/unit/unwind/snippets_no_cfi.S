/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without unwind information, as assembler programmers and some C libraries leave it: what the
 * table says of it is read off the instructions. Nothing here ever runs.
 */
	.text

#define PLACE(name) .globl at_##name; .hidden at_##name; at_##name: nop
#define FUNCTION(name) .balign 16; .type name, @function; name:
#define END(name) .size name, . - name

	.skip 32, 0x90

FUNCTION(nocfi_pushes)
	push	%rbp
PLACE(nocfi_rbp_pushed)
	push	%rbx
	push	%r12
PLACE(nocfi_pushed)
	sub	$0x100, %rsp
	test	%eax, %eax
	je	1f
PLACE(nocfi_room)
	add	$0x100, %rsp
	pop	%r12
	pop	%rbx
	pop	%rbp
PLACE(nocfi_popped)
	ret
1:
PLACE(nocfi_jumped_to) /* not what held before it, but what held at the jump */
	lea	0x100(%rsp), %rsp
	pop	%r12
PLACE(nocfi_lea)
	pop	%rbx
	pop	%rbp
	ret
END(nocfi_pushes)

FUNCTION(nocfi_frame)
	push	%rbp
	mov	%rsp, %rbp
PLACE(nocfi_frame_pointer)
	sub	%rax, %rsp
	and	$-64, %rsp
PLACE(nocfi_alloca)
	mov	%rbx, -8(%rbp)
PLACE(nocfi_rbx_stored)
	mov	-8(%rbp), %rbx
PLACE(nocfi_rbx_loaded)
	leave
PLACE(nocfi_left)
	ret
END(nocfi_frame)

FUNCTION(nocfi_strange)
	mov	%rdi, %rsp
PLACE(nocfi_other_stack)
	mov	%rsi, %rbp
PLACE(nocfi_still_other_stack)
	ret
END(nocfi_strange)

FUNCTION(nocfi_clobbers)
	mov	%rsi, %rbp
	mov	%rsi, %rbx
PLACE(nocfi_clobbered)
	ret
END(nocfi_clobbers)

	/* a case of a switch: only a register says where it is */
FUNCTION(nocfi_switch)
	sub	$40, %rsp
	jmp	*%rax
	mov	$1, %eax
PLACE(nocfi_case)
	add	$40, %rsp
	ret
END(nocfi_switch)

	/* what is called does not return; then another function begins, which only pointers know */
FUNCTION(nocfi_no_return)
	push	%rax
	call	nocfi_strange
	.size	nocfi_no_return, . - nocfi_no_return
	.balign 16
	sub	$24, %rsp
PLACE(nocfi_by_pointer)
	add	$24, %rsp
	ret

	/* the same at once, twice: one saves its registers, the other one is for indirect calls */
FUNCTION(nocfi_no_return_either)
	sub	$0x100, %rsp
	.skip	4, 0x90
	call	nocfi_strange
	.size	nocfi_no_return_either, . - nocfi_no_return_either
	push	%r15
	mov	%rdi, %r9
	push	%r14
	push	%r13
PLACE(nocfi_saves_at_once)
	nop
	call	nocfi_strange
	endbr64
	push	%rbx
PLACE(nocfi_target_at_once)
	/* each page of a large frame is touched (-fstack-clash-protection) */
	lea	-0x4000(%rsp), %r11
1:
	sub	$0x1000, %rsp
	orq	$0, (%rsp)
	cmp	%r11, %rsp
	jne	1b
PLACE(nocfi_touched)
	sub	$0x188, %rsp
PLACE(nocfi_touched_and_rest)
	jmp	*%rax

	/* the same, but this call does */
FUNCTION(nocfi_returns)
	push	%rax
	call	nocfi_frame
	nop
	mov	%eax, %edx
PLACE(nocfi_behind_call)
	pop	%rax
	ret
END(nocfi_returns)

FUNCTION(nocfi_where_am_i)
	call	1f
1:
	mov	%eax, %eax
PLACE(nocfi_called_itself)
	pop	%rax
PLACE(nocfi_here)
	ret
END(nocfi_where_am_i)

	/* as the first function of a thread is called */
FUNCTION(nocfi_clone)
	syscall
	test	%eax, %eax
	jne	1f
	xor	%ebp, %ebp
PLACE(nocfi_child)
	pop	%rdi
	call	*%rax
PLACE(nocfi_child_ended)
	hlt
1:
PLACE(nocfi_parent)
	ret
END(nocfi_clone)

	/* rbp may be cleared by whoever saved it */
FUNCTION(nocfi_clears_rbp)
	push	%rbp
	xor	%ebp, %ebp
PLACE(nocfi_rbp_cleared)
	pop	%rbp
	ret
END(nocfi_clears_rbp)

	/* the stack is rounded down, and rbx has the old stack pointer */
FUNCTION(nocfi_rounds)
	sub	$96, %rsp
	mov	%rbx, (%rsp)
	mov	%rbp, 8(%rsp)
	mov	%rsp, %rbx
	sub	$0x7080, %rsp
	and	$-4096, %rsp
	mov	%rsi, %rbp
	je	1f
PLACE(nocfi_rounded)
	call	nocfi_pushes
1:
PLACE(nocfi_rounded_still)
	mov	%rbx, %rsp
	mov	(%rsp), %rbx
	mov	8(%rsp), %rbp
	add	$96, %rsp
PLACE(nocfi_rounded_back)
	ret
END(nocfi_rounds)

	/* the same, with the old stack pointer in a register that calls change, then on the stack */
FUNCTION(nocfi_rounds_and_stores)
	mov	%rsp, %rax
	sub	$0x128, %rsp
	and	$-64, %rsp
PLACE(nocfi_in_rax)
	mov	%rax, 0x100(%rsp)
	xor	%eax, %eax
PLACE(nocfi_stored)
	push	%rcx
PLACE(nocfi_stored_deeper)
	pop	%rcx
	mov	0x100(%rsp), %rsp
PLACE(nocfi_loaded)
	ret
END(nocfi_rounds_and_stores)

	/* entries that only pointers know, behind an instruction on vectors that few disassemblers do */
FUNCTION(nocfi_table)
	push	%rbx
	jmp	*%rax
	.balign 16
	.byte	0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2 /* vpdpbusd %zmm2, %zmm1, %zmm0 */
PLACE(nocfi_by_return)
	mov	%edi, %eax
	add	$48, %rsp
	pop	%rbx
	ret
	.balign 16
	mov	%edi, %eax
PLACE(nocfi_by_leave)
	leave
	ret
	.balign 16
	mov	%edi, %eax
PLACE(nocfi_by_base)
	test	%eax, %eax
	jne	1f
	ud2
1:
	mov	%rbx, %rsp
	mov	8(%rbx), %rbp
	mov	(%rsp), %rbx
	add	$16, %rsp
	ret
END(nocfi_table)

	/* a coroutine's stack is made: its first function returns to what ends the program */
FUNCTION(nocfi_make_coroutine)
	lea	1f(%rip), %rcx
	mov	%rcx, 0x38(%rax)
	lea	2f(%rip), %rcx
	mov	%rcx, 0x30(%rax)
	lea	3f(%rip), %rcx
	mov	%rcx, 0x28(%rax)
	ret
1:
	push	%rbp
	jmp	*%rbx
2:
	xor	%rdi, %rdi
	call	nocfi_strange
PLACE(nocfi_coroutine_ended)
	hlt
	/* the same, but what stands there returns */
	mov	%eax, %eax
3:
	sub	$8, %rsp
	call	nocfi_frame
PLACE(nocfi_address_taken)
	add	$8, %rsp
	ret
END(nocfi_make_coroutine)
	.globl	at_nocfi_coroutine
	.hidden	at_nocfi_coroutine
	.set	at_nocfi_coroutine, 2b - 1 /* where a return address is looked up */

	/* rbp is cleared at the start, as where a thread begins; but nothing says that one does */
FUNCTION(nocfi_zeroes_rbp)
	xor	%ebp, %ebp
PLACE(nocfi_rbp_zeroed)
	ret
END(nocfi_zeroes_rbp)

	/* data in the code, no instruction at its start; and what follows it */
	.balign 16
PLACE(nocfi_before_data)
	.fill	64, 1, 0x06
	.fill	3, 1, 0x53
PLACE(nocfi_data)
	.fill	64, 1, 0x06
	.balign 16
	push	%rbx
PLACE(nocfi_behind_data)
	pop	%rbx
	ret

	/* the linkage table of a linker that writes no unwind information */
	.balign 16
	push	0x1234(%rip)
	.globl	at_nocfi_plt
	.hidden	at_nocfi_plt
at_nocfi_plt:
	jmp	*0x1234(%rip)
	.balign 16

	nop
FUNCTION(nocfi_restore_rt)
	mov	$15, %rax
	syscall
END(nocfi_restore_rt)
	.globl	at_nocfi_signal
	.hidden	at_nocfi_signal
	.set	at_nocfi_signal, nocfi_restore_rt - 1 /* where a return address is looked up */
	.skip	32, 0x90

	.section .note.GNU-stack, "", @progbits
