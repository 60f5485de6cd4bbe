// SPDX-License-Identifier: Apache-2.0
/*
 * Whether an instruction could get at the return address on the stack.
 *
 * A function is sealed as far as it has only moved the stack pointer by numbers that the
 * instructions say, has let no address of its stack, nor its caller's frame pointer, into another
 * register or into memory, and has touched nothing but places below its return address. What it
 * calls then has no way to there either, as it gets no address. What is not understood is not
 * sealed.
 */
#include "arch/isa.h"
#include "arch/insn.h"

#define FRAME_MAX (1 << 24)

/* As instructions number them. */
#define RSP 4
#define RBP 5

/* As struct insn numbers them (DWARF). */
#define DWARF_RBP 6
#define DWARF_RSP 7

/* General registers that ModRM, the opcode, or a VEX prefix name. */
struct named {
	bool rsp, rbp;
};

static uint8_t group(const struct isa_insn *isa)
{
	return isa->modrm >> 3 & 7;
}

static bool has_memory(const struct isa_insn *isa)
{
	return isa->has_modrm && isa->modrm < 0xc0;
}

static bool is_of_bytes(const struct isa_insn *isa)
{
	uint8_t o = isa->opcode;

	if (isa->map == 2)
		return (o >= 0x90 && o <= 0x9f) || o == 0xb0 || o == 0xc0;
	if (o < 0x40)
		return !(o & 1);
	return (o >= 0xb0 && o <= 0xb7) || (((o >= 0x80 && o <= 0x8a) || o >= 0xc0) && !(o & 1));
}

static void name(struct named *named, int number)
{
	named->rsp |= number == RSP;
	named->rbp |= number == RBP;
}

/* Whether ModRM's reg, and its rm, are general registers: for those of the second table. */
static bool is_reg_general(const struct isa_insn *isa)
{
	uint8_t o = isa->opcode;

	if (o == 0x2c || o == 0x2d || o == 0x50 || o == 0xc5 || o == 0xd7)
		return true;
	if (isa->vex) /* conversions, kmov */
		return o == 0x78 || o == 0x79 || o == 0x93;
	return (o >= 0x40 && o <= 0x4f) || (o >= 0xa3 && o <= 0xbf) || o <= 0x0f ||
	       (o >= 0xc0 && o <= 0xc3 && o != 0xc2);
}

static bool is_rm_general(const struct isa_insn *isa)
{
	uint8_t o = isa->opcode;

	if (o == 0x2a || o == 0x6e || o == 0x7e || o == 0xc4)
		return true;
	if (isa->vex)
		return o == 0x7b || o == 0x92;
	return (o >= 0x40 && o <= 0x4f) || (o >= 0x90 && o <= 0xc1) || o <= 0x0f || o == 0xc3 ||
	       o == 0xc7;
}

/* Which of the two are named as operands, not as parts of an address. */
static struct named name_operands(const struct isa_insn *isa)
{
	int reg = group(isa) | (isa->rex & 4) << 1, rm = (isa->modrm & 7) | (isa->rex & 1) << 3;
	bool rm_is_register = isa->has_modrm && isa->modrm >= 0xc0;
	struct named named = {false, false};
	uint8_t o = isa->opcode;

	/* ah to bh */
	if (!isa->vex && isa->map <= 2 && !isa->rex && is_of_bytes(isa))
		return named;
	if (isa->map == 1) {
		if (!isa->has_modrm && ((o >= 0x50 && o <= 0x5f) || (o >= 0x90 && o <= 0x97) ||
					(o >= 0xb0 && o <= 0xbf)))
			name(&named, (o & 7) | (isa->rex & 1) << 3);
		if (!isa->has_modrm || (o >= 0xd8 && o <= 0xdf))
			return named;
		if (o < 0x40 || o == 0x63 || o == 0x69 || o == 0x6b || (o >= 0x84 && o <= 0x8d))
			name(&named, reg);
		if (rm_is_register)
			name(&named, rm);
	} else if (isa->map == 2) {
		if (!isa->vex && o >= 0xc8 && o <= 0xcf)
			name(&named, (o & 7) | (isa->rex & 1) << 3);
		if (isa->has_modrm && is_reg_general(isa))
			name(&named, reg);
		if (rm_is_register && is_rm_general(isa))
			name(&named, rm);
	} else if (isa->map == 3) {
		/* movbe, crc32, adcx; behind VEX andn, bextr, shlx …; vpbroadcast */
		if (o >= 0xe0) {
			name(&named, reg);
			if (isa->vex)
				name(&named, isa->vvvv);
		}
		if (rm_is_register && (o >= 0xe0 || (isa->vex && o >= 0x7a && o <= 0x7c)))
			name(&named, rm);
	} else if (isa->map == 4) {
		if (o == 0xf0)
			name(&named, reg);
		if (rm_is_register &&
		    (o == 0xf0 || o == 0x20 || o == 0x22 || (o >= 0x14 && o <= 0x17)))
			name(&named, rm);
	} else {
		name(&named, reg);
		name(&named, rm);
	}
	return named;
}

