// SPDX-License-Identifier: Apache-2.0
/*
 * Reads functions, their parameters and types with libdw: in a child process, since libdw trusts
 * what it reads (symbol/dwarf_lines.h).
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "probe/values_lines.h"
#include "probe/values_settled.h"
#include "symbol/dwarf_find.h"
#include "symbol/sandbox_child.h"

/* -- functions --------------------------------------------------------------------------------- */

enum value_language values_language(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return VALUE_LANGUAGE_C;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return VALUE_LANGUAGE_CPP;
	case DW_LANG_Go:
		return VALUE_LANGUAGE_GO;
	case DW_LANG_Rust:
		return VALUE_LANGUAGE_RUST;
	default:
		return VALUE_LANGUAGE_OTHER;
	}
}

uint64_t values_prologue_end(Dwarf_Die *unit, uint64_t low, uint64_t high)
{
	uint64_t found = 0;
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(unit, &lines, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool ends;

		if (dwarf_lineaddr(line, &address) || address <= low || address >= high ||
		    dwarf_lineprologueend(line, &ends) || !ends)
			continue;
		if (!found || address < found)
			found = address;
	}
	return found;
}

static bool rule_of(Dwarf_CFI *cfi, uint64_t address, uint8_t *reg, int32_t *offset)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;
	bool found = false;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	if (!dwarf_frame_cfa(frame, &ops, &count) && count == 1) {
		if (ops[0].atom == DW_OP_bregx && ops[0].number < 16) {
			*reg = (uint8_t)ops[0].number;
			*offset = (int32_t)ops[0].number2;
			found = true;
		} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg15) {
			*reg = ops[0].atom - DW_OP_breg0;
			*offset = (int32_t)ops[0].number;
			found = true;
		}
	}
	free(frame);
	return found;
}

bool values_frame_address(const struct values_reader *r, uint64_t address, uint8_t *reg,
			  int32_t *offset)
{
	return rule_of(r->cfi, address, reg, offset) || rule_of(r->eh_cfi, address, reg, offset);
}

bool values_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	bool value = false;

	return dwarf_attr_integrate(die, name, &attribute) && !dwarf_formflag(&attribute, &value) &&
	       value;
}

/* Code of LLVM and Go: behind the prologue; else at the first instruction. */
static void find_attach(struct values_reader *r, Dwarf_Die *unit, const struct dwarf_asked *asked,
			struct value_function *f)
{
	Dwarf_Die function = asked->function;
	Dwarf_Addr low = asked->address, high = 0;

	f->attach = low;
	f->keeps_result = true;
	f->cfa_register = ARCH_REG_SP;
	f->cfa_offset = 8;
	if (f->language != VALUE_LANGUAGE_GO)
		return;
	if (!dwarf_highpc(&function, &high)) {
		uint64_t end = values_prologue_end(unit, low, high);

		if (end && rule_of(r->cfi, end, &f->cfa_register, &f->cfa_offset))
			f->attach = end;
	}
}

void values_say_signed(struct buf *to, int64_t value)
{
	for (bool more = true; more;) {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		more = !((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40)));
		buf_put_u8(to, byte | (more ? 0x80 : 0));
	}
}

void values_say_text(struct buf *to, const char *text)
{
	if (text)
		buf_put(to, text, strnlen(text, VALUES_NAME_MAX));
	buf_put_u8(to, 0);
}

void values_say_param(struct buf *to, const struct value_param *param)
{
	values_say_text(to, param->name);
	buf_put_varint(to, param->type);
	buf_put_u8(to, param->is_result);
	buf_put_varint(to, param->place);
	buf_put_u8(to, param->reg);
	values_say_signed(to, param->displacement);
	buf_put_varint(to, param->count);
	values_say_signed(to, param->behind);
	buf_put_u8(to, param->may_be_old);
	buf_put_u8(to, param->is_address);
	for (unsigned int i = 0; i < param->count; i++) {
		buf_put_varint(to, param->piece[i].offset);
		buf_put_varint(to, param->piece[i].size);
		buf_put_u8(to, param->piece[i].reg);
	}
}

/*
 * Go's compiler lists a result twice that it has taken to pieces. A function cannot have two of one
 * name, but for those that nothing can name.
 */
static bool is_there(const struct value_param *params, size_t count,
		     const struct value_param *param)
{
	for (size_t i = 0; param->name && strcmp(param->name, "_") && i < count; i++)
		if (params[i].name && !strcmp(params[i].name, param->name) &&
		    params[i].is_result == param->is_result)
			return true;
	return false;
}

/* The parameters, in the order of the source. Returns how many. */
static size_t read_params(struct values_reader *r, const struct values_place *place,
			  struct value_param params[VALUES_PARAMS_MAX])
{
	size_t count = 0;
	Dwarf_Die die;

