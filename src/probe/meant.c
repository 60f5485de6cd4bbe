// SPDX-License-Identifier: Apache-2.0
/* Which of a function's names is meant. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/internal.h"
#include "probe/refusals.h"

/* Names that one address can have, as far as they are looked at. */
#define ALIASES_MAX 32

/* The best name first: global, weak, local; not reserved for the library's own use; short. */
static int better(const struct symbol_functions *listed, const struct symbol_function *a,
		  const struct symbol_function *b)
{
	const char *x = symbol_functions_text(listed, a->name);
	const char *y = symbol_functions_text(listed, b->name);
	bool hidden_x = !strncmp(x, "__", 2), hidden_y = !strncmp(y, "__", 2);
	size_t length_x = strlen(x), length_y = strlen(y);

	if (a->binding != b->binding)
		return a->binding > b->binding ? -1 : 1;
	if (hidden_x != hidden_y)
		return hidden_x ? 1 : -1;
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return strcmp(x, y);
}

/* The names of a span, sorted, each once. */
static size_t aliases_of(const struct symbol_functions *listed, const struct span *span,
			 const struct symbol_function **names)
{
	size_t end = symbol_functions_next(listed, span->symbol), count = 0;

	for (size_t i = span->symbol; i < end && count < ALIASES_MAX; i++) {
		const struct symbol_function *f = &listed->at[i];
		size_t at = count;
		int order = 1;

		if (f->kind == SYMBOL_FUNCTION_LABEL)
			continue;
		while (at && (order = better(listed, f, names[at - 1])) < 0)
			at--;
		if (at && !order)
			continue; /* it is in both tables */
		memmove(names + at + 1, names + at, (count - at) * sizeof(*names));
		names[at] = f;
		count++;
	}
	return count;
}

/* A name's form without what compilers append to copies of a function: "f" of "f.part.0". */
static bool base_is_meant(const struct choice *choice, const char *name, const char *symbol,
			  const char *library)
{
	size_t length = refusal_base_length(symbol);
	const char *clone = strstr(name, " [clone ");
	char *plain, *base;
	bool meant = false;

	if (!symbol[length])
		return false;
	base = strndup(symbol, length);
	plain = clone ? strndup(name, (size_t)(clone - name)) : strdup(base ? base : "");
	if (base && plain)
		meant = choice_has(choice, plain, base, library);
	free(base);
	free(plain);
	return meant;
}

int choose_name(const struct probe_question *question, const struct symbol_functions *listed,
		const struct span *span, struct chosen *chosen)
{
	const struct symbol_function *names[ALIASES_MAX + 1];
	size_t count = aliases_of(listed, span, names);

	for (size_t i = 0; i < count; i++) {
		const char *symbol = symbol_functions_text(listed, names[i]->name);
		const char *library = question->inside;
		char *name;

		if (!choice_may_have(question->choice, symbol))
			continue;
		name = symbol_demangle_short(symbol);
		if (!name)
			return -ENOMEM;
		if (is_called(span->kind))
			library = symbol_functions_text(listed, names[i]->library);
		if (choice_has(question->choice, name, symbol, library) ||
		    base_is_meant(question->choice, name, symbol, library)) {
			*chosen = (struct chosen){names[i], symbol, library, name};
			return 0;
		}
		free(name);
	}
	return 0;
}
