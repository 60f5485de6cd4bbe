// SPDX-License-Identifier: Apache-2.0
#include "arch/remote_frame.h"

#include <asm/sigcontext.h>
#include <cpuid.h>
#include <string.h>

/* asm/ucontext.h, which the C library's header of that name does not go with */
#define HAS_EXTENDED 1 /* UC_FP_XSTATE */
#define HAS_SS	     6 /* UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */

struct frame {
	uint64_t return_at;
	uint64_t flags, link;
	uint64_t stack;
	int32_t stack_flags, pad;
	uint64_t stack_size;
	struct sigcontext context;
	uint64_t mask;
};

/* Neither 0, SS_ONSTACK nor SS_DISABLE: the kernel then leaves the alternate stack as it is. */
#define STACK_AS_IT_IS 0x1234

/* What XSAVE writes: its own words about it lie in the legacy area, at 464. */
#define LEGACY	    512
#define SOFTWARE_AT 464

/* Where the extended part lies in the frame: on a multiple of 64, as the frame lies at 64 n + 8. */
#define EXTENDED_AT ((sizeof(struct frame) + 8 + 63) / 64 * 64 - 8)

size_t remote_frame_size(size_t extended)
{
	return EXTENDED_AT + extended + FP_XSTATE_MAGIC2_SIZE;
}

uint64_t remote_frame_place(uint64_t below, size_t size)
{
	return ((below - size - 8) & ~63ul) + 8;
}

/*
 * Of what ptrace(2) gives, the kernel takes back from a frame only as much as the thread may have:
 * without the tiles of AMX, which it gets when it asks for them.
 */
#define TILES	     (3ull << 17)
#define TILE_DATA    (1ull << 18)
#define HEADER_BYTES 64

static size_t size_of(uint64_t features, size_t most)
{
	size_t size = LEGACY + HEADER_BYTES;

	for (unsigned int i = 2; i < 63; i++) {
		unsigned int bytes, offset, c, d;

		if (features >> i & 1 && __get_cpuid_count(0xd, i, &bytes, &offset, &c, &d) &&
		    (size_t)offset + bytes <= most && (size_t)offset + bytes > size)
			size = (size_t)offset + bytes;
	}
	return size;
}

void remote_frame_fill(uint8_t *bytes, uint64_t address, uint64_t return_at,
		       const struct arch_user_regs *user, uint64_t mask, const void *extended,
		       size_t extended_size)
{
	const struct user_regs_struct *regs = &user->at;
	struct frame *frame = (struct frame *)bytes;
	struct sigcontext *to = &frame->context;
	const uint32_t end = FP_XSTATE_MAGIC2;
	struct _fpx_sw_bytes words = {.magic1 = FP_XSTATE_MAGIC1};
	uint64_t features, in_use;
	size_t size;

	frame->return_at = return_at;
	frame->flags = HAS_EXTENDED | HAS_SS;
	frame->stack_flags = STACK_AS_IT_IS;
	frame->mask = mask;
	*to = (struct sigcontext){
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.rdi = regs->rdi,
		.rsi = regs->rsi,
		.rbp = regs->rbp,
		.rbx = regs->rbx,
		.rdx = regs->rdx,
		.rax = regs->rax,
		.rcx = regs->rcx,
		.rsp = regs->rsp,
		.rip = regs->rip,
		.eflags = regs->eflags,
		.cs = (uint16_t)regs->cs,
		.ss = (uint16_t)regs->ss,
		.fpstate = (void *)(uintptr_t)(address + EXTENDED_AT),
	};
	memcpy(bytes + EXTENDED_AT, extended, extended_size);
	/* ptrace(2) has the features that the kernel uses there */
	memcpy(&features, (const uint8_t *)extended + SOFTWARE_AT, sizeof(features));
	memcpy(&in_use, (const uint8_t *)extended + LEGACY, sizeof(in_use));
	words.xfeatures = in_use & TILE_DATA ? features : features & ~TILES;
	size = size_of(words.xfeatures, extended_size);
	words.xstate_size = (uint32_t)size;
	words.extended_size = (uint32_t)(size + FP_XSTATE_MAGIC2_SIZE);
	memcpy(bytes + EXTENDED_AT + SOFTWARE_AT, &words, sizeof(words));
	memcpy(bytes + EXTENDED_AT + size, &end, sizeof(end));
}
