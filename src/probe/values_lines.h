/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_LINES_H
#define PROBE_VALUES_LINES_H

#include "base/vec.h"
#include "probe/values_reader.h"

/*
 * Lines in the child: values_lines.c finds their rows in the line tables, values_sites.c makes
 * places of them, values_scopes.c finds the variables there.
 */

#define ROWS_MAX  (1u << 16)
#define UNITS_MAX (1u << 20)

/* A row of a line table that says: here the code of a line begins. */
struct line_row {
	Dwarf_Off unit;
	uint64_t address;
	uint32_t line; /* number of the wanted one */
	uint32_t column;
	bool goes_on; /* the row of that line before it lies right in front */
	bool begins;  /* is_stmt */
	const char *file;
};

struct values_lines {
	vec(struct line_row) rows; /* by unit, address and line */
	vec(char *) files;
	struct value_near near[VALUES_LINES_MAX];
};

/* Fills lines, which needs values_lines_free() in any case. Returns 0 or a negative errno. */
int values_find_lines(struct values_reader *r, struct values_lines *lines);
void values_lines_free(struct values_lines *lines);

/* Says the places, and what is near. Returns 0 or a negative errno. */
int values_say_lines(struct values_reader *r, const struct values_lines *lines);

/* -- values_scopes.c --------------------------------------------------------------------------- */

#define SCOPES_MAX 64

/* The scopes around an address, outermost first: a function, and what is in it. */
struct scopes {
	Dwarf_Die at[SCOPES_MAX];
	unsigned int count;
	/* that whose source the line is: a function, or a copy that was inlined */
	unsigned int function;
};

struct dwarf_finder;
void scopes_find(struct dwarf_finder *find, Dwarf_Die *function, uint64_t address,
		 const struct line_row *row, uint32_t number, struct scopes *scopes);

/* What is asked of the variables in scope at a place. */
struct scopes_question {
	const struct scopes *scopes;
	Dwarf_Die *unit;
	const struct line_row *row;
	uint32_t number;   /* of the line */
	uint64_t address;  /* of the probe */
	uint64_t low;	   /* of the function that is really there; its first instruction */
	bool is_first;	   /* no place of the same line in the same function comes before */
	bool is_optimised; /* the function */
	bool has_cfa;
	uint8_t cfa_register; /* at the address */
	int32_t cfa_offset;
};

/* The variables in scope, parameters first. Returns how many. */
size_t scopes_variables(struct values_reader *r, const struct scopes_question *question,
			struct value_param variables[VALUES_PARAMS_MAX]);

/* Is the code of a function optimised, so that variables are not always where they are once? */
bool scopes_optimised(struct dwarf_finder *find, Dwarf_Die *unit, Dwarf_Die *function);

#endif
