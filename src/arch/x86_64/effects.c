// SPDX-License-Identifier: Apache-2.0
/*
 * What an instruction of x86-64 does, as far as probes are concerned. How it is read: read.c.
 */
#include <string.h>

#include "arch/arch.h"
#include "arch/isa.h"

#define FRAME_MAX (1 << 24)
#define RSP	  4
#define RBP	  5

static bool is_one(const struct isa_insn *insn, uint8_t opcode)
{
	return insn->map == 1 && !insn->vex && insn->opcode == opcode;
}

static uint8_t reg_field(const struct isa_insn *insn)
{
	return insn->modrm >> 3 & 7;
}

bool isa_is_push(const struct isa_insn *insn)
{
	return insn->map == 1 && !insn->vex && insn->opcode >= 0x50 && insn->opcode <= 0x57;
}

size_t isa_landing(const uint8_t *code, size_t left)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return left >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64)
										  : 0;
}

bool isa_is_nop(const struct isa_insn *insn)
{
	return (insn->map == 1 && insn->opcode == 0x90) || (insn->map == 2 && insn->opcode == 0x1f);
}

static bool is_nop5(const struct isa_insn *insn)
{
	return insn->length == 5 && insn->map == 2 && !insn->vex && insn->opcode == 0x1f &&
	       insn->modrm == 0x44 && !insn->sib && !insn->displacement && !insn->prefixes &&
	       !insn->rex;
}

/* The tables of the kernel's arch/x86/kernel/uprobes.c, as far as programs can come to them. */
static bool is_refused(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;
	enum isa_flow flow = isa_flow(insn);

	if (insn->prefixes & (ISA_PREFIX_LOCK | ISA_PREFIX_CS_DS_ES_SS))
		return true;
	if (flow == ISA_FLOW_STOP)
		return true;
	if (insn->prefixes & ISA_PREFIX_66 &&
	    (flow == ISA_FLOW_CALL || flow == ISA_FLOW_JUMP || flow == ISA_FLOW_BRANCH))
		return true;
	if (insn->vex)
		return false;
	if (insn->map == 2)
		return o == 0x05 || o == 0x34 || o == 0x35;
	if (insn->map != 1)
		return false;
	switch (o) {
	case 0x90: /* with REX.B it exchanges registers, which the kernel overlooks */
		return insn->rex & 1;
	case 0x8e: /* mov to ss, pop ss: hold off the trap that follows */
	case 0xca:
	case 0xcb:
	case 0xcd:
	case 0xcf:
	case 0xf1:
		return true;
	case 0xc7:
	case 0xc6:
		return insn->modrm == 0xf8; /* transactions end at a trap */
	case 0xff:
		return reg_field(insn) == 3 || reg_field(insn) == 5; /* far */
	}
	return false;
}

enum isa_cost isa_cost(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (is_refused(insn))
		return ISA_COST_REFUSED;
	if (is_nop5(insn))
		return ISA_COST_REPLACED;
	if (insn->vex)
		return ISA_COST_STEPPED;
	if (insn->map == 2 && o >= 0x80 && o <= 0x8f)
		return ISA_COST_EMULATED;
	if (insn->map != 1)
		return ISA_COST_STEPPED;
	/* "push", alone or with REX.B, and no other prefix */
	if (isa_is_push(insn))
		return insn->length == 1 || (insn->length == 2 && insn->rex == 0x41)
			       ? ISA_COST_EMULATED
			       : ISA_COST_STEPPED;
	if ((o >= 0x70 && o <= 0x7f) || o == 0xe8 || o == 0xe9 || o == 0xeb || o == 0x90)
		return ISA_COST_EMULATED;
	return ISA_COST_STEPPED;
}

