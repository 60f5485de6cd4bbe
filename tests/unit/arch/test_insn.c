// SPDX-License-Identifier: Apache-2.0
/*
 * What instructions do against a disassembler, over the code of real programs; and, where that one
 * is known to be wrong, against the manual. More files can be given as arguments.
 */
#include "../prelude.h"

#include <capstone/capstone.h>

#include "code_of_file.h"
#include "arch/insn.h"

/* the name of "0f b9" since version 5 */
#if CS_API_MAJOR < 5
#define X86_INS_UD1 X86_INS_UD2B
#endif

#define SHOWN_MOST 40

struct sweep {
	size_t same, different, unknown; /* unknown: to the disassembler, or of another length */
};

/* The DWARF number of a register of capstone's, or of what it is a part of; -1: another kind. */
static int dwarf_of(unsigned int reg)
{
	static const uint16_t names[][5] = {
		{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
		{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
		{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
		{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
		{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
		{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
		{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
		{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
		{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
		{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
		{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
		{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
		{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
		{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
	};

	for (int i = 0; reg && i < 16; i++) {
		for (int j = 0; j < 5; j++) {
			if (names[i][j] == reg)
				return i;
		}
	}
	return -1;
}

static bool is_jump(const cs_insn *cs)
{
	for (int i = 0; i < cs->detail->groups_count; i++)
		if (cs->detail->groups[i] == CS_GRP_JUMP ||
		    cs->detail->groups[i] == CS_GRP_BRANCH_RELATIVE)
			return true;
	return false;
}

static enum insn_kind kind_of(const cs_insn *cs)
{
	static const struct {
		unsigned int id;
		enum insn_kind kind;
	} kinds[] = {
		{X86_INS_PUSH, INSN_PUSH},   {X86_INS_PUSHF, INSN_PUSH},
		{X86_INS_PUSHFQ, INSN_PUSH}, {X86_INS_POP, INSN_POP},
		{X86_INS_POPF, INSN_POP},    {X86_INS_POPFQ, INSN_POP},
		{X86_INS_LEAVE, INSN_LEAVE}, {X86_INS_MOV, INSN_MOVE},
		{X86_INS_LEA, INSN_LEA},     {X86_INS_ADD, INSN_ADD},
		{X86_INS_SUB, INSN_SUB},     {X86_INS_AND, INSN_AND},
		{X86_INS_XOR, INSN_XOR},     {X86_INS_SYSCALL, INSN_SYSTEM_CALL},
		{X86_INS_OR, INSN_OR},	     {X86_INS_CMP, INSN_COMPARE},
		{X86_INS_TEST, INSN_TEST},   {X86_INS_CALL, INSN_CALL},
		{X86_INS_LCALL, INSN_CALL},  {X86_INS_RET, INSN_RETURN},
		{X86_INS_RETF, INSN_STOP},   {X86_INS_RETFQ, INSN_STOP},
		{X86_INS_IRET, INSN_STOP},   {X86_INS_IRETD, INSN_STOP},
		{X86_INS_IRETQ, INSN_STOP},  {X86_INS_HLT, INSN_STOP},
		{X86_INS_UD2, INSN_STOP},    {X86_INS_UD1, INSN_STOP},
		{X86_INS_INT3, INSN_STOP},   {X86_INS_JMP, INSN_JUMP},
		{X86_INS_LJMP, INSN_JUMP},   {X86_INS_NOP, INSN_NOP},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].id == cs->id)
			return kinds[i].kind;
	return is_jump(cs) ? INSN_BRANCH : INSN_OTHER;
}

/* Where the disassembler does not say what the manual does, by its name of the instruction. */
static unsigned int corrected(unsigned int id, unsigned int bits)
{
	static const struct {
		unsigned int id, more, less;
	} lapses[] = {
		{X86_INS_TEST, 0, 0xffff},

		{X86_INS_CQO, 0, 1},
		{X86_INS_CDQ, 0, 1},
		{X86_INS_CWD, 0, 1},
		{X86_INS_CMPXCHG, 1, 0},
		{X86_INS_SYSCALL, 1 | 1 << 2 | 1 << 11, 0},
		{X86_INS_XABORT, 1, 0},
		{X86_INS_XLATB, 1, 0},
		{X86_INS_ENTER, 1 << 6 | 1 << 7, 0},
		{X86_INS_LOOP, 1 << 2, 0},
		{X86_INS_LOOPE, 1 << 2, 0},
		{X86_INS_LOOPNE, 1 << 2, 0},
	};

	for (size_t i = 0; i < sizeof(lapses) / sizeof(lapses[0]); i++)
		if (lapses[i].id == id)
			return (bits | lapses[i].more) & ~lapses[i].less;
	return bits;
}

static unsigned int written(const cs_insn *cs)
{
	const cs_x86 *x = &cs->detail->x86;
	unsigned int bits = 0;

	for (int i = 0; i < cs->detail->regs_write_count; i++) {
		int reg = dwarf_of(cs->detail->regs_write[i]);

		bits |= reg < 0 ? 0 : 1u << reg;
	}
	for (int i = 0; i < x->op_count; i++) {
		int reg = x->operands[i].type == X86_OP_REG ? dwarf_of(x->operands[i].reg) : -1;

		if (x->operands[i].access & CS_AC_WRITE)
			bits |= reg < 0 ? 0 : 1u << reg;
	}
	return corrected(cs->id, bits);
}

/* It takes the size of an operand from one of these prefixes, where processors take both. */
static bool mistakes_size(const cs_insn *cs)
{
	bool has_size = false, repeats = false;

	for (unsigned int i = 0; i < cs->size && i < 4; i++) {
		has_size |= cs->bytes[i] == 0x66;
		repeats |= cs->bytes[i] == 0xf2 || cs->bytes[i] == 0xf3;
	}
	return has_size && repeats;
}

/* Numbers as far as the operand holds them: one has a sign where the other has none. */
static bool is_same_number(const struct insn_operand *o, int64_t number)
{
	const int unused = 64 - 8 * o->size;

	return (uint64_t)o->number << unused == (uint64_t)number << unused;
}

static bool is_same_operand(const struct insn_operand *o, const cs_x86_op *op, const cs_x86 *x)
{
	switch (op->type) {
	case X86_OP_REG:
		if (dwarf_of(op->reg) < 0)
			return o->where == INSN_NOWHERE;
		return o->where == INSN_REGISTER && o->reg == dwarf_of(op->reg) &&
		       o->size == op->size;
	case X86_OP_IMM:
		return o->where == INSN_NUMBER && is_same_number(o, op->imm);
	case X86_OP_MEM:
		if (o->where != INSN_MEMORY || o->number != op->mem.disp ||
		    o->has_index !=
			    (op->mem.index != X86_REG_INVALID && op->mem.index != X86_REG_RIZ))
			return false;
		if (op->mem.base == X86_REG_RIP || op->mem.base == X86_REG_EIP)
			return o->base == INSN_BASE_NEXT && o->reg == -1;
		if (o->base != (op->mem.base == X86_REG_INVALID ? -1 : dwarf_of(op->mem.base)))
			return false;
		/* the other segments begin at 0; half addresses are not followed */
		if ((op->mem.index != X86_REG_INVALID && op->mem.index != X86_REG_RIZ) ||
		    op->mem.segment == X86_REG_FS || op->mem.segment == X86_REG_GS ||
		    op->mem.base == X86_REG_INVALID || x->addr_size == 4)
			return o->reg == -1;
		return (x->prefix[1] && o->reg == -1) ||
		       (o->reg == dwarf_of(op->mem.base) && o->number == op->mem.disp);
	default:
		return false;
	}
}

static bool has_same_operands(const struct insn *insn, const cs_insn *cs)
{
	const cs_x86 *x = &cs->detail->x86;

	switch (insn->kind) {
	case INSN_PUSH:
	case INSN_POP:
		/* of numbers and flags nothing is said */
		return insn->is_short == (x->prefix[2] == 0x66) &&
		       (insn->is_short || x->operands[0].type != X86_OP_REG ||
			is_same_operand(&insn->to, &x->operands[0], x));
	case INSN_MOVE:
	case INSN_LEA:
		return is_same_operand(&insn->to, &x->operands[0], x) &&
		       is_same_operand(&insn->from, &x->operands[1], x);
	case INSN_ADD:
	case INSN_SUB:
	case INSN_AND:
	case INSN_XOR:
	case INSN_OR:
	case INSN_COMPARE:
	case INSN_TEST:
		return mistakes_size(cs) || (is_same_operand(&insn->to, &x->operands[0], x) &&
					     is_same_operand(&insn->from, &x->operands[1], x));
	case INSN_JUMP:
	case INSN_BRANCH:
	case INSN_CALL:
		/* of these prefixes processors make nothing */
		return insn->has_target == (x->operands[0].type == X86_OP_IMM) &&
		       (!insn->has_target || x->prefix[2] || x->prefix[3] ||
			insn->target == (uint64_t)x->operands[0].imm);
	default:
		return true;
	}
}

/*
 * What is written is looked at where the kind does not say it, and not of instructions that no
 * program can execute, nor where the disassembler makes nothing of a prefix.
 */
static bool writes_count(const struct insn *insn, const cs_insn *cs)
{
	switch (insn->kind) {
	case INSN_PUSH:
	case INSN_POP:
	case INSN_LEAVE:
	case INSN_CALL:
	case INSN_RETURN:
	case INSN_STOP:
		return false;
	}
	switch (cs->id) {
	case X86_INS_VMREAD:
	case X86_INS_VMWRITE:
	case X86_INS_RDMSR:
	case X86_INS_GETSEC:
	case X86_INS_MOVSD:
	case X86_INS_STOSQ:
	case X86_INS_XCHG: /* a register with itself */
		return cs->id == X86_INS_XCHG &&
		       cs->detail->x86.operands[0].reg != cs->detail->x86.operands[1].reg;
	case X86_INS_BSWAP: /* of two bytes it is undefined */
		return cs->detail->x86.operands[0].size != 2;
	}
	return true;
}

/*
 * "mov" of 64 bits has a name of its own, as a number or an address that follows; what adds a
 * number to eax, and has no ModRM, needs no operands; what loads a segment's register is nothing,
 * and so are those no-ops that no padding is made of.
 */
static bool is_same_kind(const struct insn *insn, const cs_insn *cs)
{
	const cs_x86 *x = &cs->detail->x86;
	const bool is_general =
		x->operands[0].type != X86_OP_REG || dwarf_of(x->operands[0].reg) >= 0;
	enum insn_kind kind = kind_of(cs);

	if (cs->id == X86_INS_MOVABS || (x->opcode[0] >= 0xa0 && x->opcode[0] <= 0xa3))
		return insn->kind == INSN_MOVE || insn->kind == INSN_OTHER;
	if (insn->kind == kind)
		return true;
	if (insn->kind != INSN_OTHER)
		return false;
	return (kind == INSN_MOVE && !is_general) || (kind == INSN_NOP && x->opcode[1] != 0x1f) ||
	       (kind >= INSN_ADD && kind <= INSN_OR && dwarf_of(x->operands[0].reg) == 0);
}

/* Of the instructions for which the disassembler says rightly what they write. */
static bool is_same_store(const cs_insn *cs)
{
	const cs_x86 *x = &cs->detail->x86;
	const struct insn_operand stores = insn_stores(cs->bytes, cs->size);
	const cs_x86_op *op = &x->operands[0];

	if (mistakes_size(cs))
		return true;
	if (cs->id == X86_INS_MOV && x->op_count == 2 && op->type != X86_OP_MEM)
		return stores.where == INSN_NOWHERE;
	if (cs->id != X86_INS_MOV && cs->id != X86_INS_MOVUPS && cs->id != X86_INS_MOVAPS &&
	    cs->id != X86_INS_MOVSS && cs->id != X86_INS_MOVDQU && cs->id != X86_INS_MOVQ &&
	    cs->id != X86_INS_ADD && cs->id != X86_INS_OR && cs->id != X86_INS_INC &&
	    cs->id != X86_INS_SETE && cs->id != X86_INS_XCHG && cs->id != X86_INS_NEG &&
	    cs->id != X86_INS_VMOVDQU && cs->id != X86_INS_CMP && cs->id != X86_INS_TEST &&
	    cs->id != X86_INS_MOVLPS && cs->id != X86_INS_MOVHPS && cs->id != X86_INS_VMOVUPS)
		return true;
	if (op->type != X86_OP_MEM || cs->id == X86_INS_CMP || cs->id == X86_INS_TEST)
		return cs->id == X86_INS_XCHG || stores.where == INSN_NOWHERE;
	/* a0 to a3 have no ModRM */
	return (x->opcode[0] >= 0xa0 && x->opcode[0] <= 0xa3 && !x->opcode[1]) ||
	       (stores.where == INSN_MEMORY && stores.size >= op->size &&
		(stores.has_index || stores.number == op->mem.disp));
}

static const char *difference(const struct insn *insn, const cs_insn *cs)
{
	if (!is_same_kind(insn, cs))
		return "kind";
	if (!has_same_operands(insn, cs))
		return "operands";
	if (writes_count(insn, cs) && insn->writes != written(cs))
		return "written";
	if (!is_same_store(cs))
		return "stored";
	return NULL;
}

static void compare(const struct insn *insn, const cs_insn *cs, struct sweep *s)
{
	const char *what = difference(insn, cs);

	if (!what) {
		s->same++;
	} else if (s->different++ < SHOWN_MOST) {
		print_message("%s: %s %s: kind %d %d, writes %x %x:", what, cs->mnemonic,
			      cs->op_str, insn->kind, kind_of(cs), insn->writes, written(cs));
		for (int i = 0; i < cs->size; i++)
			print_message(" %02x", cs->bytes[i]);
		print_message("\n");
	}
}

static void sweep(const uint8_t *code, size_t size, void *context)
{
	struct sweep *s = context;
	csh disassembler;
	cs_insn *cs;
	uint64_t address = 0x10000;

	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler), CS_ERR_OK);
	cs_option(disassembler, CS_OPT_DETAIL, CS_OPT_ON);
	cs = cs_malloc(disassembler);
	assert_non_null(cs);
	while (size) {
		const uint8_t *at = code;
		size_t left = size;
		uint64_t here = address;
		struct insn insn;
		bool read = insn_read(&insn, at, size, address);
		size_t taken = read ? insn.size : 1;

		if (read && cs_disasm_iter(disassembler, &at, &left, &here, cs) &&
		    cs->size == insn.size)
			compare(&insn, cs, s);
		else
			s->unknown++;
		code += taken;
		size -= taken;
		address += taken;
	}
	cs_free(cs, 1);
	cs_close(&disassembler);
}

static void test_programs(void **state)
{
	struct sweep s = {0};

	(void)state;
	code_of_all(sweep, &s);
	print_message("%zu instructions alike, %zu unknown to the disassembler\n", s.same,
		      s.unknown);
	assert_true(s.same > 10000);
	assert_int_equal(s.different, 0);
}

/* What no compiler writes: bytes at random, a quarter of them prefixes and the like. */
static void test_random(void **state)
{
	static const uint8_t begins[] = {0x0f, 0x48, 0x49, 0x41, 0x66, 0xf3, 0xc5, 0xc4};
	const size_t size = 1 << 20;
	uint8_t *code = malloc(size);
	struct sweep s = {0};
	uint64_t random = 1;

	(void)state;
	assert_non_null(code);
	for (size_t i = 0; i < size; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		code[i] = (random >> 60) < 4 ? begins[random >> 56 & 7] : (uint8_t)(random >> 40);
	}
	sweep(code, size, &s);
	free(code);
	print_message("%zu instructions alike, %zu unknown\n", s.same, s.unknown);
	assert_int_equal(s.different, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_random),
	};

	for (int i = 1; i < argc; i++) {
		struct sweep s = {0};

		if (!code_of_file(argv[i], sweep, &s))
			return 1;
		print_message("%s: %zu alike, %zu different, %zu unknown\n", argv[i], s.same,
			      s.different, s.unknown);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
