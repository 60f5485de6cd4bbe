// SPDX-License-Identifier: Apache-2.0
/* Where an instruction of x86-64 ends, and where it leads to. What else it does: insn.c. */
#include "arch/x86_64/read.h"

#define LENGTH_MAX 15

/*
 * What follows each opcode:
 *
 *	N	nothing
 *	M	ModRM
 *	B W Z	an operand of 1 byte, of 2, of 2 or 4 by the size of operands
 *	b z	ModRM and such an operand
 *	w	W and B
 *	F f	an operand that depends on the opcode; behind ModRM
 *	X	not an instruction of 64-bit programs
 *	P	it is a prefix, or leads to another table
 */
static const char one_byte[] = "MMMMBZXXMMMMBZXP" /* 00 */
			       "MMMMBZXXMMMMBZXX" /* 10 */
			       "MMMMBZPXMMMMBZPX" /* 20 */
			       "MMMMBZPXMMMMBZPX" /* 30 */
			       "PPPPPPPPPPPPPPPP" /* 40 */
			       "NNNNNNNNNNNNNNNN" /* 50 */
			       "XXPMPPPPZzBbXXXX" /* 60 */
			       "BBBBBBBBBBBBBBBB" /* 70 */
			       "bzXbMMMMMMMMMMMM" /* 80 */
			       "NNNNNNNNNNXNNNNN" /* 90 */
			       "FFFFNNNNBZNNNNNN" /* a0 */
			       "BBBBBBBBFFFFFFFF" /* b0 */
			       "bbWNPPbzwNWNNBXN" /* c0 */
			       "MMMMXXXNMMMMMMMM" /* d0 */
			       "BBBBXXXXFFXBXXXX" /* e0 */
			       "PNPPNNffNNXXNNMM" /* f0 */;

static const char two_bytes[] = "MMMMXNXXXXXNXMNb" /* 00 */
				"MMMMMMMMMMMMMMMM" /* 10 */
				"XXXXXXXXMMMMMMMM" /* 20 */
				"XNNNNNXNPXPXXXXX" /* 30 */
				"MMMMMMMMMMMMMMMM" /* 40 */
				"MMMMMMMMMMMMMMMM" /* 50 */
				"MMMMMMMMMMMMMMMM" /* 60 */
				"bbbbMMMNMMMMMMMM" /* 70 */
				"FFFFFFFFFFFFFFFF" /* 80 */
				"MMMMMMMMMMMMMMMM" /* 90 */
				"NNNMbMXXNNXMbMMM" /* a0 */
				"MMMMMMMMMMbMMMMM" /* b0 */
				"MMbMbbbMNNNNNNNN" /* c0 */
				"MMMMMMMMMMMMMMMM" /* d0 */
				"MMMMMMMMMMMMMMMM" /* e0 */
				"MMMMMMMMMMMMMMMM" /* f0 */;

struct reader {
	const uint8_t *code;
	size_t at, left; /* left: of the whole instruction */
	bool failed;
};

static uint8_t next(struct reader *r)
{
	if (r->at >= r->left) {
		r->failed = true;
		return 0;
	}
	return r->code[r->at++];
}

static int64_t number(struct reader *r, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)next(r) << 8 * i;
	switch (size) {
	case 1:
		return (int8_t)value;
	case 2:
		return (int16_t)value;
	case 4:
		return (int32_t)value;
	}
	return (int64_t)value;
}

static bool read_prefix(struct isa_insn *insn, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		insn->prefixes |= ISA_PREFIX_66;
		return true;
	case 0x67:
		insn->prefixes |= ISA_PREFIX_67;
		return true;
	case 0xf2:
		insn->prefixes |= ISA_PREFIX_F2;
		return true;
	case 0xf3:
		insn->prefixes |= ISA_PREFIX_F3;
		return true;
	case 0xf0:
		insn->prefixes |= ISA_PREFIX_LOCK;
		return true;
	case 0x3e:
		insn->prefixes |= ISA_PREFIX_DS | ISA_PREFIX_CS_DS_ES_SS;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
		insn->prefixes |= ISA_PREFIX_CS_DS_ES_SS;
		return true;
	case 0x64:
	case 0x65:
		insn->prefixes |= ISA_PREFIX_FS_GS;
		return true;
	}
	return false;
}