bool isa_is_light(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (isa_flow(insn) != ISA_FLOW_NEXT || insn->prefixes & ISA_PREFIX_LOCK)
		return false;
	if (insn->vex)
		return true;
	if (insn->map ==
	    2) /* syscall, cpuid, rdtsc, rdpmc, xsave and fences, what enters a hypervisor */
		return o != 0x05 && o != 0x31 && o != 0x33 && o != 0x34 && o != 0xa2 &&
		       !(o == 0x01 && insn->modrm >= 0xc0) && o != 0xae && o != 0xc7;
	if (insn->map != 1)
		return true;
	if (o >= 0xa4 && o <= 0xaf && o != 0xa8 && o != 0xa9) /* strings */
		return false;
	if ((o == 0x86 || o == 0x87) && insn->modrm < 0xc0) /* a lock, implied */
		return false;
	return o != 0xcd && o != 0xf1 && !(o == 0x90 && insn->prefixes & ISA_PREFIX_F3) &&
	       o != 0x9b;
}

static void set_sp(struct isa_stack *s, int64_t sp)
{
	s->sp = sp >= -FRAME_MAX && sp <= FRAME_MAX ? (int32_t)sp : ISA_STACK_UNKNOWN;
}

static void move_sp(struct isa_stack *s, int64_t down)
{
	if (s->sp != ISA_STACK_UNKNOWN)
		set_sp(s, down > -FRAME_MAX && down < FRAME_MAX ? s->sp + down : INT64_MAX);
}

/* The register in ModRM's rm, if it is one; -1: memory. */
static int rm_register(const struct isa_insn *insn)
{
	if (!insn->has_modrm || insn->modrm < 0xc0)
		return -1;
	return (insn->modrm & 7) | (insn->rex & 1) << 3;
}

static int reg_register(const struct isa_insn *insn)
{
	return insn->has_modrm ? reg_field(insn) | (insn->rex & 4) << 1 : -1;
}

/*
 * The general register that an instruction of the first table writes; -1: none, -2: more than one.
 */
static int written(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (o < 0x40) {
		if ((o & 0x38) == 0x38 || (o & 7) > 3) /* cmp; al, eax */
			return (o & 7) > 3 && (o & 0x38) != 0x38 ? 0 : -1;
		return o & 2 ? reg_register(insn) : rm_register(insn);
	}
	if (o >= 0x58 && o <= 0x5f)
		return (o & 7) | (insn->rex & 1) << 3;
	if (o >= 0xb0 && o <= 0xbf)
		return (o & 7) | (insn->rex & 1) << 3;
	if (o >= 0x91 && o <= 0x97)
		return -2;
	switch (o) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return reg_register(insn);
	case 0x80:
	case 0x81:
	case 0x83:
		return reg_field(insn) == 7 ? -1 : rm_register(insn);
	case 0x86:
	case 0x87:
		return -2;
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xfe:
		return rm_register(insn);
	case 0xf6:
	case 0xf7:
		return reg_field(insn) < 2 ? -1 : reg_field(insn) < 4 ? rm_register(insn) : 0;
	case 0xff:
		return reg_field(insn) < 2 ? rm_register(insn) : -1;
	}
	return -1;
}

static int written_anywhere(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (insn->vex)
		return -1;
	if (insn->map == 1)
		return written(insn);
	if (insn->map == 2 && ((o >= 0x40 && o <= 0x4f) || o == 0xaf || o == 0xb6 || o == 0xb7 ||
			       o == 0xbe || o == 0xbf))
		return reg_register(insn);
	return -1;
}

bool isa_may_write(const struct isa_insn *insn, uint8_t reg)
{
	uint8_t o = insn->opcode;
	int wrote = written_anywhere(insn);

	if (wrote == reg || wrote == -2)
		return true;
	if (insn->vex || insn->map != 1)
		return rm_register(insn) == reg || reg_register(insn) == reg;
	/* string instructions move rdi, rsi and rcx; cpuid's like are in the other maps */
	return (o >= 0xa4 && o <= 0xaf) || (o >= 0x6c && o <= 0x6f) || o == 0x8f || o == 0xe3;
}

bool isa_is_only_on_memory(const struct isa_insn *insn)
{
	if (isa_flow(insn) != ISA_FLOW_NEXT || isa_is_system_call(insn))
		return false;
	for (uint8_t reg = 0; reg < 16; reg++)
		if (isa_may_write(insn, reg))
			return false;
	return true;
}

