/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef ARCH_X86_64_V8_H
#define ARCH_X86_64_V8_H

#define V8_PUSH_MOV 0xe5894855u /* push rbp; mov rbp, rsp */
#define V8_MOV_PUSH 0x56e58948u /* mov rbp, rsp; push rsi */

#define V8_POP_CMP  0xf983485du /* pop rbp; cmp rcx, 8 bits; for 32 bits the bit 17 is not set */
#define V8_LEA_RSP  0x248d48	/* lea rsp, [...] */

/*
 * Whether the frame is gone, and the return address at rsp. code: what stands before the place, and
 * there.
 */
static inline __attribute__((always_inline)) int v8_is_leaving(const __u64 *code)
{
	__u8 before = code[0] >> 56, here = (__u8)code[1];

	/* ret; ret n */
	if (here == 0xc3 || here == 0xc2)
		return 1;
	/* between pop rbp and those: cmp rcx, n; jg ... */
	if (before == 0x5d && (code[1] & 0xfffdff) == 0xf98148)
		return 1;
	if ((here == 0x7f || (__u16)code[1] == 0x8f0f) &&
	    ((__u32)(code[0] >> 24) == V8_POP_CMP || ((__u32)code[0] | 2 << 16) == V8_POP_CMP))
		return 1;
	/* pop r, of the return address, before as many arguments are dropped as there are */
	return ((here & 0xf8) == 0x58 && (code[1] >> 8 & 0xffffff) == V8_LEA_RSP) ||
	       ((code[1] & 0xf8ff) == 0x5841 && (code[1] >> 16 & 0xffffff) == V8_LEA_RSP);
}

#endif
