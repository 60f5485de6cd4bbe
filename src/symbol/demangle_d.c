// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle_d.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * How far back a reference at q ("Q" and a number to the base of 26, whose last digit is a small
 * letter) leads; 0: it is none. *length: of the reference itself.
 */
static size_t reference(const char *q, size_t *length)
{
	size_t back = 0, i = 1;

	for (; isupper((unsigned char)q[i]) && back < SIZE_MAX / 64; i++)
		back = back * 26 + (size_t)(q[i] - 'A');
	if (!islower((unsigned char)q[i]))
		return 0;
	*length = i + 1;
	return back * 26 + (size_t)(q[i] - 'a');
}

/*
 * What follows a place that is referred to may be anything up to the reference itself, so a
 * reference counts for all in between; one to an identifier, which begins with its length, for no
 * more than that. A letter Q within an identifier is taken for a reference as well: a bound may be
 * too high.
 */
size_t demangle_d_cost(const char *name)
{
	size_t count, i, cost;
	size_t *upto; /* cost of the characters before a place */

	if (strncmp(name, "_D", 2) || (!isdigit((unsigned char)name[2]) && strcmp(name, "_Dmain")))
		return 0;
	count = strlen(name);
	upto = calloc(count + 1, sizeof(*upto));
	if (!upto)
		return 0;
	for (i = 0; i < count; i++) {
		size_t length, back = name[i] == 'Q' ? reference(name + i, &length) : 0, add = 1;

		if (back && back <= i && isdigit((unsigned char)name[i - back]))
			add += (size_t)strtoul(name + i - back, NULL, 10);
		else if (back && back <= i)
			add += upto[i] - upto[i - back];
		if (add > DEMANGLE_D_COST_MAX || upto[i] + add > DEMANGLE_D_COST_MAX)
			break;
		upto[i + 1] = upto[i] + add;
	}
	cost = i == count ? upto[count] : 0;
	free(upto);
	return cost;
}

/* Cuts "(…)" at the end, but not "!(…)", which are arguments of a template. */
static void drop_parameters(char *text)
{
	size_t end = strlen(text), depth = 0, i = end;

	if (!end || text[end - 1] != ')')
		return;
	while (i--) {
		depth += text[i] == ')';
		depth -= text[i] == '(';
		if (!depth)
			break;
	}
	if (!depth && i && text[i - 1] != '!')
		text[i] = 0;
}

char *demangle_d(const char *name, bool parameters)
{
	char *text = demangle_d_cost(name) ? dlang_demangle(name, DMGL_PARAMS) : NULL;

	if (text && !parameters)
		drop_parameters(text);
	return text;
}