bool isa_only_compares(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (insn->vex || insn->prefixes & ISA_PREFIX_LOCK)
		return false;
	if (insn->map == 2) /* nop and endbr64 */
		return o == 0x1f || (o == 0x1e && insn->prefixes & ISA_PREFIX_F3);
	if (insn->map != 1)
		return false;
	if ((o >= 0x38 && o <= 0x3d) || o == 0x84 || o == 0x85 || o == 0xa8 || o == 0xa9)
		return true;
	if (o == 0x80 || o == 0x81 || o == 0x83)
		return reg_field(insn) == 7;
	return (o == 0xf6 || o == 0xf7) && reg_field(insn) < 2;
}

/* lea: where the memory is, below the stack pointer at the entry. */
static int64_t place_of(const struct isa_stack *s, const struct isa_insn *insn)
{
	uint8_t rm = insn->modrm & 7, mod = insn->modrm >> 6;
	int32_t base = ISA_STACK_UNKNOWN;

	if (insn->rex & 3 || mod == 3)
		return INT64_MAX;
	if (rm == 4 && insn->sib == 0x24)
		base = s->sp;
	else if (rm == RBP && mod)
		base = s->fp;
	return base == ISA_STACK_UNKNOWN ? INT64_MAX : (int64_t)base - insn->displacement;
}

static void change(struct isa_stack *s, int reg)
{
	if (reg == RSP || reg == -2)
		s->sp = ISA_STACK_UNKNOWN;
	if (reg == RBP || reg == -2)
		s->fp = ISA_STACK_UNKNOWN;
}

/* mov and lea that set one of the two from the other; false: it is none. */
static bool step_move(struct isa_stack *s, const struct isa_insn *insn)
{
	int from, to;
	struct isa_stack moved = {.sp = ISA_STACK_UNKNOWN};

	if (insn->opcode == 0x8d) {
		to = reg_register(insn);
		if (insn->prefixes & (ISA_PREFIX_66 | ISA_PREFIX_67) || !(insn->rex & 8) ||
		    (to != RSP && to != RBP))
			return false;
		set_sp(&moved, place_of(s, insn));
	} else if (insn->opcode == 0x89 || insn->opcode == 0x8b) {
		from = insn->opcode == 0x89 ? reg_register(insn) : rm_register(insn);
		to = insn->opcode == 0x89 ? rm_register(insn) : reg_register(insn);
		if (!(insn->rex & 8) || (to != RSP && to != RBP) || (from != RSP && from != RBP))
			return false;
		moved.sp = from == RSP ? s->sp : s->fp;
	} else {
		return false;
	}
	if (to == RSP)
		s->sp = moved.sp;
	else
		s->fp = moved.sp;
	return true;
}

void isa_stack_step(struct isa_stack *s, const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;
	int64_t word = insn->prefixes & ISA_PREFIX_66 ? INT64_MAX : 8;

	if (insn->vex || insn->map != 1) {
		change(s, written_anywhere(insn));
		return;
	}
	if (isa_is_push(insn) || o == 0x68 || o == 0x6a || o == 0x9c ||
	    (o == 0xff && reg_field(insn) == 6)) {
		move_sp(s, word);
	} else if ((o >= 0x58 && o <= 0x5f) || o == 0x9d || o == 0x8f) {
		move_sp(s, -word);
		if (o != 0x9d)
			change(s, written(insn));
	} else if (o == 0xc9) {
		s->sp = s->fp;
		move_sp(s, -word);
		s->fp = ISA_STACK_UNKNOWN;
	} else if (o == 0xc8) {
		change(s, -2);
	} else if ((o == 0x81 || o == 0x83) && rm_register(insn) == RSP && insn->rex & 8 &&
		   (reg_field(insn) == 0 || reg_field(insn) == 5)) {
		move_sp(s, reg_field(insn) == 5 ? insn->immediate : -insn->immediate);
	} else if (!step_move(s, insn)) {
		change(s, written(insn));
	}
}

bool isa_is_system_call(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (insn->vex)
		return false;
	return (insn->map == 2 && (o == 0x05 || o == 0x34)) || (insn->map == 1 && o == 0xcd);
}

enum isa_through isa_through(const struct isa_insn *insn, uint8_t *reg)
{
	uint8_t mod = insn->modrm >> 6, rm = insn->modrm & 7;

