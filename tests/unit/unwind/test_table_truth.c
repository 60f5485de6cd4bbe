// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of real programs against libdw, an independent decoder: in every row of every function
 * both must give the same caller. Rules are compared by what they compute from random registers
 * and a made-up memory, so that the two need not have the same form. More files can be given as
 * arguments.
 */
#include "../prelude.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/map.h"
#include "plain_memory.h"
#include "table_lookup.h"
#include "unwind/table.h"

#define RBX	    3
#define RBP	    6
#define RSP	    7
#define RIP	    16
#define REGISTERS   17
#define PADDING_MAX 15

/* Bytes of a function that begins a stack. */
#define STACK_START_SIZE 32

struct machine {
	uint64_t reg[REGISTERS];
};

struct subject {
	const char *name;
	struct plain_memory *memory;
	struct unwind_table table;
	Dwarf_CFI *cfi;
	uint64_t entry;
	size_t rows, unsupported, lost, saved_lost, undecided;
	uint64_t stack_start;
};

/* A memory that holds something else at each address. */
static uint64_t load(uint64_t address)
{
	return hash_u64(address ^ 0x5bd1e995);
}

static struct machine random_machine(uint64_t pc)
{
	struct machine m;
	int i;

	for (i = 0; i < REGISTERS; i++)
		m.reg[i] = hash_u64(pc * 32 + (uint64_t)i);
	m.reg[RIP] = pc;
	return m;
}

static void fail_at(const struct subject *s, uint64_t pc, const char *what)
{
	fail_msg("%s: at 0x%" PRIx64 ": %s", s->name, pc, what);
}

/* Runs what libdw gave; false: an operation that this test does not know. */
static bool evaluate(const Dwarf_Op *ops, size_t count, const struct machine *m, uint64_t cfa,
		     uint64_t *result, bool *is_value)
{
	uint64_t stack[16] = {0}, *top = stack;
	size_t i;

	*is_value = false;
	for (i = 0; i < count && top < stack + 15; i++) {
		const Dwarf_Op *op = &ops[i];
		uint8_t atom = op->atom;

		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg16) {
			*++top = m->reg[atom - DW_OP_breg0] + op->number;
			continue;
		}
		if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			*++top = atom - DW_OP_lit0;
			continue;
		}
		switch (atom) {
		case DW_OP_bregx:
			if (op->number >= REGISTERS)
				return false;
			*++top = m->reg[op->number] + op->number2;
			break;
		case DW_OP_regx:
			if (op->number >= REGISTERS)
				return false;
			*++top = m->reg[op->number];
			*is_value = true;
			break;
		case DW_OP_call_frame_cfa:
			*++top = cfa;
			break;
		case DW_OP_const1u:
		case DW_OP_const1s:
		case DW_OP_const2u:
		case DW_OP_const2s:
		case DW_OP_const4u:
		case DW_OP_const4s:
		case DW_OP_constu:
		case DW_OP_consts:
			*++top = op->number;
			break;
		case DW_OP_deref:
			*top = load(*top);
			break;
		case DW_OP_plus_uconst:
			*top += op->number;
			break;
		case DW_OP_plus:
			top--;
			*top += top[1];
			break;
		case DW_OP_minus:
			top--;
			*top -= top[1];
			break;
		case DW_OP_mul:
			top--;
			*top *= top[1];
			break;
		case DW_OP_and:
			top--;
			*top &= top[1];
			break;
		case DW_OP_shl:
			top--;
			*top <<= top[1];
			break;
		case DW_OP_ge:
			top--;
			*top = (int64_t)*top >= (int64_t)top[1];
			break;
		case DW_OP_stack_value:
			*is_value = true;
			break;
		case DW_OP_nop:
			break;
		default:
			return false;
		}
	}
	*result = *top;
	return i == count;
}

enum truth {
	UNDEFINED,
	SAME,
	VALUE,
	STRANGE
};

