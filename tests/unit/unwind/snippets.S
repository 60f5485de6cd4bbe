/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One place for each kind of rule. Nothing here ever runs: test_table.c looks the labels up in the
 * table of its own executable. The nops give each rule an address.
 */
	.text

#define PLACE(name) .globl at_##name; .hidden at_##name; at_##name: nop
#define BEGIN .balign 16; .cfi_startproc
#define END .cfi_endproc; .skip 32, 0x90 /* so that no function is the padding of another */

	.skip 32, 0x90
	BEGIN
PLACE(start)
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
PLACE(pushed)
	.cfi_def_cfa_register rbp
PLACE(frame_pointer)
	.cfi_remember_state
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
PLACE(popped)
	.cfi_restore_state
PLACE(restored)
	.cfi_remember_state
	.cfi_def_cfa rsp, 24
	.cfi_remember_state
	.cfi_def_cfa rsp, 32
PLACE(nested)
	.cfi_restore_state
PLACE(nested_restored)
	.cfi_restore_state
PLACE(all_restored)
	END
PLACE(no_function)

	/* where a coroutine's stack begins, as makecontext() makes it; the other one returns */
	BEGIN
40:
	mov	%rbx, %rsp
PLACE(context_start)
	call	at_start
	hlt
	END
	.globl	at_context_return
	.hidden	at_context_return
	.set	at_context_return, 40b - 1 /* where a return address is looked up */
	BEGIN
	mov	%rbx, %rsp
PLACE(context_none)
	ret
	END

	/* an argument's size, a register that does not matter, and no rule of its own in the end */
	BEGIN
	.cfi_escape 0x2e, 0x10
	.cfi_offset rbx, -24
	.cfi_same_value r12
PLACE(args_size)
	END

	BEGIN
	.cfi_def_cfa r10, 16
PLACE(other_register)
	.cfi_def_cfa r10, -8
PLACE(negative_offset)
	.cfi_def_cfa rsp, 0x12345678
PLACE(large_offset)
	.cfi_escape 0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x10 /* def_cfa rsp + 2^32 */
PLACE(too_large_offset)
	END

	/* gcc, for a stack that it realigned: DRAP. def_cfa_expression breg6 -8; deref */
	BEGIN
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00 /* rbp: at breg6 0 */
PLACE(realigned)
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x70 /* rbp: at breg6 -16 */
PLACE(rbp_by_rbp)
	.cfi_escape 0x10, 0x06, 0x02, 0x77, 0x08 /* rbp: at breg7 8 */
PLACE(rbp_by_rsp)
	.cfi_escape 0x16, 0x06, 0x02, 0x76, 0x00 /* rbp: is breg6 0 */
PLACE(rbp_by_value)
	.cfi_escape 0x10, 0x06, 0x03, 0x76, 0x00, 0x06 /* rbp: at breg6 0; deref */
PLACE(rbp_by_deref)
	END

	/* openssl: breg7 N; deref; plus_uconst 8 */
	BEGIN
	.cfi_escape 0x0f, 0x06, 0x77, 0x98, 0x01, 0x06, 0x23, 0x08
PLACE(deref_plus)
	.cfi_escape 0x0f, 0x05, 0x77, 0x10, 0x06, 0x38, 0x22 /* breg7 16; deref; lit8; plus */
PLACE(deref_literal)
	/* bregx 7 16; nop; const1u 200; minus; deref; const2s -9; plus */
	.cfi_escape 0x0f, 13, 0x92, 0x07, 0x10, 0x96, 0x08, 200, 0x1c, 0x06, 0x0b, 0xf7, 0xff
	.cfi_escape 0x22, 0x96
PLACE(deref_constants)
	.cfi_escape 0x0f, 0x02, 0x70, 0x28 /* breg0 40 */
PLACE(plain_expression)
	.cfi_escape 0x0f, 0x04, 0x77, 0x00, 0x06, 0x06 /* two dereferences */
PLACE(two_derefs)
	.cfi_escape 0x0f, 0x09, 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x96
PLACE(indexed)
	/* breg7 8; breg14 1; lit3; shl; plus; plus_uconst 16; deref; lit8; plus */
	.cfi_escape 0x0f, 12, 0x77, 8, 0x7e, 1, 0x33, 0x24, 0x22, 0x23, 16, 0x06, 0x38, 0x22
PLACE(indexed_shifted)
	.cfi_escape 0x0f, 0x08, 0x77, 0x08, 0x79, 0x00, 0x34, 0x1e, 0x22, 0x06 /* lit4; mul */
PLACE(index_of_4)
	.cfi_escape 0x0f, 13, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x79, 0, 0x38, 0x1e, 0x22, 0x06
PLACE(index_twice)
	.cfi_escape 0x0f, 0x07, 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22
PLACE(index_without_deref)
	.cfi_escape 0x0f, 0x08, 0x77, 0x08, 0x06, 0x79, 0x00, 0x38, 0x1e, 0x22