static void read_modrm(struct reader *r, struct isa_insn *insn)
{
	uint8_t mod, rm;

	insn->has_modrm = true;
	insn->modrm = next(r);
	mod = insn->modrm >> 6;
	rm = insn->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4)
		insn->sib = next(r);
	if (mod == 1)
		insn->displacement = (int32_t)number(r, 1);
	else if (mod == 2 || (!mod && (rm == 5 || (rm == 4 && (insn->sib & 7) == 5))))
		insn->displacement = (int32_t)number(r, 4);
}

static unsigned int operand_size(const struct isa_insn *insn)
{
	return insn->prefixes & ISA_PREFIX_66 && !(insn->rex & 8) ? 2 : 4;
}

/* Those whose size is not in the table. */
static unsigned int special_size(const struct isa_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (insn->map == 2 || opcode == 0xe8 || opcode == 0xe9)
		return 4;
	if (opcode >= 0xa0 && opcode <= 0xa3)
		return insn->prefixes & ISA_PREFIX_67 ? 4 : 8;
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return insn->rex & 8 ? 8 : operand_size(insn);
	if (insn->modrm >> 3 & 6) /* f6, f7: only "test" has an operand */
		return 0;
	return opcode == 0xf6 ? 1 : operand_size(insn);
}

static bool read_operands(struct reader *r, struct isa_insn *insn, char what)
{
	if (what == 'X' || what == 'P')
		return false;
	if (what == 'M' || (what >= 'a' && what != 'w'))
		read_modrm(r, insn);
	if (what == 'F' || what == 'f')
		insn->immediate = number(r, special_size(insn));
	if (what == 'Z' || what == 'z')
		insn->immediate = number(r, operand_size(insn));
	if (what == 'W' || what == 'w')
		insn->immediate = number(r, 2);
	if (what == 'B' || what == 'b' || what == 'w')
		insn->immediate = number(r, 1);
	return true;
}

/* The prefix that the lowest two bits of a VEX or EVEX prefix's last byte but one stand for. */
static void read_pp(struct isa_insn *insn, uint8_t byte)
{
	static const uint16_t prefixes[] = {0, ISA_PREFIX_66, ISA_PREFIX_F3, ISA_PREFIX_F2};

	insn->prefixes |= prefixes[byte & 3];
	insn->vvvv = ~byte >> 3 & 15;
}

/*
 * Behind VEX and EVEX: the same opcodes as behind 0f, 0f 38 and 0f 3a, but all with ModRM. rxb has
 * these bits of REX, inverted, at its top; w has W there.
 */
static bool read_vex(struct reader *r, struct isa_insn *insn, uint8_t rxb, uint8_t w, uint8_t map)
{
	char what = 'M';

	insn->vex = true;
	insn->rex = (~rxb >> 5 & 7) | (w >> 7) << 3;
	insn->map = (uint8_t)(map + 1);
	insn->opcode = next(r);
	if (map == 1)
		what = insn->opcode == 0x77 ? 'N' : two_bytes[insn->opcode] == 'b' ? 'b' : 'M';
	else if (map == 3)
		what = 'b';
	else if (map != 2 && map != 5 && map != 6)
		return false;
	return read_operands(r, insn, what);
}

static bool read_vex2(struct reader *r, struct isa_insn *insn)
{
	uint8_t byte = next(r);

	read_pp(insn, byte);
	return read_vex(r, insn, byte | 0x60, 0, 1);
}

static bool read_vex3(struct reader *r, struct isa_insn *insn)
{
	uint8_t byte = next(r), last = next(r);

	read_pp(insn, last);
	return read_vex(r, insn, byte, last, byte & 0x1f);
}

static bool read_evex(struct reader *r, struct isa_insn *insn)
{
	uint8_t byte = next(r), last = next(r);

	read_pp(insn, last);
	next(r);
	if (!read_vex(r, insn, byte, last, byte & 7))
		return false;
	insn->is_scaled = insn->modrm >> 6 == 1;
	return true;
}

