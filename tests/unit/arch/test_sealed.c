// SPDX-License-Identifier: Apache-2.0
/*
 * What may get at the return address, against what a disassembler says of the operands of real
 * programs' instructions.
 */
#include "../prelude.h"

#include <capstone/capstone.h>

#include "code_of_file.h"
#include "arch/isa.h"

/* Where the stack pointer is when each instruction is looked at. */
#define DEPTH 64

struct sweep {
	size_t sealed, open, wrong;
};

static bool is_rsp(unsigned int reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

static bool is_rbp(unsigned int reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
}

/* These move the stack pointer or the frame pointer as they should, or name no operand's value. */
static bool is_special(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_POP:
	case X86_INS_LEAVE:
	case X86_INS_NOP:
	case X86_INS_CALL:
		return true;
	case X86_INS_XOR: /* of a register with itself */
		return x->operands[0].type == X86_OP_REG && x->operands[1].type == X86_OP_REG &&
		       x->operands[0].reg == x->operands[1].reg;
	case X86_INS_ADD:
	case X86_INS_SUB:
		return is_rsp(x->operands[0].reg) && x->operands[1].type == X86_OP_IMM;
	case X86_INS_MOV:
	case X86_INS_LEA:
		return x->operands[0].type == X86_OP_REG &&
		       (is_rsp(x->operands[0].reg) || is_rbp(x->operands[0].reg));
	default:
		return false;
	}
}

static bool is_of_memory_sealed(const cs_insn *insn, const cs_x86_op *op, bool rbp_is_callers)
{
	const x86_op_mem *m = &op->mem;

	if (rbp_is_callers && (is_rbp(m->base) || is_rbp(m->index)))
		return false;
	if (!is_rsp(m->base))
		return true;
	/* prefetches and the like touch nothing that they could pass on */
	return insn->id != X86_INS_LEA && m->index == X86_REG_INVALID &&
	       m->disp + op->size <= DEPTH;
}

/* The disassembler's answer. */
static bool is_sealed(const cs_insn *insn, bool rbp_is_callers)
{
	const cs_x86 *x = &insn->detail->x86;

	if (is_special(insn))
		return true;
	for (uint8_t i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM && !is_of_memory_sealed(insn, op, rbp_is_callers))
			return false;
		if (op->type != X86_OP_REG)
			continue;
		/* a part of rbp that is written leaves the rest as it was */
		if (is_rsp(op->reg) || (rbp_is_callers && is_rbp(op->reg) &&
					(op->access != CS_AC_WRITE || op->size < 4)))
			return false;
	}
	return true;
}

static void look(struct sweep *s, const cs_insn *insn, const struct isa_insn *ours, int32_t fp)
{
	struct isa_sealed stack = {.sp = DEPTH, .fp = fp};

	if (!isa_sealed_step(&stack, ours, insn->bytes)) {
		s->open++;
		return;
	}
	s->sealed++;
	if (is_sealed(insn, fp == ISA_SEALED_CALLERS))
		return;
	s->wrong++;
	print_message("%s %s\n", insn->mnemonic, insn->op_str);
}

static void sweep(const uint8_t *code, size_t size, void *context)
{
	csh disassembler;
	cs_insn *insn;
	uint64_t address = 0;

	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler), CS_ERR_OK);
	cs_option(disassembler, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(disassembler);
	assert_non_null(insn);
	while (size) {
		struct isa_insn ours;

		if (!cs_disasm_iter(disassembler, &code, &size, &address, insn)) {
			code++;
			size--;
		} else if (isa_read(&ours, insn->bytes, insn->size) && ours.length == insn->size) {
			look(context, insn, &ours, ISA_SEALED_CALLERS);
			look(context, insn, &ours, ISA_SEALED_OTHER);
		}
	}
	cs_free(insn, 1);
	cs_close(&disassembler);
}

static void test_programs(void **state)
{
	struct sweep s = {0};

	(void)state;
	code_of_all(sweep, &s);
	print_message("%zu sealed, %zu not\n", s.sealed, s.open);
	assert_int_equal(s.wrong, 0);
	/* nor is that so because all are said to be open */
	assert_true(s.sealed > 4 * s.open);
}

