// SPDX-License-Identifier: Apache-2.0
/*
 * The reader of instructions against a disassembler, over the code of real programs, and against
 * instructions that are easily misread.
 */
#include "../prelude.h"

#include <capstone/capstone.h>

#include "code_of_file.h"
#include "arch/isa.h"

struct sweep {
	size_t same, different, unknown; /* unknown: to the disassembler */
};

/* in, out, cli: no program executes them */
static bool is_privileged(const uint8_t *code)
{
	return (code[0] >= 0x6c && code[0] <= 0x6f) || (code[0] >= 0xe4 && code[0] <= 0xe7) ||
	       (code[0] >= 0xec && code[0] <= 0xef) || code[0] == 0xfa || code[0] == 0xfb;
}

static void sweep(const uint8_t *code, size_t size, void *context)
{
	struct sweep *s = context;
	csh disassembler;
	cs_insn *insn;
	uint64_t address = 0;

	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler), CS_ERR_OK);
	insn = cs_malloc(disassembler);
	assert_non_null(insn);
	while (size) {
		const uint8_t *at = code;
		struct isa_insn ours;
		bool read = isa_read(&ours, at, size);

		if (cs_disasm_iter(disassembler, &code, &size, &address, insn)) {
			if (read && ours.length == insn->size) {
				s->same++;
			} else if (!is_privileged(at)) {
				s->different++;
				print_message("%s %s: %d, %d\n", insn->mnemonic, insn->op_str,
					      insn->size, read ? ours.length : 0);
			}
		} else {
			s->unknown++;
			code += read ? ours.length : 1;
			size -= read ? ours.length : 1;
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
	print_message("%zu instructions alike, %zu unknown to the disassembler\n", s.same,
		      s.unknown);
	assert_true(s.same > 10000);
	assert_int_equal(s.different, 0);
}

struct case_ {
	const char *bytes;
	size_t size;
	int length; /* 0: no instruction */
	enum isa_flow flow;
	enum isa_cost cost;
};

#define CASE(bytes, length, flow, cost)                                            \
	{                                                                          \
		bytes, sizeof(bytes) - 1, length, ISA_FLOW_##flow, ISA_COST_##cost \
	}

static const struct case_ cases[] = {
	CASE("\x55", 1, NEXT, EMULATED),
	CASE("\x41\x57", 2, NEXT, EMULATED),
	CASE("\x48\x55", 2, NEXT, STEPPED),
	CASE("\x66\x55", 2, NEXT, STEPPED),
	CASE("\x90", 1, NEXT, EMULATED),
	CASE("\x66\x90", 2, NEXT, EMULATED),
	CASE("\x49\x90", 2, NEXT, REFUSED),
	CASE("\xf3\x0f\x1e\xfa", 4, NEXT, STEPPED),
	CASE("\x0f\x1f\x44\x00\x00", 5, NEXT, REPLACED),
	CASE("\x0f\x1f\x44\x00\x01", 5, NEXT, STEPPED),
	CASE("\x2e\x0f\x1f\x44\x00\x00", 6, NEXT, REFUSED),
	CASE("\xe8\x01\x00\x00\x00", 5, CALL, EMULATED),
	CASE("\x66\xe8\x01\x00\x00\x00", 6, CALL, REFUSED),
	CASE("\xe9\xfb\xff\xff\xff", 5, JUMP, EMULATED),
	CASE("\xeb\xfe", 2, JUMP, EMULATED),
	CASE("\x74\x10", 2, BRANCH, EMULATED),
	CASE("\x0f\x84\x00\x01\x00\x00", 6, BRANCH, EMULATED),
	CASE("\xe3\x10", 2, BRANCH, STEPPED),
	CASE("\xff\xe0", 2, JUMP_INDIRECT, STEPPED),
	CASE("\x3e\xff\xe0", 3, JUMP_INDIRECT, REFUSED),
	CASE("\xf2\xff\x25\x00\x00\x00\x00", 7, JUMP_INDIRECT, STEPPED),
	CASE("\xff\xd0", 2, CALL_INDIRECT, STEPPED),
	CASE("\xff\x35\x00\x00\x00\x00", 6, NEXT, STEPPED),
	CASE("\xc3", 1, RETURN, STEPPED),
	CASE("\xf3\xc3", 2, RETURN, STEPPED),
	CASE("\xc2\x08\x00", 3, RETURN, STEPPED),
	CASE("\x0f\x0b", 2, STOP, REFUSED),
	CASE("\xcc", 1, STOP, REFUSED),
	CASE("\xf4", 1, STOP, REFUSED),
	CASE("\xf0\x48\x0f\xb1\x0f", 5, NEXT, REFUSED),
	CASE("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, NEXT, STEPPED),
	CASE("\x66\xb8\x01\x02", 4, NEXT, STEPPED),
	CASE("\x48\xa1\x01\x02\x03\x04\x05\x06\x07\x08", 10, NEXT, STEPPED),
	CASE("\xf7\xc7\x01\x00\x00\x00", 6, NEXT, STEPPED), /* test has an operand */
	CASE("\xf7\xd7", 2, NEXT, STEPPED),		    /* not has none */
	CASE("\xc8\x10\x00\x00", 4, NEXT, STEPPED),
	CASE("\xc5\xf8\x77", 3, NEXT, STEPPED), /* vzeroupper */
	CASE("\xc4\xe3\x7d\x18\xc1\x01", 6, NEXT, STEPPED),
	CASE("\x62\xf1\x7c\x48\x10\x07", 6, NEXT, STEPPED),
	CASE("\x62\xf3\x75\x48\x3e\xc2\x05", 7, NEXT, STEPPED),
	CASE("\x8f\xe8\x78\xc0\xc1\x05", 6, NEXT, STEPPED),   /* XOP */
	CASE("\x8f\x00", 2, NEXT, STEPPED),		      /* pop */
	CASE("\x0f\x05", 2, NEXT, REFUSED),		      /* syscall */
	CASE("\xc7\xf8\x00\x00\x00\x00", 6, BRANCH, REFUSED), /* xbegin */
	CASE("\x06", 0, NEXT, REFUSED),
	CASE("\x62\xf4", 0, NEXT, REFUSED),
	CASE("\x48", 0, NEXT, REFUSED),
	CASE("\xe8\x01\x00\x00", 0, NEXT, REFUSED),
	CASE("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 0, NEXT, REFUSED),
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct case_ *c = &cases[i];
		struct isa_insn insn;
		bool read = isa_read(&insn, (const uint8_t *)c->bytes, c->size);

		print_message("%zu\n", i);
		assert_int_equal(read ? insn.length : 0, c->length);
		if (!c->length)
			continue;
		assert_int_equal(isa_flow(&insn), c->flow);
		assert_int_equal(isa_cost(&insn), c->cost);
	}
}

struct stack_case {
	const char *bytes;
	size_t size;
	int32_t sp; /* behind it; it was 16, rbp at 8 */
};

static void test_stack(void **state)
{
#define STACK(bytes, sp)                     \
	{                                    \
		bytes, sizeof(bytes) - 1, sp \
	}
	static const struct stack_case list[] = {
		STACK("\x55", 24),	       /* push %rbp */
		STACK("\x6a\x01", 24),	       /* push $1 */
		STACK("\xff\x75\x00", 24),     /* push (%rbp) */
		STACK("\x5b", 8),	       /* pop %rbx */
		STACK("\x48\x83\xec\x10", 32), /* sub $16, %rsp */
		STACK("\x48\x83\xc4\x10", 0),  /* add $16, %rsp */
		STACK("\x48\x81\xec\x00\x10\x00\x00", 16 + 4096),
		STACK("\x48\x8d\x64\x24\xf8", 24),	      /* lea -8(%rsp), %rsp */
		STACK("\x48\x8d\x65\xf0", 24),		      /* lea -16(%rbp), %rsp */
		STACK("\x48\x89\xec", 8),		      /* mov %rbp, %rsp */
		STACK("\xc9", 0),			      /* leave */
		STACK("\x48\x83\xe4\xe0", ISA_STACK_UNKNOWN), /* and $-32, %rsp */
		STACK("\x48\x89\xfc", ISA_STACK_UNKNOWN),     /* mov %rdi, %rsp */
		STACK("\x48\x87\xe7", ISA_STACK_UNKNOWN),     /* xchg %rsp, %rdi */
		STACK("\x48\x2b\xe0", ISA_STACK_UNKNOWN),     /* sub %rax, %rsp */
		STACK("\x5c", ISA_STACK_UNKNOWN),	      /* pop %rsp */
		STACK("\x48\x89\x04\x24", 16),		      /* mov %rax, (%rsp) */
		STACK("\x4c\x89\xe0", 16),		      /* mov %r12, %rax */
		STACK("\x49\x83\xc4\x10", 16),		      /* add $16, %r12 */
		STACK("\x48\x83\xfc\x10", 16),		      /* cmp $16, %rsp */
		STACK("\x0f\x28\xe0", 16),		      /* movaps %xmm0, %xmm4 */
		STACK("\xe8\x00\x00\x00\x00", 16),	      /* call */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct isa_stack stack = {.sp = 16, .fp = 8};
		struct isa_insn insn;

		print_message("%zu\n", i);
		assert_true(isa_read(&insn, (const uint8_t *)list[i].bytes, list[i].size));
		isa_stack_step(&stack, &insn);
		assert_int_equal(stack.sp, list[i].sp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
