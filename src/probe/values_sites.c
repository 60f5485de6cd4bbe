// SPDX-License-Identifier: Apache-2.0
/* Rows of line tables to places for probes: in the child (values_read.c). */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "arch/isa.h"
#include "probe/values_lines.h"
#include "probe/values_settled.h"
#include "symbol/dwarf_find.h"
#include "symbol/sandbox_child.h"

#define CODE_MAX    ((uint64_t)16 << 20)
#define CODE_BUDGET ((uint64_t)1 << 30) /* bytes that are looked at in all */

/* The code around an address: one of the ranges of its function. */
struct code {
	uint8_t *at;
	uint64_t low, high;
};

#define COLUMNS_MAX 32u

/* A place that is kept, for comparison with those behind it. */
struct kept {
	uint64_t address;
	uint32_t column[COLUMNS_MAX], columns; /* of the line, that the pass has had so far */
	Dwarf_Off function;		       /* the copy of the function that it is in */
	bool is_said;
};

struct sites {
	struct values_reader *r;
	const struct values_lines *lines;
	struct dwarf_finder find;
	struct code code;
	uint64_t budget;
	struct kept kept[VALUES_LINES_MAX]; /* the last one of each line */
	size_t count;
};

/* -- code -------------------------------------------------------------------------------------- */

static bool read_code(struct sites *s, Dwarf_Die *function, uint64_t address)
{
	struct code *code = &s->code;
	Dwarf_Addr base, low, high;
	ptrdiff_t next = 0;

	if (code->at && address >= code->low && address < code->high)
		return true;
	free(code->at);
	code->at = NULL;
	while ((next = dwarf_ranges(function, next, &base, &low, &high)) > 0) {
		if (address < low || address >= high || high - low > CODE_MAX ||
		    high - low > s->budget)
			continue;
		s->budget -= high - low;
		code->low = low;
		code->high = high;
		code->at = malloc(high - low);
		if (code->at && values_read_code(s->r->main_elf, s->r->question->main_fd, low,
						 code->at, high - low))
			return true;
		free(code->at);
		code->at = NULL;
	}
	return false;
}

/*
 * The instruction at an address, if one begins there when all from the function's beginning on are
 * read. False: none does, so that a probe would change another one.
 */
static bool instruction_at(struct sites *s, uint64_t address, struct isa_insn *insn)
{
	const struct code *code = &s->code;
	uint64_t at = 0, end = address - code->low, size = code->high - code->low;

	if (end > s->budget)
		return false;
	s->budget -= end;
	while (at < end) {
		if (!isa_read(insn, code->at + at, size - at))
			return false;
		at += insn->length;
	}
	return at == end && isa_read(insn, code->at + at, size - at);
}

/* Can anything in the function's code jump to an address in (from, to]? */
static bool is_landed_on(struct sites *s, uint64_t from, uint64_t to)
{
	const struct code *code = &s->code;
	uint64_t size = code->high - code->low;
	struct isa_insn insn;

	if (size > s->budget)
		return true;
	s->budget -= size;
	for (uint64_t at = 0; at < size; at += insn.length) {
		enum isa_flow flow;
		uint64_t target;

		if (!isa_read(&insn, code->at + at, size - at))
			return true;
		flow = isa_flow(&insn);
		if (flow == ISA_FLOW_JUMP_INDIRECT)
			return true;
		if (flow != ISA_FLOW_JUMP && flow != ISA_FLOW_BRANCH)
			continue;
		target = isa_target(&insn, code->low + at);
		if (target > from && target <= to)
			return true;
	}
	return false;
}

/* Does all that passes `from` go on to `to`, and nothing else come there? Both are of the code. */
static bool is_same_pass(struct sites *s, uint64_t from, uint64_t to)
{
	const struct code *code = &s->code;
	struct isa_insn insn;
	uint64_t at;

	if (from < code->low || from >= to || to >= code->high)
		return false;
	for (at = from; at < to; at += insn.length) {
		enum isa_flow flow;

		if (!isa_read(&insn, code->at + (at - code->low), code->high - at))
			return false;
		flow = isa_flow(&insn);
		if (flow != ISA_FLOW_NEXT && flow != ISA_FLOW_CALL &&
		    flow != ISA_FLOW_CALL_INDIRECT)
			return false;
	}
	return at == to && !is_landed_on(s, from, to);
}