static bool read_xop(struct reader *r, struct isa_insn *insn)
{
	uint8_t map = next(r) & 0x1f;

	next(r);
	insn->vex = true;
	insn->map = map;
	insn->opcode = next(r);
	if (map < 8 || map > 10)
		return false;
	read_modrm(r, insn);
	if (map != 9)
		insn->immediate = number(r, map == 8 ? 1 : 4);
	return true;
}

static bool read_escaped(struct reader *r, struct isa_insn *insn)
{
	insn->opcode = next(r);
	insn->map = 2;
	if (insn->opcode == 0x38 || insn->opcode == 0x3a) {
		insn->map = insn->opcode == 0x38 ? 3 : 4;
		insn->opcode = next(r);
		return read_operands(r, insn, insn->map == 3 ? 'M' : 'b');
	}
	return read_operands(r, insn, two_bytes[insn->opcode]);
}

static bool read_opcode(struct reader *r, struct isa_insn *insn)
{
	insn->map = 1;
	switch (insn->opcode) {
	case 0x0f:
		return read_escaped(r, insn);
	case 0xc5:
		return read_vex2(r, insn);
	case 0xc4:
		return read_vex3(r, insn);
	case 0x62:
		return read_evex(r, insn);
	case 0x8f:
		if (r->at < r->left && (r->code[r->at] & 0x1f) >= 8)
			return read_xop(r, insn);
	}
	return read_operands(r, insn, one_byte[insn->opcode]);
}

bool isa_read(struct isa_insn *insn, const uint8_t *code, size_t left)
{
	struct reader r = {.code = code, .left = left < LENGTH_MAX ? left : LENGTH_MAX};
	uint8_t byte;

	*insn = (struct isa_insn){0};
	do
		byte = next(&r);
	while (!r.failed && read_prefix(insn, byte));
	if (byte >> 4 == 4) {
		insn->rex = byte;
		byte = next(&r);
		if (byte >> 4 == 4) /* the one before would have no meaning: no compiler does so */
			return false;
	}
	insn->opcode = byte;
	if (!read_opcode(&r, insn) || r.failed)
		return false;
	insn->length = (uint8_t)r.at;
	return true;
}

enum isa_flow isa_flow(const struct isa_insn *insn)
{
	uint8_t o = insn->opcode;

	if (insn->vex)
		return ISA_FLOW_NEXT;
	if (insn->map == 2) {
		if (o >= 0x80 && o <= 0x8f)
			return ISA_FLOW_BRANCH;
		return o == 0x0b || o == 0xb9 || o == 0xff ? ISA_FLOW_STOP : ISA_FLOW_NEXT;
	}
	if (insn->map != 1)
		return ISA_FLOW_NEXT;
	if ((o >= 0x70 && o <= 0x7f) || (o >= 0xe0 && o <= 0xe3) ||
	    (o == 0xc7 && insn->modrm == 0xf8)) /* the last: xbegin */
		return ISA_FLOW_BRANCH;
	switch (o) {
	case 0xe8:
		return ISA_FLOW_CALL;
	case 0xe9:
	case 0xeb:
		return ISA_FLOW_JUMP;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		return ISA_FLOW_RETURN;
	case 0xcc:
	case 0xf4:
		return ISA_FLOW_STOP;
	case 0xff:
		if ((insn->modrm >> 3 & 7) == 2 || (insn->modrm >> 3 & 7) == 3)
			return ISA_FLOW_CALL_INDIRECT;
		if ((insn->modrm >> 3 & 7) == 4 || (insn->modrm >> 3 & 7) == 5)
			return ISA_FLOW_JUMP_INDIRECT;
	}
	return ISA_FLOW_NEXT;
}

bool isa_is_plain_return(const struct isa_insn *insn)
{
	return insn->map == 1 && !insn->vex && (insn->opcode == 0xc2 || insn->opcode == 0xc3);
}

uint64_t isa_target(const struct isa_insn *insn, uint64_t address)
{
	return address + insn->length + (uint64_t)insn->immediate;
}
