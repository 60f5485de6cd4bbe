/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_X86_64_ELF_H
#define ARCH_X86_64_ELF_H

#define ARCH_ELF_MACHINE EM_X86_64
#define ARCH_ELF_NAME	 "x86-64"

/* Relocations (System V ABI, AMD64 supplement, 4.4.1). */
#define ARCH_RELOCATION_RELATIVE  R_X86_64_RELATIVE
#define ARCH_RELOCATION_ABSOLUTE  R_X86_64_64
#define ARCH_RELOCATION_GLOB_DAT  R_X86_64_GLOB_DAT
#define ARCH_RELOCATION_JUMP_SLOT R_X86_64_JUMP_SLOT
/* of thread-local storage: its distance from the thread pointer, a descriptor, its module */
#define ARCH_RELOCATION_TLS_OFFSET     R_X86_64_TPOFF64
#define ARCH_RELOCATION_TLS_DESCRIPTOR R_X86_64_TLSDESC
#define ARCH_RELOCATION_TLS_MODULE     R_X86_64_DTPMOD64

/* The most bytes of a stub. .plt.got of files without "endbr64" has entries of 8. */
#define ARCH_STUB_BYTES	      16
#define ARCH_STUB_BYTES_SHORT 8

#endif
