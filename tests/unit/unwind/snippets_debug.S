/* SPDX-License-Identifier: Apache-2.0 */
/* A function described in .debug_frame alone, as Go and libraries without exceptions have it. */
	.cfi_sections .debug_frame
	.text
	.skip 32, 0x90
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 64
	.cfi_offset rbp, -64
	.globl at_debug_frame
	.hidden at_debug_frame
at_debug_frame:
	nop
	.cfi_endproc
	.skip 32, 0x90
	.rept 64 /* so many that the section becomes smaller when it is compressed */
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_endproc
	.endr
	.section .note.GNU-stack, "", @progbits
