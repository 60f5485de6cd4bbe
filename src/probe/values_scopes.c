// SPDX-License-Identifier: Apache-2.0
/* The scopes around an address, and the variables in them: in the child (values_read.c). */
#include <dwarf.h>
#include <string.h>

#include "probe/values_lines.h"
#include "probe/values_settled.h"
#include "symbol/dwarf_find.h"

/* The file in which it is declared; dwarf_decl_file() takes DWARF 5's first one for none. */
static const char *declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Word number;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) ||
	    dwarf_cu_info(attribute.cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &count))
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Was the inlined function called on that line? */
static bool is_called_at(Dwarf_Die *die, Dwarf_Files *files, const char *file, uint32_t number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	const char *path;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value) ||
	    value != number ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value))
		return false;
	path = files ? dwarf_filesrc(files, value, NULL, NULL) : NULL;
	return path && !strcmp(path, file);
}

/* The line of a declaration in that file; 0: it is in another one, or not known. */
static int line_in(Dwarf_Die *die, const char *file)
{
	const char *declared = declared_in(die);
	int line = 0;

	return declared && !strcmp(declared, file) && !dwarf_decl_line(die, &line) ? line : 0;
}

/*
 * The first line of a function in that file. gcc does not say it of lambdas: then that of their
 * first variable.
 */
static int first_line(Dwarf_Die *die, const char *file)
{
	int first = line_in(die, file);
	Dwarf_Die child;

	if (first || dwarf_child(die, &child))
		return first;
	do {
		int tag = dwarf_tag(&child), line;

		if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
			continue;
		line = line_in(&child, file);
		if (line && (!first || line < first))
			first = line;
	} while (dwarf_next_sibling(&child));
	return first;
}

/*
 * Of the functions around an address, one into the other, the line is of the one that begins last
 * before it, in its file. One that was called on the line is not it: its code only begins there.
 */
static unsigned int function_of_line(const struct scopes *scopes, const struct line_row *row,
				     uint32_t number, Dwarf_Files *files)
{
	unsigned int found = 0;
	int begins = -1;

	for (unsigned int i = 0; i < scopes->count; i++) {
		Dwarf_Die die = scopes->at[i];
		int line;

		if (!is_function(&die) || (i && is_called_at(&die, files, row->file, number)))
			continue;
		line = first_line(&die, row->file);
		if (!line || line > (int)number || line < begins)
			continue;
		begins = line;
		found = i;
	}
	return found;
}

void scopes_find(struct dwarf_finder *find, Dwarf_Die *function, uint64_t address,
		 const struct line_row *row, uint32_t number, struct scopes *scopes)
{
	Dwarf_Die scope = *function, unit;
	Dwarf_Files *files;
	size_t count;

	scopes->count = 0;
	do
		scopes->at[scopes->count++] = scope;
	while (scopes->count < SCOPES_MAX && dwarf_enter_scope(find, &scope, address));
	if (!dwarf_offdie(find->dwarf, row->unit, &unit) ||
	    dwarf_getsrcfiles(&unit, &files, &count))
		files = NULL;
	scopes->function = function_of_line(scopes, row, number, files);
}

/* -- is it optimised? -------------------------------------------------------------------------- */

/* "GNU C17 12.2.0 -mtune=generic -O2": gcc says. */
static bool is_optimised_by_producer(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute)), *at;

	at = producer && !strncmp(producer, "GNU ", 4) ? strstr(producer, " -O") : NULL;
	return at && at[3] != '0';
}

static bool has_list(struct dwarf_finder *find, Dwarf_Die *scope, bool is_go, int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die;

	if (depth == DWARF_DEPTH_MAX || dwarf_child(scope, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!find->budget)
			return true;
		find->budget--;
		/* arguments of Go come in registers, also in code that is not optimised */
		if ((tag == DW_TAG_variable || (tag == DW_TAG_formal_parameter && !is_go)) &&
		    dwarf_attr(&die, DW_AT_location, &attribute) && values_is_list(&attribute))
			return true;
		if (dwarf_is_code(tag) && tag != DW_TAG_subprogram &&
		    has_list(find, &die, is_go, depth + 1))
			return true;
	} while (dwarf_next_sibling(&die));
	return false;
}