/* Where the kernel can put a probe, there or right behind; false: nowhere. */
static bool find_instruction(struct sites *s, Dwarf_Die *function, uint64_t *address)
{
	struct isa_insn insn;

	if (!read_code(s, function, *address) || !instruction_at(s, *address, &insn))
		return false;
	if (isa_cost(&insn) == ISA_COST_REPLACED) {
		uint64_t behind = *address + insn.length;

		if (behind >= s->code.high || is_landed_on(s, *address, behind) ||
		    !isa_read(&insn, s->code.at + (behind - s->code.low), s->code.high - behind))
			return false;
		*address = behind;
	}
	return isa_cost(&insn) == ISA_COST_STEPPED || isa_cost(&insn) == ISA_COST_EMULATED;
}

/* -- places ------------------------------------------------------------------------------------ */

/* The second address of a function in its line table: gcc's way to say where its prologue ends. */
static uint64_t second_row(Dwarf_Die *unit, uint64_t low, uint64_t high)
{
	uint64_t found = 0;
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(unit, &lines, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr address;

		if (!dwarf_lineaddr(dwarf_onesrcline(lines, i), &address) && address > low &&
		    address < high && (!found || address < found))
			found = address;
	}
	return found;
}

/* At a function's first instruction, its parameters are not where DWARF says. */
static uint64_t behind_prologue(Dwarf_Die *unit, Dwarf_Die *function, uint64_t address,
				bool is_optimised)
{
	Dwarf_Addr low, high;
	uint64_t end;

	if (dwarf_entrypc(function, &low) || low != address || dwarf_highpc(function, &high))
		return address;
	end = values_prologue_end(unit, low, high);
	if (!end && !is_optimised)
		end = second_row(unit, low, high);
	return end ? end : address;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name && *name ? name : dwarf_diename(die);
}

static void say_site(struct sites *s, const struct line_row *row, Dwarf_Die *unit,
		     const struct scopes *scopes, const struct value_site *site)
{
	struct value_param variables[VALUES_PARAMS_MAX];
	Dwarf_Die function = scopes->at[0], of_line = scopes->at[scopes->function];
	struct buf *to = &s->r->said;
	Dwarf_Addr low = 0;
	struct scopes_question question = {
		.scopes = scopes,
		.unit = unit,
		.row = row,
		.number = s->r->question->wanted.lines[row->line].number,
		.address = site->address,
		.is_first = !s->kept[row->line].is_said,
		.is_optimised = site->is_optimised,
		.has_cfa = site->has_cfa,
		.cfa_register = site->cfa_register,
		.cfa_offset = site->cfa_offset,
	};
	size_t count = 0;

	if (!dwarf_entrypc(&function, &low))
		question.low = low;
	if (!site->is_refused)
		count = scopes_variables(s->r, &question, variables);
	buf_put_u8(to, VALUES_SAID_SITE);
	buf_put_varint(to, row->line);
	buf_put_varint(to, site->language);
	buf_put_u8(to, (site->is_refused ? VALUES_SITE_REFUSED : 0) |
			       (site->has_cfa ? VALUES_SITE_HAS_CFA : 0) |
			       (site->is_optimised ? VALUES_SITE_OPTIMISED : 0));
	values_say_text(to, row->file);
	values_say_text(to, function_name(&of_line));
	values_say_text(to, scopes->function ? function_name(&function) : NULL);
	buf_put_varint(to, site->address);
	buf_put_u8(to, site->cfa_register);
	values_say_signed(to, site->cfa_offset);
	buf_put_varint(to, count);
	for (size_t i = 0; i < count; i++)
		values_say_param(to, &variables[i]);
	if (to->count >= SANDBOX_SAY_AT)
		sandbox_say(s->r->pipe, to);
}

static bool has_column(const struct kept *kept, uint32_t column)
{
	for (uint32_t i = 0; i < kept->columns; i++)
		if (kept->column[i] == column)
			return true;
	return false;
}

/*
 * Is the row the beginning of a pass that no other place shows? Compilers mix the code of lines:
 * where the code always goes on from one place to the other, it may be the same pass. But in a loop
 * that was unrolled, it is the next one, which begins where a column comes again.
 */
static bool is_new(struct sites *s, const struct line_row *row, uint64_t address,
		   Dwarf_Die *function, Dwarf_Die *of_line)
{
	struct kept *kept = &s->kept[row->line];
	Dwarf_Off copy = dwarf_dieoffset(of_line);
	bool is_same = kept->columns && kept->function == copy &&
		       (row->goes_on || address <= kept->address ||
			(!has_column(kept, row->column) && read_code(s, function, kept->address) &&
			 is_same_pass(s, kept->address, address)));

	if (!is_same)
		*kept = (struct kept){.address = address,
				      .function = copy,
				      .is_said = kept->columns && kept->function == copy};
	if (!has_column(kept, row->column) && kept->columns < COLUMNS_MAX)
		kept->column[kept->columns++] = row->column;
	return !is_same;
}