/* The caller's value of a register according to libdw, and where it was loaded from (or 0). */
static enum truth true_register(Dwarf_Frame *frame, int reg, const struct machine *m, uint64_t cfa,
				uint64_t *value, uint64_t *from)
{
	Dwarf_Op memory[3], *ops;
	bool is_value;
	size_t count;

	*from = 0;
	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &count), 0);
	if (!count)
		return ops ? UNDEFINED : SAME;
	if (!evaluate(ops, count, m, cfa, value, &is_value))
		return STRANGE;
	if (!is_value) {
		*from = *value;
		*value = load(*from);
	}
	return VALUE;
}

/* The CFA by the table's rule. */
static uint64_t table_cfa(const struct subject *s, const struct unwind_rule *rule,
			  const struct machine *m)
{
	uint64_t sum = m->reg[RSP] + 8;

	switch (rule->cfa) {
	case UNWIND_CFA_SP:
	case UNWIND_CFA_IN_REGISTER:
		return m->reg[RSP] + (uint64_t)rule->cfa_offset;
	case UNWIND_CFA_FP:
		return m->reg[RBP] + (uint64_t)rule->cfa_offset;
	case UNWIND_CFA_REGISTER:
		return m->reg[rule->cfa_register] + (uint64_t)rule->cfa_offset;
	case UNWIND_CFA_DEREF:
		return load(m->reg[rule->cfa_register] + (uint64_t)rule->cfa_offset) +
		       (uint64_t)rule->deref_offset;
	case UNWIND_CFA_INDEXED:
		return load(m->reg[rule->cfa_register & 15] + 8 * m->reg[rule->cfa_register >> 4] +
			    (uint64_t)rule->cfa_offset) +
		       (uint64_t)rule->deref_offset;
	case UNWIND_CFA_PLT:
		return sum + ((m->reg[RIP] & 15) >= (uint64_t)rule->cfa_offset ? 8 : 0);
	default:
		fail_at(s, m->reg[RIP], "a rule of an unexpected kind");
		return 0;
	}
}

static void check_fp(struct subject *s, uint64_t pc, const struct unwind_rule *rule,
		     const struct machine *m, Dwarf_Frame *frame, uint64_t cfa)
{
	uint64_t value, from, mine = 0;
	enum truth truth = true_register(frame, RBP, m, cfa, &value, &from);

	switch (rule->fp) {
	case UNWIND_FP_SAME:
		if (truth != SAME)
			fail_at(s, pc, "rbp is not the same");
		return;
	case UNWIND_FP_LOST:
		if (truth == SAME || (truth == VALUE && from - cfa + 0x8000 < 0x10000))
			fail_at(s, pc, "rbp is not lost");
		s->lost++;
		return;
	case UNWIND_FP_CFA:
		mine = load(cfa + (uint64_t)rule->fp_offset);
		break;
	case UNWIND_FP_FP:
		mine = load(m->reg[RBP] + (uint64_t)rule->fp_offset);
		break;
	}
	if (truth != VALUE || mine != value)
		fail_at(s, pc, "rbp differs");
}

static void check_rbx(struct subject *s, uint64_t pc, const struct unwind_rule *rule,
		      const struct machine *m, Dwarf_Frame *frame, uint64_t cfa)
{
	uint64_t value, from;
	enum truth truth = true_register(frame, RBX, m, cfa, &value, &from);
	int64_t slot = rule->saved;

	if (!slot) {
		/* libdw calls undefined what is only not mentioned */
		if (truth != SAME && truth != UNDEFINED)
			fail_at(s, pc, "rbx is not the same");
	} else if (slot == UNWIND_SAVED_LOST) {
		if (truth == SAME || (truth == VALUE && from - cfa + 1024 < 1024 + 127 * 8 &&
				      from != cfa && (from - cfa) % 8 == 0))
			fail_at(s, pc, "rbx is not lost");
		s->saved_lost++;
	} else if (truth != VALUE || load(cfa + (uint64_t)slot * 8) != value) {
		fail_at(s, pc, "rbx differs");
	}
}