bool scopes_optimised(struct dwarf_finder *find, Dwarf_Die *unit, Dwarf_Die *function)
{
	return is_optimised_by_producer(unit) ||
	       has_list(find, function, values_language(unit) == VALUE_LANGUAGE_GO, 0);
}

/* -- variables --------------------------------------------------------------------------------- */

/* Is it in the function's own frame, for as long as the function runs? */
static bool is_in_frame(const struct value_param *variable)
{
	switch (variable->place) {
	case VALUE_MEMORY:
		return variable->displacement < 0;
	case VALUE_AT_POINTER:
	case VALUE_BEHIND:
		return true;
	default:
		return false;
	}
}

/*
 * Has the parameter not come to its place yet? Where the code up to there goes straight on, it must
 * have stored something there.
 */
static bool is_not_stored(struct values_reader *r, const struct scopes_question *q,
			  const struct value_param *variable, uint64_t size)
{
	struct value_home home = {.reg = variable->reg,
				  .displacement = variable->displacement,
				  .size = variable->place == VALUE_BEHIND ? 8 : size};
	bool ignored;

	if (q->address == q->low)
		return true;
	if (variable->place == VALUE_MEMORY || variable->reg == VALUE_REGISTER_CFA) {
		if (!q->has_cfa)
			return false;
		home.reg = q->cfa_register;
		home.displacement += q->cfa_offset;
	}
	return (home.reg == 6 || home.reg == 7) && home.size &&
	       values_settle(r->main_elf, r->question->main_fd, q->low, q->address, &home, 1,
			     &ignored) &&
	       !home.is_stored;
}

/* A variable that is declared further down holds nothing that is meant. */
static bool is_not_yet(const struct scopes_question *q, Dwarf_Die *die)
{
	int line = line_in(die, q->row->file);

	return line > (int)q->number || (line == (int)q->number && q->is_first);
}

/* What DWARF says once for a whole function is true only of a part. */
static void settle(struct values_reader *r, const struct scopes_question *q, Dwarf_Die *die,
		   struct value_param *variable)
{
	Dwarf_Attribute attribute;
	bool is_param = dwarf_tag(die) == DW_TAG_formal_parameter;

	if (!is_in_frame(variable) || !dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    values_is_list(&attribute))
		return;
	if (!is_param && is_not_yet(q, die)) {
		variable->place = VALUE_NOT_YET;
		return;
	}
	if (is_param && !q->scopes->function && is_not_stored(r, q, variable, values_size(die)))
		variable->place = VALUE_NOT_KNOWN;
	else
		variable->may_be_old = q->is_optimised;
}

/*
 * Go's compiler calls a variable that it has moved to the heap by "&name", and says where the
 * pointer to it is.
 */
static void step_through(struct values_reader *r, Dwarf_Die *die, struct value_param *variable)
{
	Dwarf_Attribute attribute;
	Dwarf_Die pointer;

	bool is_register = variable->place == VALUE_REGISTERS && variable->count == 1 &&
			   variable->piece[0].reg < 16 && variable->piece[0].size == 8;

	if (!r->types.is_go || variable->name[0] != '&' ||
	    (variable->place != VALUE_MEMORY && variable->place != VALUE_AT_POINTER &&
	     variable->place != VALUE_NOWHERE && variable->place != VALUE_NOT_KNOWN &&
	     !is_register) ||
	    !dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &pointer) ||
	    dwarf_tag(&pointer) != DW_TAG_pointer_type)
		return;
	variable->name++;
	variable->type = types_number_of(&r->types, &pointer, 1);
	variable->behind = 0;
	if (is_register) {
		variable->reg = variable->piece[0].reg;
		variable->count = 0;
		variable->displacement = 0;
		variable->place = VALUE_AT_POINTER;
	} else if (variable->place == VALUE_MEMORY || variable->place == VALUE_AT_POINTER) {
		if (variable->place == VALUE_MEMORY)
			variable->reg = VALUE_REGISTER_CFA;
		variable->place = VALUE_BEHIND;
	}
}