/* The most bytes that a vector instruction of the second table reads or writes. */
static int32_t vector_bytes(const struct isa_insn *isa)
{
	bool is_single = isa->prefixes & ISA_PREFIX_F3, is_double = isa->prefixes & ISA_PREFIX_F2;
	uint8_t o = isa->opcode;

	if (o == 0x2a || o == 0x6e || o == 0x7e)
		return 8;
	/* moves and sums of one number */
	if (o == 0x10 || o == 0x11 || o == 0x2c || o == 0x2d || o == 0x51 || o == 0x58 ||
	    o == 0x59 || o == 0x5a || (o >= 0x5c && o <= 0x5f) || o == 0xc2)
		if (is_single || is_double)
			return is_single ? 4 : 8;
	if (o == 0x2e || o == 0x2f)
		return isa->prefixes & ISA_PREFIX_66 ? 8 : 4;
	if (isa->vex)
		return 64;
	if (o == 0x12 || o == 0x13 || o == 0x16 || o == 0x17 || o == 0xd6)
		return is_single ? 16 : 8;
	return 16;
}

/* How many bytes of memory it may touch; 0: that is not known. */
static int32_t bytes_of(const struct isa_insn *isa)
{
	int32_t word = isa->rex & 8 ? 8 : isa->prefixes & ISA_PREFIX_66 ? 2 : 4;
	uint8_t o = isa->opcode;

	if (isa->map == 2 && !isa->vex) {
		if (o == 0xae) /* stmxcsr and its like, not fxsave */
			return group(isa) == 2 || group(isa) == 3 ? 4 : 0;
		if (o == 0xc7)
			return group(isa) == 1 ? 16 : 0;
		if (is_of_bytes(isa) || o == 0xb6 || o == 0xbe)
			return 1;
		if (o == 0xa3 || o == 0xab || o == 0xb3 || o == 0xbb) /* bt: anywhere */
			return 0;
		if ((o >= 0x40 && o <= 0x4f) || (o >= 0xa4 && o <= 0xc1) || o == 0xc3)
			return word;
		return o < 0x10 ? 0 : vector_bytes(isa);
	}
	if (isa->map == 2)
		return vector_bytes(isa);
	if (isa->map == 3 || isa->map == 4)
		return isa->vex ? 64 : 16;
	if (isa->map != 1)
		return 0;
	if (o >= 0xd8 && o <= 0xdf) /* fldenv, frstor; fld of ten bytes */
		return (o == 0xd9 || o == 0xdd) && (group(isa) == 4 || group(isa) == 6) ? 108 : 10;
	if (o == 0x8f || (o == 0xff && group(isa) >= 2))
		return 8;
	return is_of_bytes(isa) ? 1 : word;
}

/*
 * How far below the return address's place the memory begins that ModRM says; false: it is none of
 * the stack. *is_sealed: whether its address says nothing of the stack, or is fully known.
 */
static bool find_place(const struct isa_sealed *s, const struct isa_insn *isa, int64_t *place,
		       bool *is_sealed)
{
	uint8_t mod = isa->modrm >> 6, base = isa->modrm & 7;
	bool has_index = false, is_index_rbp = false;

	*is_sealed = true;
	if (base == 4) {
		int index = (isa->sib >> 3 & 7) | (isa->rex & 2) << 2;

		has_index = index != 4;
		is_index_rbp = index == RBP;
		base = isa->sib & 7;
	}
	if (is_index_rbp && s->fp != ISA_SEALED_OTHER)
		*is_sealed = false;
	if (isa->rex & 1 || (!mod && base == RBP) || (base != RSP && base != RBP) ||
	    (base == RBP && s->fp == ISA_SEALED_OTHER))
		return false;
	if (has_index || isa->is_scaled || isa->prefixes & (ISA_PREFIX_67 | ISA_PREFIX_FS_GS) ||
	    (base == RBP && s->fp < 0)) {
		*is_sealed = false;
		return false;
	}
	*place = (int64_t)(base == RSP ? s->sp : s->fp) - isa->displacement;
	return true;
}