/* A rule may only be unsupported if it is not one of the plain ones. */
static void check_unsupported(struct subject *s, uint64_t pc, Dwarf_Frame *frame, uint64_t cfa,
			      const struct machine *m)
{
	uint64_t value, from;
	enum truth truth;
	Dwarf_Op *ops;
	size_t count;

	s->unsupported++;
	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1)
		return;
	truth = true_register(frame, RIP, m, cfa, &value, &from);
	if (truth != VALUE || from != cfa - 8)
		return;
	truth = true_register(frame, RSP, m, cfa, &value, &from);
	if (truth == VALUE && !from && value == cfa)
		fail_at(s, pc, "unsupported, but it is a plain rule");
}

static void check_address(struct subject *s, uint64_t pc, Dwarf_Frame *frame, bool signal)
{
	struct unwind_rule rule =
		table_lookup(s->memory->pool, s->memory->rules_memory, &s->table, pc);
	struct machine m = random_machine(pc);
	uint64_t cfa = 0, value, from;
	bool is_value, known;
	enum truth truth;
	Dwarf_Op *ops;
	size_t count;

	if (rule.guess)
		fail_at(s, pc, "a guess where there is a function");
	if (signal != (rule.cfa == UNWIND_CFA_SIGNAL))
		fail_at(s, pc, "one says it is a signal frame");
	if (signal)
		return;
	if (dwarf_frame_cfa(frame, &ops, &count)) {
		s->undecided++;
		return;
	}
	known = count && evaluate(ops, count, &m, 0, &cfa, &is_value);
	truth = true_register(frame, RIP, &m, cfa, &value, &from);
	/* glibc has one function that begins a stack, and does not say so (makecontext()) */
	if (rule.cfa == UNWIND_CFA_END && truth != UNDEFINED &&
	    (!s->stack_start || pc - s->stack_start < STACK_START_SIZE)) {
		s->stack_start = s->stack_start ? s->stack_start : pc;
		return;
	}
	if ((truth == UNDEFINED) != (rule.cfa == UNWIND_CFA_END))
		fail_at(s, pc, "one says that there is no caller");
	if (truth == UNDEFINED)
		return;
	if (rule.cfa == UNWIND_CFA_UNSUPPORTED) {
		check_unsupported(s, pc, frame, cfa, &m);
		return;
	}
	if (!known || cfa != table_cfa(s, &rule, &m))
		fail_at(s, pc, "the CFA differs");
	if (rule.cfa == UNWIND_CFA_IN_REGISTER) {
		if (truth != VALUE || from || value != m.reg[rule.cfa_register])
			fail_at(s, pc, "the return address is not in the register");
	} else if (truth != VALUE || from != cfa - 8) {
		fail_at(s, pc, "the return address is elsewhere");
	}
	truth = true_register(frame, RSP, &m, cfa, &value, &from);
	if (truth != VALUE || value != cfa)
		fail_at(s, pc, "the caller's rsp is not the CFA");
	check_fp(s, pc, &rule, &m, frame, cfa);
	check_rbx(s, pc, &rule, &m, frame, cfa);
}

/* What no function covers must have no rule, but for guesses, padding and the entry point. */
static void check_gap(struct subject *s, uint64_t start, uint64_t end)
{
	const uint64_t places[] = {start, start + (end - start) / 2, end - 1};
	size_t i;

	if (end - start <= PADDING_MAX)
		return;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct unwind_rule rule = table_lookup(s->memory->pool, s->memory->rules_memory,
						       &s->table, places[i]);
		/* it counts as a function, so what lies before may be padding */
		bool at_entry = places[i] + PADDING_MAX - s->entry < 64 + PADDING_MAX;

		if (rule.cfa != UNWIND_CFA_NONE && rule.cfa != UNWIND_CFA_END &&
		    rule.cfa != UNWIND_CFA_SIGNAL && !rule.guess && !at_entry)
			fail_at(s, places[i], "a rule where there is no function");
	}
}