static bool is_shown(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	const char *name;

	if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
		return false;
	name = dwarf_diename(die);
	/* what the compilers have added: "__range1", ".dict", results of Go without a name */
	return name && *name && *name != '.' && *name != '~' &&
	       !values_flag(die, DW_AT_declaration) &&
	       (tag == DW_TAG_formal_parameter || !values_flag(die, DW_AT_artificial));
}

static struct value_param *named(struct value_param *variables, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(variables[i].name, name))
			return &variables[i];
	return NULL;
}

/* One of an inner scope hides that of an outer one, as soon as it is there. */
static size_t add_variable(struct values_reader *r, const struct scopes_question *q, Dwarf_Die *die,
			   struct value_param *variables, size_t count)
{
	struct values_place place = {.function = (Dwarf_Die *)&q->scopes->at[0],
				     .address = q->address,
				     .is_settled = true};
	struct value_param variable = {.name = dwarf_diename(die)}, *hidden;

	variable.type = types_number_of(&r->types, die, 0);
	values_place_within(&place, die, &variable);
	settle(r, q, die, &variable);
	step_through(r, die, &variable);
	hidden = named(variables, count, variable.name);
	if (hidden && variable.place != VALUE_NOT_YET)
		*hidden = variable;
	if (hidden || count == VALUES_PARAMS_MAX)
		return count;
	variables[count] = variable;
	return count + 1;
}

static size_t add_scope(struct values_reader *r, const struct scopes_question *q, Dwarf_Die *scope,
			struct value_param *variables, size_t count)
{
	static const int order[] = {DW_TAG_formal_parameter, DW_TAG_variable};

	for (unsigned int i = 0; i < 2; i++) {
		Dwarf_Die die;

		if (dwarf_child(scope, &die))
			break;
		do
			if (dwarf_tag(&die) == order[i] && is_shown(&die))
				count = add_variable(r, q, &die, variables, count);
		while (dwarf_next_sibling(&die));
	}
	return count;
}

/* Those of which nothing is left in this copy of the function are optimised out. */
static size_t add_lost(struct values_reader *r, Dwarf_Die *scope, struct value_param *variables,
		       size_t count)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin, die;

	if (!dwarf_formref_die(dwarf_attr(scope, DW_AT_abstract_origin, &attribute), &origin) ||
	    dwarf_child(&origin, &die))
		return count;
	do {
		if (!is_shown(&die) || count == VALUES_PARAMS_MAX ||
		    dwarf_attr(&die, DW_AT_location, &attribute) ||
		    dwarf_attr(&die, DW_AT_const_value, &attribute) ||
		    named(variables, count, dwarf_diename(&die)))
			continue;
		variables[count++] =
			(struct value_param){.name = dwarf_diename(&die),
					     .type = types_number_of(&r->types, &die, 0),
					     .place = VALUE_NOWHERE};
	} while (dwarf_next_sibling(&die));
	return count;
}

size_t scopes_variables(struct values_reader *r, const struct scopes_question *q,
			struct value_param variables[VALUES_PARAMS_MAX])
{
	unsigned int i = q->scopes->function;
	Dwarf_Die scope = q->scopes->at[i];
	size_t count = add_scope(r, q, &scope, variables, 0);

	for (i++; i < q->scopes->count; i++) {
		Dwarf_Die inner = q->scopes->at[i];

		if (is_function(&inner))
			break;
		count = add_scope(r, q, &inner, variables, count);
	}
	return add_lost(r, &scope, variables, count);
}