	if (dwarf_child(place->function, &die))
		return 0;
	do {
		struct value_param *param = &params[count];

		if (dwarf_tag(&die) != DW_TAG_formal_parameter || count == VALUES_PARAMS_MAX)
			continue;
		*param = (struct value_param){
			.name = dwarf_diename(&die),
			.type = types_number_of(&r->types, &die, 0),
			.is_result = values_flag(&die, DW_AT_variable_parameter),
		};
		if (r->question->wanted.is_go && is_there(params, count, param))
			continue;
		values_place_param(place, &die, param);
		count++;
	} while (dwarf_next_sibling(&die));
	return count;
}

/* A function may be in several parts, of which each begins somewhere; the first one is called. */
static bool begins_at(Dwarf_Die *function, uint64_t address)
{
	Dwarf_Addr base, start, end;

	if (!dwarf_entrypc(function, &start) && start == address)
		return true;
	return dwarf_ranges(function, 0, &base, &start, &end) > 0 && start == address;
}

static size_t known_places(const struct value_param *params, size_t count)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		known += params[i].place == VALUE_REGISTERS || params[i].place == VALUE_MEMORY ||
			 params[i].place == VALUE_AT_POINTER || params[i].place == VALUE_BEHIND ||
			 params[i].place == VALUE_CONSTANT;
	return known;
}

/*
 * Was a parameter put there by the caller, above the function's own frame? Of Rust that is not
 * sure: its optimised code uses the place for values that it has put together by itself.
 */
static bool is_callers(const struct value_function *behind, const struct value_param *param)
{
	return behind->language != VALUE_LANGUAGE_RUST && param->reg == behind->cfa_register &&
	       param->displacement >= behind->cfa_offset;
}

/* Homes in the function's own frame: of what came there from registers. */
static size_t homes_of(Dwarf_Die *function, const struct value_function *behind,
		       const struct value_param *params, size_t count,
		       struct value_home homes[VALUES_PARAMS_MAX])
{
	size_t found = 0, at = 0;
	Dwarf_Die die;

	if (dwarf_child(function, &die))
		return 0;
	do {
		uint64_t size;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter || at == count)
			continue;
		size = params[at].place == VALUE_BEHIND ? 8 : values_size(&die);
		if ((params[at].place == VALUE_AT_POINTER || params[at].place == VALUE_BEHIND) &&
		    (params[at].reg == 6 || params[at].reg == 7) && size &&
		    !is_callers(behind, &params[at]))
			homes[found++] =
				(struct value_home){.reg = params[at].reg,
						    .displacement = params[at].displacement,
						    .size = size};
		if ((params[at].place == VALUE_MEMORY ||
		     (params[at].place == VALUE_BEHIND && params[at].reg == VALUE_REGISTER_CFA)) &&
		    params[at].displacement < 0 && size)
			homes[found++] = (struct value_home){
				.reg = behind->cfa_register,
				.displacement = params[at].displacement + behind->cfa_offset,
				.size = size,
			};
		at++;
	} while (dwarf_next_sibling(&die));
	return found;
}

/* GCC marks no end of a prologue: the next line of the function begins behind it. */
static uint64_t second_line(Dwarf_Die *unit, uint64_t low, uint64_t high)
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

/*
 * C and C++, without optimisation: integers are in registers at the first instruction, where a
 * probe costs least. What comes in vector registers can be read once it has been stored.
 */
static bool needs_settling(struct values_place *place, const struct value_param *params,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (params[i].place != VALUE_HOME && params[i].place != VALUE_LATE &&
		    params[i].place != VALUE_MEMORY)
			return false;
	return values_has_floats(place->function);
}

/*
 * Without optimisation: at the first instruction, DWARF knows only where parameters will be. The
 * convention of Rust is not one that could be relied on, and that of C has vector registers. The
 * probe goes behind the prologue.
 */
static void settle(struct values_reader *r, Dwarf_Die *unit, struct values_place *place,
		   struct value_function *f, struct value_param params[VALUES_PARAMS_MAX],
		   size_t count)
{
	struct value_param settled[VALUES_PARAMS_MAX];
	struct value_home homes[VALUES_PARAMS_MAX];
	struct value_function behind = *f;
	bool keeps_first, is_rust = f->language == VALUE_LANGUAGE_RUST;
	Dwarf_Addr high;

	if (known_places(params, count) == count || dwarf_highpc(place->function, &high) ||
	    (!is_rust && !needs_settling(place, params, count)))
		return;
	behind.attach = values_prologue_end(unit, f->attach, high);
	if (!behind.attach && !is_rust)
		behind.attach = second_line(unit, f->attach, high);
	place->address = behind.attach;
	place->is_settled = true;
	if (!behind.attach ||
	    !values_frame_address(r, behind.attach, &behind.cfa_register, &behind.cfa_offset) ||
	    read_params(r, place, settled) != count ||
	    known_places(settled, count) <= known_places(params, count) ||
	    (!is_rust && known_places(settled, count) < count) ||
	    !values_are_settled(r->main_elf, r->question->main_fd, f->attach, behind.attach, homes,
				homes_of(place->function, &behind, settled, count, homes),
				&keeps_first)) {
		place->is_settled = false;
		place->address = f->attach;
		return;
	}
	memcpy(params, settled, count * sizeof(*params));
	*f = behind;
	f->keeps_result = keeps_first;
}