/*
 * Does it keep to its own part of the stack, and to what is not its caller's frame pointer there?
 */
static bool keeps_to_own(const struct isa_sealed *s, const struct isa_insn *isa)
{
	int32_t bytes = bytes_of(isa);
	bool is_sealed;
	int64_t place;

	if (!has_memory(isa))
		return true;
	if (!find_place(s, isa, &place, &is_sealed))
		return is_sealed;
	return bytes && place >= bytes &&
	       (!s->saved || place <= s->saved - 8 || place - bytes >= s->saved);
}

/* The stack pointer goes up or down to there. */
static bool go_to(struct isa_sealed *s, int64_t sp)
{
	if (sp < 0 || sp > FRAME_MAX || sp % 8)
		return false;
	/* a word that is not there any more may not be read from there */
	if (s->saved > sp) {
		if (s->fp != ISA_SEALED_CALLERS)
			return false;
		s->saved = 0;
	}
	s->sp = (int32_t)sp;
	return true;
}

static bool step_push(struct isa_sealed *s, const struct isa_insn *isa, const struct insn *insn,
		      struct named named)
{
	if (insn->is_short || named.rsp || !keeps_to_own(s, isa))
		return false;
	if (named.rbp && s->fp != ISA_SEALED_OTHER) {
		if (s->fp != ISA_SEALED_CALLERS || s->saved)
			return false;
		s->saved = s->sp + 8;
	}
	return go_to(s, (int64_t)s->sp + 8);
}

/* false: it may be the return address, or what is not the program's to have elsewhere. */
static bool step_pop(struct isa_sealed *s, const struct isa_insn *isa, const struct insn *insn,
		     struct named named)
{
	bool is_saved = s->sp && s->sp == s->saved;

	if (insn->is_short || s->sp < 8 || named.rsp || has_memory(isa) || (is_saved && !named.rbp))
		return false;
	if (named.rbp) {
		s->fp = is_saved ? ISA_SEALED_CALLERS : ISA_SEALED_OTHER;
		if (is_saved)
			s->saved = 0;
	}
	return go_to(s, (int64_t)s->sp - 8);
}

static bool step_leave(struct isa_sealed *s)
{
	if (s->fp < 8 || s->fp != s->saved || s->fp > s->sp)
		return false;
	s->sp = s->fp - 8;
	s->fp = ISA_SEALED_CALLERS;
	s->saved = 0;
	return true;
}

/* mov and lea to the stack pointer, or to the frame pointer from the stack pointer. */
static bool step_to_stack(struct isa_sealed *s, int64_t place, bool to_rsp)
{
	if (to_rsp)
		return place >= 0 && place <= s->sp + FRAME_MAX && go_to(s, place);
	if (place < 8 || place > FRAME_MAX)
		return false;
	s->fp = (int32_t)place;
	return true;
}

static bool is_register(const struct insn_operand *o, int8_t reg)
{
	return o->where == INSN_REGISTER && o->reg == reg && o->size == 8;
}

static bool step_move(struct isa_sealed *s, const struct isa_insn *isa, const struct insn *insn)
{
	bool to_rsp = is_register(&insn->to, DWARF_RSP), to_rbp = is_register(&insn->to, DWARF_RBP);
	bool from_rsp = is_register(&insn->from, DWARF_RSP);
	bool from_rbp = is_register(&insn->from, DWARF_RBP);
	bool is_sealed;
	int64_t place;

	if (to_rbp && from_rsp)
		return step_to_stack(s, s->sp, false);
	if (to_rsp)
		return from_rbp && s->fp >= 0 && step_to_stack(s, s->fp, true);
	if (from_rsp || (from_rbp && s->fp != ISA_SEALED_OTHER))
		return false;
	/* its caller's frame pointer comes back */
	if (to_rbp && has_memory(isa) && s->saved && find_place(s, isa, &place, &is_sealed) &&
	    place == s->saved) {
		s->fp = ISA_SEALED_CALLERS;
		return true;
	}
	if (!keeps_to_own(s, isa))
		return false;
	if (to_rbp)
		s->fp = ISA_SEALED_OTHER;
	return true;
}

