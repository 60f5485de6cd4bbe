// SPDX-License-Identifier: Apache-2.0
#include "arch/insn.h"

#include <string.h>

#include "arch/x86_64/read.h"

/* As instructions number them. */
enum {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R11 = 11,
};

/*
 * Which general registers an instruction writes, by its opcode (Intel SDM, volume 2):
 *
 *	.	none
 *	m r	that of ModRM's rm, or of its reg
 *	x	both
 *	o	the one in the opcode
 *	a d p	rax, rdx, both
 *	s	something else: written_specially()
 */
static const char one_byte[] = "mmrraa..mmrraa.." /* 00 */
			       "mmrraa..mmrraa.." /* 10 */
			       "mmrraa..mmrraa.." /* 20 */
			       "mmrraa.........." /* 30 */
			       "................" /* 40 */
			       "........oooooooo" /* 50 */
			       "...r.....r.r...." /* 60 */
			       "................" /* 70 */
			       "ss.s..xxmmrrmr.m" /* 80 */
			       "ssssssssad.....a" /* 90 */
			       "aa..ssss..ssssss" /* a0 */
			       "oooooooooooooooo" /* b0 */
			       "mm....msss......" /* c0 */
			       "mmmm...a.......s" /* d0 */
			       "sss............." /* e0 */
			       "......ss......ss" /* f0 */;

static const char two_bytes[] = "ssrr.s.........." /* 00 */
				"..............s." /* 10 */
				"............ss.." /* 20 */
				".p.p............" /* 30 */
				"rrrrrrrrrrrrrrrr" /* 40 */
				"r..............." /* 50 */
				"................" /* 60 */
				"..............s." /* 70 */
				"................" /* 80 */
				"mmmmmmmmmmmmmmmm" /* 90 */
				"..s.mm.....mmmsr" /* a0 */
				"ssrmrrrrr.smrrrr" /* b0 */
				"xx...r.soooooooo" /* c0 */
				".......r........" /* d0 */
				"................" /* e0 */
				"................" /* f0 */;