/* "clang LLVM (rustc version 1.63.0)": 63. */
static uint32_t rust_version(Dwarf_Die *unit)
{
	static const char before[] = "rustc version 1.";
	Dwarf_Attribute attribute;
	const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));
	const char *at = producer ? strstr(producer, before) : NULL;

	return at ? (uint32_t)strtoul(at + strlen(before), NULL, 10) : 0;
}

/* How the function is called, and by which callers. */
static uint8_t flags_of(Dwarf_Die *function, bool is_optimised)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;
	const char *linked =
		dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
	uint8_t flags = is_optimised ? VALUES_OPTIMISED : 0;

	if (values_flag(function, DW_AT_external))
		flags |= VALUES_EXTERNAL;
	/* LLVM, where a parameter or the result has been left out */
	if (!dwarf_formudata(dwarf_attr(function, DW_AT_calling_convention, &attribute),
			     &convention) &&
	    convention == DW_CC_nocall)
		flags |= VALUES_CHANGED;
	if (linked && (!strncmp(linked, "_ZN", 3) || !strncmp(linked, "_R", 2)))
		flags |= VALUES_MANGLED;
	return flags;
}

static void say_function(struct values_reader *r, Dwarf_Die *unit, const struct dwarf_asked *asked)
{
	struct value_param params[VALUES_PARAMS_MAX + 1];
	struct value_function f = {.language = values_language(unit)};
	Dwarf_Die function = asked->function, result;
	struct values_place place = {.function = &function};
	bool all_home = true, any = false;
	Dwarf_Attribute attribute;
	Dwarf_Addr high;
	size_t count, all = 0;

	/* a name of a place within the function has no parameters of its own */
	if (!begins_at(&function, asked->address))
		return;
	find_attach(r, unit, asked, &f);
	/* where the probe of Go's is, the convention says more (abi_go.c) */
	place.address = f.language == VALUE_LANGUAGE_GO ? asked->address : f.attach;
	if ((f.language == VALUE_LANGUAGE_C || f.language == VALUE_LANGUAGE_CPP) &&
	    !dwarf_highpc(&function, &high))
		place.behind = values_prologue_end(unit, f.attach, high);
	count = read_params(r, &place, params);
	if (f.language == VALUE_LANGUAGE_RUST || f.language == VALUE_LANGUAGE_C ||
	    f.language == VALUE_LANGUAGE_CPP)
		settle(r, unit, &place, &f, params, count);
	all = count;
	if (f.language != VALUE_LANGUAGE_GO &&
	    dwarf_formref_die(dwarf_attr_integrate(&function, DW_AT_type, &attribute), &result))
		params[count++] = (struct value_param){
			.type = types_number(&r->types, &result, 0),
			.is_result = true,
			.place = VALUE_NOT_KNOWN,
		};
	for (size_t i = 0; i < count; i++) {
		any |= !params[i].is_result;
		all_home &= params[i].is_result || params[i].place == VALUE_HOME ||
			    params[i].place == VALUE_LATE || params[i].place == VALUE_MEMORY;
	}
	buf_put_u8(&r->said, VALUES_SAID_FUNCTION);
	buf_put_varint(&r->said, asked->index);
	buf_put_varint(&r->said, f.language);
	buf_put_u8(&r->said, flags_of(&function, place.is_settled ? known_places(params, all) < all
								  : !any || !all_home) |
				     (f.keeps_result ? VALUES_KEEPS_RESULT : 0));
	buf_put_varint(&r->said, f.language == VALUE_LANGUAGE_RUST ? rust_version(unit) : 0);
	buf_put_varint(&r->said, f.attach);
	buf_put_u8(&r->said, f.cfa_register);
	values_say_signed(&r->said, f.cfa_offset);
	buf_put_varint(&r->said, count);
	for (size_t i = 0; i < count; i++)
		values_say_param(&r->said, &params[i]);
	if (r->said.count >= SANDBOX_SAY_AT)
		sandbox_say(r->pipe, &r->said);
}