static bool step_lea(struct isa_sealed *s, const struct isa_insn *isa, const struct insn *insn)
{
	bool to_rsp = is_register(&insn->to, DWARF_RSP), to_rbp = is_register(&insn->to, DWARF_RBP);
	bool is_sealed, is_stack;
	int64_t place;

	is_stack = find_place(s, isa, &place, &is_sealed);
	if (!is_sealed)
		return false;
	if (is_stack)
		return (to_rsp || to_rbp) && step_to_stack(s, place, to_rsp);
	if (insn->writes & 1u << DWARF_RBP)
		s->fp = ISA_SEALED_OTHER;
	return !(insn->writes & 1u << DWARF_RSP);
}

/* Whether it makes rbp new, from nothing that it was. */
static bool makes_rbp(const struct isa_insn *isa, const struct insn *insn)
{
	uint8_t o = isa->opcode;
	bool is_from_rm =
		isa->map == 1 ? o == 0x63
			      : isa->map == 2 && (o == 0xb6 || o == 0xb7 || o == 0xbe || o == 0xbf);

	if (isa->vex)
		return false;
	if (insn->to.where == INSN_REGISTER && insn->to.reg == DWARF_RBP && insn->to.size >= 4)
		return (insn->kind == INSN_XOR && insn->from.where == INSN_REGISTER &&
			insn->from.reg == DWARF_RBP) ||
		       (insn->kind == INSN_MOVE &&
			!(insn->from.where == INSN_REGISTER && insn->from.reg == DWARF_RBP));
	return is_from_rm && group(isa) == RBP && !(isa->rex & 4) &&
	       !(isa->modrm >= 0xc0 && (isa->modrm & 7) == RBP && !(isa->rex & 1)) &&
	       !(isa->modrm >= 0xc0 && (isa->modrm & 7) == RSP && !(isa->rex & 1));
}

static bool step_other(struct isa_sealed *s, const struct isa_insn *isa, const struct insn *insn,
		       struct named named)
{
	bool is_new = named.rbp && makes_rbp(isa, insn);

	if ((insn->kind == INSN_ADD || insn->kind == INSN_SUB) &&
	    is_register(&insn->to, DWARF_RSP) && insn->from.where == INSN_NUMBER)
		return go_to(s, insn->kind == INSN_SUB ? s->sp + insn->from.number
						       : s->sp - insn->from.number);
	if (named.rsp || (named.rbp && !is_new && s->fp != ISA_SEALED_OTHER) ||
	    insn->writes & 1u << DWARF_RSP || !keeps_to_own(s, isa))
		return false;
	if (insn->writes & 1u << DWARF_RBP)
		s->fp = ISA_SEALED_OTHER;
	return true;
}

bool isa_sealed_step(struct isa_sealed *s, const struct isa_insn *isa, const uint8_t *code)
{
	struct named named = name_operands(isa);
	struct insn insn;

	if (isa_is_system_call(isa) || !insn_read(&insn, code, isa->length, 0))
		return false;
	switch (insn.kind) {
	case INSN_PUSH:
		return step_push(s, isa, &insn, named);
	case INSN_POP:
		return step_pop(s, isa, &insn, named);
	case INSN_LEAVE:
		return step_leave(s);
	case INSN_LEA:
		return step_lea(s, isa, &insn);
	case INSN_NOP:
		return true;
	case INSN_MOVE:
		if (insn.to.size == 8)
			return step_move(s, isa, &insn);
		break;
	}
	return step_other(s, isa, &insn, named);
}

bool isa_sealed_join(struct isa_sealed *s, const struct isa_sealed *other, bool *changes)
{
	*changes = false;
	if (s->sp != other->sp || s->saved != other->saved)
		return false;
	if (s->fp != other->fp && s->fp != ISA_SEALED_UNKNOWN) {
		s->fp = ISA_SEALED_UNKNOWN;
		*changes = true;
	}
	return true;
}