static uint16_t bit(int reg)
{
	static const uint8_t dwarf[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

	return (uint16_t)(1u << dwarf[reg & 15]);
}

static int8_t dwarf_of(int reg)
{
	return (int8_t)__builtin_ctz(bit(reg));
}

static uint8_t group(const struct isa_insn *isa)
{
	return isa->modrm >> 3 & 7;
}

static bool is_register_form(const struct isa_insn *isa)
{
	return isa->has_modrm && isa->modrm >= 0xc0;
}

/* Whether the operands are bytes. */
static bool is_of_bytes(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	if (isa->vex)
		return false;
	if (isa->map == 2)
		return (o >= 0x90 && o <= 0x9f) || o == 0xb0 || o == 0xc0;
	if (isa->map != 1)
		return false;
	if (o < 0x40)
		return !(o & 1);
	switch (o) {
	case 0x80:
	case 0x84:
	case 0x86:
	case 0x88:
	case 0x8a:
	case 0xc0:
	case 0xc6:
	case 0xd0:
	case 0xd2:
	case 0xf6:
	case 0xfe:
		return true;
	default:
		return o >= 0xb0 && o <= 0xb7;
	}
}

/* Of a number of three bits and one of REX; without REX, the last four bytes are ah to bh. */
static int numbered(const struct isa_insn *isa, int low, int high, bool of_bytes)
{
	if (of_bytes && !isa->rex && low >= 4)
		return low - 4;
	return low | high << 3;
}

static int rm_of(const struct isa_insn *isa)
{
	return numbered(isa, isa->modrm & 7, isa->rex & 1, is_of_bytes(isa));
}

static int reg_of(const struct isa_insn *isa)
{
	return numbered(isa, group(isa), isa->rex >> 2 & 1, is_of_bytes(isa));
}

static int opcode_register(const struct isa_insn *isa)
{
	return numbered(isa, isa->opcode & 7, isa->rex & 1, is_of_bytes(isa));
}

static uint16_t rm_bit(const struct isa_insn *isa)
{
	return is_register_form(isa) ? bit(rm_of(isa)) : 0;
}

static uint16_t strings(const struct isa_insn *isa)
{
	uint16_t written = isa->prefixes & (ISA_PREFIX_F2 | ISA_PREFIX_F3) ? bit(RCX) : 0;

	switch (isa->opcode & 0xfe) {
	case 0xa4: /* movs, cmps */
	case 0xa6:
		return written | bit(RSI) | bit(RDI);
	case 0xaa: /* stos, scas */
	case 0xae:
		return written | bit(RDI);
	default: /* lods */
		return written | bit(RSI) | bit(RAX);
	}
}

static uint16_t special_one_byte(const struct isa_insn *isa)
{
	switch (isa->opcode) {
	case 0x80: /* but not cmp */
	case 0x81:
	case 0x83:
		return group(isa) == 7 ? 0 : rm_bit(isa);
	case 0xc7: /* mov, xbegin */
		return isa->modrm == 0xf8 ? bit(RAX) : rm_bit(isa);
	case 0xc8: /* enter, leave */
	case 0xc9:
		return bit(RSP) | bit(RBP);
	case 0xdf: /* fnstsw */
		return isa->modrm == 0xe0 ? bit(RAX) : 0;
	case 0xe0:
	case 0xe1:
	case 0xe2:
		return bit(RCX);
	case 0xf6:
	case 0xf7:
		if (group(isa) < 4)
			return group(isa) < 2 ? 0 : rm_bit(isa);
		return isa->opcode == 0xf6 ? bit(RAX) : bit(RAX) | bit(RDX);
	case 0xfe:
	case 0xff:
		return group(isa) < 2 ? rm_bit(isa) : 0;
	default:
		if (isa->opcode >= 0xa4)
			return strings(isa);
		/* xchg: not nop, and not pause */
		return isa->opcode == 0x90 && !(isa->rex & 1)
			       ? 0
			       : bit(RAX) | bit(opcode_register(isa));
	}
}

static uint16_t special_two_bytes(const struct isa_insn *isa)
{
	const uint16_t prefixes = isa->prefixes;

	switch (isa->opcode) {
	case 0x00: /* sldt, str */
		return group(isa) < 2 ? rm_bit(isa) : 0;
	case 0x01: /* smsw; xgetbv, rdtscp */
		if (group(isa) == 4)
			return rm_bit(isa);
		if (isa->modrm == 0xf9)
			return bit(RAX) | bit(RDX) | bit(RCX);
		return isa->modrm == 0xd0 ? bit(RAX) | bit(RDX) : 0;
	case 0x05: /* syscall */
		return bit(RAX) | bit(RCX) | bit(R11);
	case 0x1e: /* rdssp */
		return prefixes & ISA_PREFIX_F3 && group(isa) == 1 ? rm_bit(isa) : 0;
	case 0x2c: /* conversions to integers, and not to MMX registers */
	case 0x2d:
		return prefixes & (ISA_PREFIX_F2 | ISA_PREFIX_F3) ? bit(reg_of(isa)) : 0;
	case 0x7e: /* movd, and not movq */
		return prefixes & ISA_PREFIX_F3 ? 0 : rm_bit(isa);
	case 0xa2:
		return bit(RAX) | bit(RBX) | bit(RCX) | bit(RDX);
	case 0xae: /* rdfsbase */
		return prefixes & ISA_PREFIX_F3 && group(isa) < 2 ? rm_bit(isa) : 0;
	case 0xb0: /* cmpxchg */
	case 0xb1:
		return rm_bit(isa) | bit(RAX);
	case 0xba: /* bts and so on, and not bt */
		return group(isa) > 4 ? rm_bit(isa) : 0;
	default: /* c7: cmpxchg16b; rdrand */
		if (is_register_form(isa))
			return group(isa) > 5 ? rm_bit(isa) : 0;
		return group(isa) == 1 ? bit(RAX) | bit(RDX) : 0;
	}
}

static uint16_t written_by_code(const struct isa_insn *isa, char what)
{
	switch (what) {
	case 'm':
		return rm_bit(isa);
	case 'r':
		return bit(reg_of(isa));
	case 'x':
		return rm_bit(isa) | bit(reg_of(isa));
	case 'o':
		return bit(opcode_register(isa));
	case 'a':
		return bit(RAX);
	case 'd':
		return bit(RDX);
	case 'p':
		return bit(RAX) | bit(RDX);
	default:
		return 0;
	}
}

/* Behind 0f 3a, with VEX or without: pextr, extractps; what counts characters; rorx. */
static uint16_t written_of_map_4(const struct isa_insn *isa)
{
	if (isa->opcode >= 0x14 && isa->opcode <= 0x17)
		return rm_bit(isa);
	if (isa->opcode == 0x61 || isa->opcode == 0x63)
		return bit(RCX);
	return isa->opcode == 0xf0 ? bit(reg_of(isa)) : 0;
}

/* Most instructions with VEX and EVEX only work on vectors, masks and memory. */
static uint16_t written_by_vex(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	if (isa->map == 4)
		return written_of_map_4(isa);
	if (isa->map == 3) {
		if (o == 0xf3) /* blsr and so on */
			return bit(isa->vvvv);
		if (o == 0xf6 || (o >= 0xe0 && o <= 0xef)) /* mulx, cmpccxadd */
			return bit(reg_of(isa)) | bit(isa->vvvv);
		return o >= 0xf2 ? bit(reg_of(isa)) : 0;
	}
	if (isa->map != 2)
		return 0;
	switch (o) {
	case 0x2c: /* conversions to integers, */
	case 0x2d:
	case 0x50: /* vmovmskps, */
	case 0x93: /* kmov, */
	case 0xc5: /* vpextrw, */
	case 0xd7: /* vpmovmskb, */
		return bit(reg_of(isa));
	case 0x78: /* the former without sign, and not from vectors to vectors */
	case 0x79:
		return isa->prefixes & (ISA_PREFIX_F2 | ISA_PREFIX_F3) ? bit(reg_of(isa)) : 0;
	case 0x7e: /* vmovd, and not vmovq */
		return isa->prefixes & ISA_PREFIX_F3 ? 0 : rm_bit(isa);
	default:
		return 0;
	}
}

static uint16_t written(const struct isa_insn *isa)
{
	char what;

	if (isa->vex)
		return written_by_vex(isa);
	if (isa->map == 4)
		return written_of_map_4(isa);
	if (isa->map == 3) /* movbe, crc32; adcx, adox */
		return (isa->opcode == 0xf0 ||
			(isa->opcode == 0xf1 && isa->prefixes & ISA_PREFIX_F2) ||
			(isa->opcode == 0xf6 && isa->prefixes & (ISA_PREFIX_66 | ISA_PREFIX_F3)))
			       ? bit(reg_of(isa))
			       : 0;
	what = isa->map == 1 ? one_byte[isa->opcode] : two_bytes[isa->opcode];
	if (what == 's')
		return isa->map == 1 ? special_one_byte(isa) : special_two_bytes(isa);
	return written_by_code(isa, what);
}

/* Bytes of an operand. */
static uint8_t size_of(const struct isa_insn *isa)
{
	if (is_of_bytes(isa))
		return 1;
	if (isa->rex & 8)
		return 8;
	return isa->prefixes & ISA_PREFIX_66 ? 2 : 4;
}

static struct insn_operand in_register(int reg, uint8_t size)
{
	return (struct insn_operand){
		.where = INSN_REGISTER, .size = size, .reg = dwarf_of(reg), .base = -1};
}

/* ModRM's memory: what has an index, a segment or no base is not followed. */
static struct insn_operand in_memory(const struct isa_insn *isa, uint8_t size)
{
	const uint8_t mod = isa->modrm >> 6, rm = isa->modrm & 7;
	const uint8_t base = rm == 4 ? isa->sib & 7 : rm;
	struct insn_operand o = {
		.where = INSN_MEMORY,
		.size = size,
		.reg = -1,
		.base = -1,
		.has_index =
			isa->is_scaled || (rm == 4 && ((isa->sib >> 3 & 7) != 4 || isa->rex & 2)),
		.number = isa->displacement,
	};

	if (mod || base != 5)
		o.base = dwarf_of(base | (isa->rex & 1) << 3);
	else if (rm == 5)
		o.base = INSN_BASE_NEXT;
	if (isa->prefixes & (ISA_PREFIX_FS_GS | ISA_PREFIX_67) || (!mod && base == 5))
		return o;
	/* no index is written as rsp */
	if (!o.has_index)
		o.reg = o.base;
	return o;
}

static struct insn_operand rm_operand(const struct isa_insn *isa, uint8_t size)
{
	return is_register_form(isa) ? in_register(rm_of(isa), size) : in_memory(isa, size);
}

static struct insn_operand number(const struct isa_insn *isa, uint8_t size)
{
	return (struct insn_operand){.where = INSN_NUMBER,
				     .size = size,
				     .reg = -1,
				     .base = -1,
				     .number = isa->immediate};
}

/* The eight operations of the first opcodes, and of 80 to 83. */
static uint8_t kind_of_sum(unsigned int operation)
{
	static const uint8_t kinds[] = {INSN_ADD, INSN_OR,  INSN_OTHER, INSN_OTHER,
					INSN_AND, INSN_SUB, INSN_XOR,	INSN_COMPARE};

	return kinds[operation & 7];
}

/* Operands that ModRM says, in the order that the second bit of the opcode says. */
static void decode_both(struct insn *insn, const struct isa_insn *isa, uint8_t kind)
{
	const uint8_t size = size_of(isa);
	struct insn_operand rm = rm_operand(isa, size), reg = in_register(reg_of(isa), size);

	insn->kind = kind;
	insn->to = isa->opcode & 2 ? reg : rm;
	insn->from = isa->opcode & 2 ? rm : reg;
}

static void decode_number(struct insn *insn, const struct isa_insn *isa, uint8_t kind)
{
	insn->kind = kind;
	insn->to = rm_operand(isa, size_of(isa));
	insn->from = number(isa, size_of(isa));
}

/* rax or its lower part, and a number */
static void decode_accumulator(struct insn *insn, const struct isa_insn *isa, uint8_t kind)
{
	const uint8_t size = isa->opcode & 1 ? size_of(isa) : 1;

	insn->kind = kind;
	insn->to = in_register(RAX, size);
	insn->from = number(isa, size);
}

static void decode_stack(struct insn *insn, const struct isa_insn *isa, uint8_t kind)
{
	insn->kind = kind;
	insn->is_short = isa->prefixes & ISA_PREFIX_66;
}

/* mov, lea, push, pop and the sums, of the first table. */
static void look_at_one_byte(struct insn *insn, const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	if (o < 0x40 && (o & 7) < 4) {
		decode_both(insn, isa, kind_of_sum(o >> 3));
		return;
	}
	if (o >= 0x50 && o <= 0x5f) {
		decode_stack(insn, isa, o < 0x58 ? INSN_PUSH : INSN_POP);
		insn->to = in_register(opcode_register(isa), 8);
		return;
	}
	if (o >= 0xb0 && o <= 0xbf) {
		insn->kind = INSN_MOVE;
		insn->to = in_register(opcode_register(isa), size_of(isa));
		insn->from = number(isa, size_of(isa));
		return;
	}
	switch (o) {
	case 0x3c:
	case 0x3d:
		decode_accumulator(insn, isa, INSN_COMPARE);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c:
		decode_stack(insn, isa, INSN_PUSH);
		break;
	case 0x80:
	case 0x81:
	case 0x83:
		decode_number(insn, isa, kind_of_sum(group(isa)));
		break;
	case 0x84:
	case 0x85:
		decode_both(insn, isa, INSN_TEST);
		break;
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
		decode_both(insn, isa, INSN_MOVE);
		break;
	case 0x8c: /* of a segment's register */
		insn->kind = INSN_MOVE;
		insn->to = rm_operand(isa, size_of(isa));
		break;
	case 0x8d:
		decode_both(insn, isa, INSN_LEA);
		insn->to = in_register(reg_of(isa), size_of(isa));
		insn->from = rm_operand(isa, size_of(isa));
		break;
	case 0x8f:
		decode_stack(insn, isa, INSN_POP);
		insn->to = rm_operand(isa, 8);
		break;
	case 0x90:
		if (!(isa->rex & 1) && !(isa->prefixes & ISA_PREFIX_F3))
			insn->kind = INSN_NOP;
		break;
	case 0x9d:
		decode_stack(insn, isa, INSN_POP);
		break;
	case 0xa8:
	case 0xa9:
		decode_accumulator(insn, isa, INSN_TEST);
		break;
	case 0xc6:
	case 0xc7:
		if (!group(isa))
			decode_number(insn, isa, INSN_MOVE);
		break;
	case 0xc9:
		insn->kind = INSN_LEAVE;
		break;
	case 0xf6:
	case 0xf7:
		if (group(isa) < 2)
			decode_number(insn, isa, INSN_TEST);
		break;
	case 0xff:
		if (group(isa) != 6)
			break;
		decode_stack(insn, isa, INSN_PUSH);
		insn->to = rm_operand(isa, 8);
		break;
	}
}

static void look_at_two_bytes(struct insn *insn, const struct isa_insn *isa)
{
	switch (isa->opcode) {
	case 0x05:
		insn->kind = INSN_SYSTEM_CALL;
		break;
	case 0x1f:
		insn->kind = INSN_NOP;
		break;
	case 0xa0: /* fs, gs */
	case 0xa8:
		decode_stack(insn, isa, INSN_PUSH);
		break;
	case 0xa1:
	case 0xa9:
		decode_stack(insn, isa, INSN_POP);
		break;
	}
}

static void look_at_flow(struct insn *insn, const struct isa_insn *isa, uint64_t address)
{
	static const uint8_t kinds[] = {
		[ISA_FLOW_CALL] = INSN_CALL,	 [ISA_FLOW_CALL_INDIRECT] = INSN_CALL,
		[ISA_FLOW_JUMP] = INSN_JUMP,	 [ISA_FLOW_JUMP_INDIRECT] = INSN_JUMP,
		[ISA_FLOW_BRANCH] = INSN_BRANCH, [ISA_FLOW_RETURN] = INSN_STOP,
		[ISA_FLOW_STOP] = INSN_STOP,
	};
	enum isa_flow flow = isa_flow(isa);

	if (flow == ISA_FLOW_NEXT)
		return;
	insn->kind = isa_is_plain_return(isa) ? INSN_RETURN : kinds[flow];
	insn->has_target =
		flow == ISA_FLOW_CALL || flow == ISA_FLOW_JUMP || flow == ISA_FLOW_BRANCH;
	if (!insn->has_target)
		return;
	insn->target = isa_target(isa, address);
	insn->calls_next = flow == ISA_FLOW_CALL && !isa->immediate;
}

bool insn_read(struct insn *insn, const uint8_t *code, size_t left, uint64_t address)
{
	struct isa_insn isa;

	if (!isa_read(&isa, code, left))
		return false;
	*insn = (struct insn){.size = isa.length, .writes = written(&isa)};
	if (isa.vex)
		return true;
	if (isa.map == 1)
		look_at_one_byte(insn, &isa);
	else if (isa.map == 2)
		look_at_two_bytes(insn, &isa);
	look_at_flow(insn, &isa, address);
	return true;
}

/* -- what is stored ---------------------------------------------------------------------------- */

static bool stores_of_one_byte(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	if (o < 0x40)
		return (o & 7) < 2 && o < 0x38;
	if (o >= 0xd8 && o <= 0xdf) /* of x87: some of these load */
		return o & 1 && group(isa);
	switch (o) {
	case 0x80:
	case 0x81:
	case 0x83:
		return group(isa) != 7;
	case 0x86:
	case 0x87:
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
		return true;
	case 0xf6:
	case 0xf7:
		return group(isa) == 2 || group(isa) == 3;
	case 0xfe:
	case 0xff:
		return group(isa) < 2;
	default:
		return false;
	}
}

/* Of the second table, and with VEX, where the first ones of these are. */
static bool stores_of_two_bytes(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	switch (o) {
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7f:
	case 0xd6:
	case 0xe7:
		return true;
	case 0x7e:
		return !(isa->prefixes & ISA_PREFIX_F3);
	case 0x91: /* kmov, setno */
		return true;
	}
	if (isa->vex)
		return false;
	if (o >= 0x90 && o <= 0x9f)
		return true;
	switch (o) {
	case 0x01:
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xbb:
	case 0xc0:
	case 0xc1:
	case 0xc3:
	case 0xc7:
		return true;
	case 0xae: /* of fxsave, stmxcsr, xsave, xsaveopt */
		return group(isa) == 0 || group(isa) == 3 || group(isa) == 4 || group(isa) == 6;
	case 0xba:
		return group(isa) > 4;
	default:
		return false;
	}
}

static bool may_store(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	switch (isa->map) {
	case 1:
		return isa->vex || stores_of_one_byte(isa);
	case 2:
		return stores_of_two_bytes(isa);
	case 3: /* movbe, wrss; with VEX: of a mask, compressed, made shorter, scattered */
		if (!isa->vex)
			return (o == 0xf1 && !(isa->prefixes & ISA_PREFIX_F2)) || o >= 0xf5;
		return isa->prefixes & ISA_PREFIX_F3 || o == 0x2e || o == 0x2f || o == 0x63 ||
		       o == 0x8a || o == 0x8b || o == 0x8e || (o >= 0xa0 && o <= 0xa3);
	case 4: /* pextr and so on; parts of larger vectors */
		return (o >= 0x14 && o <= 0x17) ||
		       (isa->vex &&
			(o == 0x19 || o == 0x1b || o == 0x1d || o == 0x39 || o == 0x3b));
	default:
		return true;
	}
}

/* The most bytes that are stored. */
static uint8_t stored_bytes(const struct isa_insn *isa)
{
	const uint8_t o = isa->opcode;

	if (isa->vex)
		return 64;
	if (isa->map == 1)
		return o >= 0xd8 && o <= 0xdf ? 108 : size_of(isa);
	if (isa->map != 2)
		return isa->map == 3 ? 8 : 16;
	if (o == 0x11)
		return isa->prefixes & ISA_PREFIX_F3 ? 4 : isa->prefixes & ISA_PREFIX_F2 ? 8 : 16;
	if (o == 0x13 || o == 0x17 || o == 0x7e || o == 0xd6)
		return 8;
	if (o < 0x90 || o == 0xe7 || o == 0xc7)
		return 16;
	return o == 0xae ? 255 : size_of(isa);
}

struct insn_operand insn_stores(const uint8_t *code, size_t left)
{
	struct isa_insn isa;

	if (!isa_read(&isa, code, left) || !isa.has_modrm || is_register_form(&isa) ||
	    !may_store(&isa))
		return (struct insn_operand){.where = INSN_NOWHERE};
	return in_memory(&isa, stored_bytes(&isa));
}

size_t insn_sigreturn(const uint8_t *code, size_t left)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};

	/* mov $15, %rax; syscall */
	if (left >= sizeof(wide) && !memcmp(code, wide, sizeof(wide)))
		return sizeof(wide);
	/* mov $15, %eax; syscall */
	return left >= sizeof(narrow) && !memcmp(code, narrow, sizeof(narrow)) ? sizeof(narrow) : 0;
}