static void close_all(struct values_reader *r)
{
	dwarf_end(r->dwarf);
	dwarf_end(r->alternate);
	elf_end(r->elf);
	if (r->eh_cfi)
		dwarf_cfi_end(r->eh_cfi);
	elf_end(r->main_elf);
	r->dwarf = r->alternate = NULL;
	r->elf = r->main_elf = NULL;
	r->cfi = r->eh_cfi = NULL;
}

static int open_all(struct values_reader *r)
{
	const struct values_question *q = r->question;

	elf_version(EV_CURRENT);
	r->elf = elf_begin(q->fd, ELF_C_READ_MMAP, NULL);
	r->dwarf = r->elf ? dwarf_begin_elf(r->elf, DWARF_C_READ, NULL) : NULL;
	if (!r->dwarf)
		return -EBADMSG;
	r->alternate = q->alternate_fd >= 0 ? dwarf_begin(q->alternate_fd, DWARF_C_READ) : NULL;
	if (r->alternate)
		dwarf_setalt(r->dwarf, r->alternate);
	r->main_elf = elf_begin(q->main_fd, ELF_C_READ_MMAP, NULL);
	r->cfi = dwarf_getcfi(r->dwarf);
	r->eh_cfi = r->main_elf ? dwarf_getcfi_elf(r->main_elf) : NULL;
	return 0;
}

/* What libdw may keep of units whose lines were looked at. */
#define KEPT_MAX ((size_t)512 << 20)

static size_t memory_used(void)
{
	struct mallinfo2 used = mallinfo2();

	return used.uordblks + used.hblkhd;
}

int values_forget_if_large(struct values_reader *r)
{
	int err;

	if (memory_used() < r->used + KEPT_MAX)
		return 0;
	close_all(r);
	err = open_all(r);
	return err ? err : 1;
}

static int compare_units(const void *a, const void *b)
{
	const struct dwarf_asked *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_all(struct values_reader *r)
{
	const struct values_wanted *q = &r->question->wanted;
	struct dwarf_finder find = {
		.dwarf = r->dwarf,
		.asked = calloc(q->count + 1, sizeof(struct dwarf_asked)),
		.count = q->count,
		.budget = DWARF_ENTRY_BUDGET,
	};
	size_t end;
	int err;

	if (!find.asked)
		return -ENOMEM;
	for (size_t i = 0; i < q->count; i++)
		find.asked[i] = (struct dwarf_asked){.address = q->addresses[i], .index = i};
	err = dwarf_find_units(&find);
	qsort(find.asked, find.count, sizeof(*find.asked), compare_units);
	for (size_t i = 0; i < find.count; i = end) {
		Dwarf_Die unit;

		for (end = i + 1; end < find.count && find.asked[end].unit == find.asked[i].unit;
		     end++)
			;
		if (!find.asked[i].unit || !dwarf_offdie(r->dwarf, find.asked[i].unit, &unit))
			continue;
		if (dwarf_find_functions(&find, &unit, &find.asked[i], end - i))
			err = -E2BIG;
		for (size_t k = i; k < end; k++)
			if (find.asked[k].has_function)
				say_function(r, &unit, &find.asked[k]);
	}
	free(find.asked);
	return err;
}

/* Where the linker of Go puts the descriptions of types; 0: it does not say. */
static uint64_t descriptions_of(Elf *elf)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB ||
		    !header.sh_entsize)
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
			const char *name = gelf_getsym(data, (int)i, &symbol)
						   ? elf_strptr(elf, header.sh_link, symbol.st_name)
						   : NULL;

			if (name && (!strcmp(name, "runtime.types") || !strcmp(name, "type:*") ||
				     !strcmp(name, "type.*")))
				return symbol.st_value;
		}
	}
	return 0;
}

void values_read(void *context, int pipe, int err)
{
	struct values_reader r = {.question = context, .pipe = pipe};
	struct values_lines lines = {0};

	r.used = memory_used();
	r.types.is_go = r.question->wanted.is_go;
	if (!err)
		err = open_all(&r);
	if (!err && r.types.is_go)
		r.types.descriptions = descriptions_of(r.elf);
	if (!err && r.question->wanted.line_count)
		err = values_find_lines(&r, &lines);
	if (!err && r.question->wanted.count)
		err = read_all(&r);
	if (!err && r.question->wanted.line_count)
		err = values_say_lines(&r, &lines);
	types_say(&r.types, &r.said, pipe);
	if (!err && r.types.has_interfaces) {
		types_number_all(&r.types, r.dwarf);
		types_say(&r.types, &r.said, pipe);
	}
	buf_put_u8(&r.said, VALUES_SAID_END);
	buf_put_varint(&r.said, (uint64_t)-err);
	buf_put_varint(&r.said, r.types.cut);
	sandbox_say(pipe, &r.said);
	types_free(&r.types);
	buf_free(&r.said);
	values_lines_free(&lines);
	close_all(&r);
}