static void check_code(struct subject *s, uint64_t start, uint64_t end)
{
	uint64_t pc = start, gap = start;

	while (pc < end) {
		Dwarf_Addr from, to;
		Dwarf_Frame *frame;
		bool signal;

		if (dwarf_cfi_addrframe(s->cfi, pc, &frame)) {
			pc++;
			if (strcmp(dwarf_errmsg(-1), "no matching address range") != 0) {
				s->undecided++; /* libdw knows the function, but not this rule */
				gap = pc;
			}
			continue;
		}
		assert_true(dwarf_frame_info(frame, &from, &to, &signal) >= 0);
		assert_true(to > pc);
		if (gap < pc)
			check_gap(s, gap, pc);
		check_address(s, pc, frame, signal);
		check_address(s, pc + (to - pc) / 2, frame, signal);
		check_address(s, to - 1, frame, signal);
		free(frame);
		s->rows++;
		pc = gap = to;
	}
	if (gap < end)
		check_gap(s, gap, end);
}

static void check_segments(struct subject *s, Elf *elf)
{
	size_t count, i;
	GElf_Ehdr header;
	GElf_Phdr segment;

	assert_non_null(gelf_getehdr(elf, &header));
	s->entry = header.e_entry;
	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (i = 0; i < count; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &segment));
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			check_code(s, segment.p_vaddr, segment.p_vaddr + segment.p_filesz);
	}
}

static void check_elf(const char *name, struct plain_memory *memory,
		      const struct unwind_table *table, Elf *elf)
{
	struct subject s = {.name = name, .memory = memory, .table = *table};

	assert_non_null(elf);
	s.cfi = dwarf_getcfi_elf(elf);
	assert_non_null(s.cfi);
	check_segments(&s, elf);
	printf("%s: %zu rows of %" PRIu32 " functions agree (unsupported %zu, rbp lost %zu, "
	       "rbx lost %zu, refused %" PRIu32 ", places that libdw refuses %zu)\n",
	       name, s.rows, table->fdes, s.unsupported, s.lost, s.saved_lost, table->refused,
	       s.undecided);
	assert_true(s.rows > 0);
	assert_true(s.unsupported * 100 <= s.rows);
	assert_true(s.saved_lost * 100 <= s.rows);
	dwarf_cfi_end(s.cfi);
	elf_end(elf);
}

static void check_file(struct plain_memory *memory, const char *path)
{
	struct unwind_table table;
	struct fail why = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		printf("%s: not on this machine\n", path);
		return;
	}
	if (unwind_table_of_file(fd, memory->pool, memory->rules, &table, &why))
		fail_msg("%s: %s", path, why.what);
	check_elf(path, memory, &table, elf_begin(fd, ELF_C_READ_MMAP, NULL));
	unwind_table_drop(&table, memory->pool);
	close(fd);
}

static int set_up(void **state)
{
	static struct plain_memory memory;

	elf_version(EV_CURRENT);
	*state = &memory;
	return plain_memory_new(&memory, 64 << 20);
}

static int tear_down(void **state)
{
	plain_memory_free(*state);
	return 0;
}

static void test_files(void **state)
{
	static const char *const files[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/lib/x86_64-linux-gnu/libgcrypt.so.20",
		"/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3.11",
		"/usr/bin/perl",
		"/usr/bin/gdb",
	};
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		check_file(*state, files[i]);
}

static void test_vdso(void **state)
{
	struct plain_memory *memory = *state;
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table table;
	struct fail why = {0};
	size_t size = 4096;

	if (!vdso)
		skip();
	/* its section headers stand at its end */
	size = (size_t)((const Elf64_Ehdr *)vdso)->e_shoff +
	       sizeof(Elf64_Shdr) * ((const Elf64_Ehdr *)vdso)->e_shnum;
	assert_int_equal(
		unwind_table_of_memory(vdso, size, memory->pool, memory->rules, &table, &why), 0);
	check_elf("the vDSO", memory, &table, elf_memory((char *)(uintptr_t)vdso, size));
	unwind_table_drop(&table, memory->pool);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_vdso),
	};

	if (argc > 1) {
		void *state;
		int i;

		if (set_up(&state))
			return 1;
		for (i = 1; i < argc; i++)
			check_file(state, argv[i]);
		return tear_down(&state);
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