	*reg = (uint8_t)(rm | (insn->rex & 1) << 3);
	if (mod == 3)
		return ISA_THROUGH_REGISTER;
	return rm == 4 && (insn->sib >> 3 & 7) != 4 ? ISA_THROUGH_TABLE : ISA_THROUGH_MEMORY;
}

bool isa_stores_innermost(const struct isa_insn *insn)
{
	return is_one(insn, 0x89) && (insn->modrm & 0xc7) == 0x04 && insn->sib == 0x24 &&
	       insn->rex & 8;
}

bool isa_word(const struct isa_insn *insn, uint64_t next, uint64_t *word)
{
	/* (Intel SDM, volume 2, table 2-7) */
	*word = next + (uint64_t)(int64_t)insn->displacement;
	return (insn->modrm & 0xc7) == 0x05;
}

enum isa_makes isa_makes(const struct isa_insn *insn, uint8_t reg)
{
	uint8_t o = insn->opcode;
	int to = written_anywhere(insn);

	if (to == -2)
		return ISA_MAKES_OTHER;
	if (to != reg)
		return ISA_MAKES_NOTHING;
	if (insn->map == 1 && (o == 0x01 || o == 0x03))
		return ISA_MAKES_SUM;
	if (insn->map == 1 && o == 0x8b && insn->modrm < 0xc0)
		return (insn->modrm & 7) == 4 && (insn->sib >> 3 & 7) != 4 ? ISA_MAKES_INDEXED
									   : ISA_MAKES_LOADED;
	return ISA_MAKES_OTHER;
}

static bool is_store(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (insn->vex || insn->map == 2)
		return o == 0x11 || o == 0x13 || o == 0x17 || o == 0x29 || o == 0x7f || o == 0xd6 ||
		       o == 0xe7;
	return insn->map == 1 && (o == 0x88 || o == 0x89 || o == 0xc6 || o == 0xc7);
}

bool isa_stores_at(const struct isa_insn *insn, uint8_t *reg, int64_t *displacement)
{
	uint8_t mod = insn->modrm >> 6, base = insn->modrm & 7;

	if (!insn->has_modrm || mod == 3 || insn->rex & 1 || !is_store(insn))
		return false;
	if (base == RSP) {
		if ((insn->sib >> 3 & 7) != RSP || insn->rex & 2)
			return false; /* with an index */
		base = insn->sib & 7;
	} else if (base == RBP && !mod) {
		return false; /* no base at all */
	}
	if (base != RSP && (base != RBP || !mod))
		return false;
	*reg = base == RSP ? ARCH_REG_SP : ARCH_REG_FP;
	*displacement = insn->displacement;
	return true;
}

/* Where the check's jump is, which *insn becomes; 0: there is none. */
static size_t go_stack_jump(const uint8_t *code, size_t left, struct isa_insn *insn)
{
	/* since Go 1.17 the goroutine is in r14, its limit 16 bytes into it (abi-internal) */
	static const uint8_t small[] = {0x49, 0x3b, 0x66, 0x10}; /* cmp 16(%r14), %rsp */
	static const uint8_t large[] = {0x4d, 0x3b, 0x66, 0x10}; /* cmp 16(%r14), %r12 */
	size_t at = 0;

	if (left >= sizeof(small) && !memcmp(code, small, sizeof(small))) {
		at = sizeof(small);
	} else if (isa_read(insn, code, left) && is_one(insn, 0x8d) && reg_register(insn) == 12 &&
		   left - insn->length >= sizeof(large) &&
		   !memcmp(code + insn->length, large, sizeof(large))) {
		at = insn->length + sizeof(large); /* lea -N(%rsp), %r12 */
	} else {
		return 0;
	}
	if (!isa_read(insn, code + at, left - at) || isa_flow(insn) != ISA_FLOW_BRANCH)
		return 0;
	return at;
}

size_t isa_go_stack_jump(const uint8_t *code, size_t left)
{
	struct isa_insn insn;

	return go_stack_jump(code, left, &insn);
}

size_t isa_go_stack_check(const uint8_t *code, size_t left)
{
	struct isa_insn insn;
	size_t at = go_stack_jump(code, left, &insn);

	return at ? at + insn.length : 0;
}