static const struct line_row *row_of(const struct sites *s, const struct dwarf_asked *asked)
{
	return &s->lines->rows.at[asked->index];
}

static void read_row(struct sites *s, Dwarf_Die *unit, const struct dwarf_asked *asked)
{
	const struct line_row *row = row_of(s, asked);
	Dwarf_Die function = asked->function;
	struct value_site site = {.language = values_language(unit), .address = row->address};
	struct scopes scopes;
	uint32_t number = s->r->question->wanted.lines[row->line].number;

	site.is_optimised = scopes_optimised(&s->find, unit, &function);
	scopes_find(&s->find, &function, row->address, row, number, &scopes);
	if (!scopes.function) {
		site.address = behind_prologue(unit, &function, row->address, site.is_optimised);
		if (site.address != row->address)
			scopes_find(&s->find, &function, site.address, row, number, &scopes);
	}
	if (!is_new(s, row, site.address, &function, &scopes.at[scopes.function]) ||
	    s->count++ >= VALUES_SITES_MAX)
		return;
	site.is_refused = !find_instruction(s, &function, &site.address);
	site.has_cfa =
		values_frame_address(s->r, site.address, &site.cfa_register, &site.cfa_offset);
	say_site(s, row, unit, &scopes, &site);
	s->kept[row->line].is_said = true;
}

/* Of a line in a function. */
static uint64_t key_of(const struct sites *s, const struct dwarf_asked *asked)
{
	Dwarf_Die function = asked->function;
	uint64_t key[] = {dwarf_dieoffset(&function), row_of(s, asked)->line};

	return hash_bytes(key, sizeof(key));
}

/* The rows of one unit, sorted by address. */
static int read_unit(struct sites *s, struct dwarf_asked *asked, size_t count)
{
	struct map beginnings = {0};
	Dwarf_Die unit;
	int err;

	if (!dwarf_offdie(s->r->dwarf, asked->unit, &unit))
		return 0;
	err = dwarf_find_functions(&s->find, &unit, asked, count);
	for (size_t i = 0; i < count && !err; i++)
		if (asked[i].has_function && row_of(s, &asked[i])->begins &&
		    !map_put(&beginnings, key_of(s, &asked[i]), 1))
			err = -ENOMEM;
	/* what has no row that recommends a breakpoint has others */
	for (size_t i = 0; i < count && !err; i++)
		if (asked[i].has_function &&
		    (row_of(s, &asked[i])->begins || !map_get(&beginnings, key_of(s, &asked[i]))))
			read_row(s, &unit, &asked[i]);
	map_free(&beginnings);
	return err;
}

static void say_near(struct values_reader *r, const struct values_lines *lines)
{
	for (uint32_t i = 0; i < r->question->wanted.line_count; i++) {
		const struct value_near *near = &lines->near[i];

		buf_put_u8(&r->said, VALUES_SAID_NEAR);
		buf_put_varint(&r->said, i);
		buf_put_u8(&r->said, near->has_file);
		buf_put_varint(&r->said, near->before);
		buf_put_varint(&r->said, near->after);
	}
}

int values_say_lines(struct values_reader *r, const struct values_lines *lines)
{
	size_t count = lines->rows.count, end;
	struct sites s = {
		.r = r,
		.lines = lines,
		.find = {.dwarf = r->dwarf,
			 .asked = calloc(count + 1, sizeof(struct dwarf_asked)),
			 .count = count,
			 .budget = DWARF_ENTRY_BUDGET},
		.budget = CODE_BUDGET,
	};
	int err = 0;

	if (!s.find.asked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		s.find.asked[i] = (struct dwarf_asked){.address = lines->rows.at[i].address,
						       .index = i,
						       .unit = lines->rows.at[i].unit};
	for (size_t i = 0; i < count && !err; i = end) {
		for (end = i + 1; end < count && s.find.asked[end].unit == s.find.asked[i].unit;
		     end++)
			;
		memset(s.kept, 0, sizeof(s.kept));
		err = read_unit(&s, &s.find.asked[i], end - i);
	}
	/* a part of the places would look like all of them */
	if (!err && s.count > VALUES_SITES_MAX)
		err = -E2BIG;
	say_near(r, lines);
	free(s.code.at);
	free(s.find.asked);
	return err;
}