#define CODE(bytes) bytes, sizeof(bytes) - 1

/* One after the other, from the entry on; the last one is what is_sealed is for. */
static const struct {
	const char *code;
	size_t size;
	bool is_sealed;
} cases[] = {
	{CODE("\x55\x48\x89\xe5\x8b\x45\xfc\x5d\xc3"), true}, /* push rbp; mov; -4(rbp); pop; ret */
	{CODE("\x55\x48\x89\xe5\x48\x8b\x45\x00"), false},    /* 0(%rbp): its caller's frame */
	{CODE("\x55\x48\x89\xe5\x48\x8b\x45\x08"), false},    /* 8(%rbp) */
	{CODE("\x55\x48\x89\xe5\x48\x8b\x45\xfc"), false},    /* 8 bytes at -4(%rbp) */
	{CODE("\x55\x48\x89\xe5\x0f\x28\x45\xf8"), false},    /* 16 bytes at -8(%rbp) */
	{CODE("\x55\x48\x89\xe5\x48\x89\xe8"), false},	      /* mov %rbp, %rax */
	{CODE("\x48\x89\xe8"), false},			      /* the same, of its caller */
	{CODE("\x48\x8b\x45\x08"), false},		      /* 8(%rbp) of its caller */
	{CODE("\x58"), false},				      /* pop %rax */
	{CODE("\x55\x58"), false},			      /* push %rbp; pop %rax */
	{CODE("\x50\x58"), true},			      /* push %rax; pop %rax */
	{CODE("\x54"), false},				      /* push %rsp */
	{CODE("\x48\x8d\x44\x24\xf8"), false},		      /* lea -8(%rsp), %rax */
	{CODE("\x48\x83\xec\x18\x48\x8b\x04\xc4"), false},    /* (%rsp, %rax, 8) */
	{CODE("\x48\x83\xec\x18\x48\x8b\x44\x24\x10"), true}, /* 16(%rsp), of 24 */
	{CODE("\x48\x83\xec\x18\x48\x8b\x44\x24\x18"), false}, /* 24(%rsp) */
	{CODE("\x48\x83\xec\x18\x48\x8b\x44\x24\x20"), false}, /* 32(%rsp) */
	{CODE("\x53\x48\x89\xfd"), true},		       /* mov %rdi, %rbp */
	{CODE("\x55\x48\x89\xfd\x48\x8b\x45\x08"), true},      /* then 8(%rbp) is anything */
	{CODE("\x55\x48\x89\xfd\x48\x8b\x44\x24\x00"), false}, /* but not what was pushed */
	{CODE("\x55\x31\xed\x8b\x04\xaf"), true},	       /* xor %ebp, %ebp; (%rdi, %rbp, 4) */
	{CODE("\x8b\x04\xaf"), false},			       /* (%rdi, %rbp, 4) of its caller */
	{CODE("\x55\x48\x8b\x6c\x24\x00"), true},	       /* mov (%rsp), %rbp */
	{CODE("\x55\x40\xb5\x01"), false},		       /* mov $1, %bpl */
	{CODE("\xb4\x01"), true},			       /* mov $1, %ah */
	{CODE("\x94"), false},				       /* xchg %rsp, %rax */
	{CODE("\x48\x83\xe4\xe0"), false},		       /* and $-32, %rsp */
	{CODE("\x48\x89\xfc"), false},			       /* mov %rdi, %rsp */
	{CODE("\x0f\x05"), false},			       /* syscall */
	{CODE("\x66\x48\x0f\x6e\xc5"), false},		       /* movq %rbp, %xmm0 */
	{CODE("\x0f\x28\xe5"), true},			       /* movaps %xmm5, %xmm4 */
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *code = (const uint8_t *)cases[i].code;
		struct isa_sealed stack = {.fp = ISA_SEALED_CALLERS};
		bool sealed = true;

		print_message("%zu\n", i);
		for (size_t at = 0; at < cases[i].size;) {
			struct isa_insn insn;

			assert_true(sealed);
			assert_true(isa_read(&insn, code + at, cases[i].size - at));
			sealed = isa_sealed_step(&stack, &insn, code + at);
			at += insn.length;
		}
		assert_int_equal(sealed, cases[i].is_sealed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