PLACE(index_behind_deref)
	.cfi_escape 0x0f, 0x08, 0x77, 0x08, 0x80, 0x00, 0x38, 0x1e, 0x22, 0x06
PLACE(index_by_rip)
	.cfi_def_cfa_register rsp /* what was set last counts: rsp + 8 */
PLACE(after_expression)
	.cfi_escape 0x0f, 0x00
PLACE(empty_expression)
	END

	/* the procedure linkage table, as linkers describe it */
	BEGIN
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
PLACE(plt_11)
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22
PLACE(plt_10)
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x4a, 0x2a, 0x33, 0x24, 0x22
PLACE(not_plt)
	END

	BEGIN
	.cfi_offset rbp, -32
PLACE(rbp_saved)
	.cfi_undefined rbp
PLACE(rbp_undefined)
	.cfi_register rbp, r11
PLACE(rbp_in_register)
	.cfi_same_value rbp
PLACE(rbp_same)
	.cfi_escape 0x14, 6, 2 /* val_offset rbp, -16 */
PLACE(rbp_val_offset)
	.cfi_escape 0x2f, 0x06, 0x03 /* GNU_negative_offset_extended: rbp at CFA + 24 */
PLACE(rbp_above)
	.cfi_escape 0x11, 0x06, 0x04 /* offset_extended_sf: CFA - 32 */
PLACE(rbp_extended)
	.cfi_escape 0x06, 0x06 /* restore_extended */
PLACE(rbp_restored)
	.cfi_offset rbp, -32768
PLACE(rbp_far)
	.cfi_offset rbp, -32776
PLACE(rbp_too_far)
	END

	BEGIN
	.cfi_offset rbx, -16
PLACE(rbx_saved)
	.cfi_undefined rbx
PLACE(rbx_undefined)
	.cfi_register rbx, r11
PLACE(rbx_in_register)
	.cfi_same_value rbx
PLACE(rbx_same)
	.cfi_escape 0x10, 0x03, 0x02, 0x77, 0x08 /* rbx: at breg7 8 */
PLACE(rbx_by_expression)
	.cfi_restore rbx
PLACE(rbx_restored)
	.cfi_offset rbx, -1024
PLACE(rbx_far)
	.cfi_offset rbx, -1032
PLACE(rbx_too_far)
	.cfi_offset rbx, 1008
PLACE(rbx_above)
	.cfi_offset rbx, 1016
PLACE(rbx_too_far_above)
	.cfi_offset rbx, 0
PLACE(rbx_at_cfa)
	.cfi_offset rbx, -32
	.cfi_remember_state
	.cfi_offset rbx, -40
	.cfi_restore_state
PLACE(rbx_remembered)
	END


	BEGIN
	.cfi_escape 0x12, 0x07, 0x7e /* def_cfa_sf rsp, 16 (factored by -8) */
PLACE(cfa_sf)
	.cfi_escape 0x13, 0x7d /* def_cfa_offset_sf 24 */
PLACE(cfa_offset_sf)
	END

	BEGIN
	.cfi_undefined rip
PLACE(end)
	.cfi_restore rip
PLACE(not_end)
	.cfi_register rip, rdi
PLACE(rip_in_register)
	.cfi_def_cfa_offset 0
PLACE(rip_popped)
	.cfi_offset rbx, -24
PLACE(rip_and_rbx)
	.cfi_restore rbx
	.cfi_offset rbp, -24
PLACE(rip_and_rbp)
	.cfi_restore rbp
	.cfi_def_cfa rcx, 0
PLACE(rip_by_rcx)
	.cfi_def_cfa rsp, 8
	.cfi_offset rip, -16
PLACE(rip_elsewhere)
	.cfi_offset rip, -8
	.cfi_offset rsp, -24
PLACE(rsp_elsewhere)
	.cfi_escape 0x14, 7, 0 /* val_offset rsp, 0 */
PLACE(rsp_again)
	END

	.balign 16
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa rsp, 160
	nop /* begins one byte before its symbol, as __restore_rt does */
PLACE(signal)
	.cfi_endproc
	.skip 32, 0x90

	/* no rules from the assembler: the augmentation and the return address are the same */
	.balign 16
	.cfi_startproc simple
PLACE(simple)
	.cfi_def_cfa rsp, 8
	.cfi_offset rip, -8
PLACE(simple_set)
	END

	.cfi_startproc
	nop
	.cfi_endproc
PLACE(padding)
	.skip 14, 0x90
	.cfi_startproc
	.cfi_def_cfa_offset 48
PLACE(behind_padding)
	END

	/* damaged: nothing was remembered */
	BEGIN
	.cfi_def_cfa_offset 40
PLACE(before_damage)
	.cfi_escape 0x0b
PLACE(damage)
	END

	/* longer than a page of the table, and a run of rules across the border */
	BEGIN
	.cfi_def_cfa_offset 56
PLACE(long)
	.skip 200000, 0x90
PLACE(long_middle)
	.skip 200000, 0x90
	.cfi_def_cfa_offset 8
PLACE(long_end)
	END

	.section .note.GNU-stack, "", @progbits
