// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/called.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* The file that defines a symbol that the program calls. */
struct definition {
	size_t definitions; /* how many libraries do */
	size_t library, function;
	size_t stub;
};

static bool is_stub(const struct probe_function *f)
{
	return f->library && (f->refusal == PROBE_ALLOWED || f->refusal == PROBE_REFUSED_NO_STUB);
}

static uint64_t key_of(const char *symbol)
{
	return hash_bytes(symbol, strlen(symbol));
}

/*
 * A choice of just the functions that are called, and a map from their names to their definitions.
 */
static int list_stubs(const struct probe_functions *stubs, struct choice *choice,
		      struct definition *definitions, struct map *by_symbol)
{
	size_t i;

	for (i = 0; i < stubs->count; i++) {
		const struct probe_function *f = &stubs->at[i];

		definitions[i].stub = i;
		/*
		 * names with characters that mean something in a pattern are not in C's libraries
		 */
		if (!is_stub(f) || strpbrk(f->symbol, "*?[\\@: "))
			continue;
		if (choice_add_function(choice, true, f->symbol, NULL) ||
		    !map_put(by_symbol, key_of(f->symbol), i))
			return -ENOMEM;
	}
	return 0;
}

static void count_definitions(const struct called_library *library, size_t number,
			      const struct probe_functions *stubs, struct definition *definitions,
			      const struct map *by_symbol)
{
	size_t i;

	for (i = 0; i < library->functions.count; i++) {
		const char *symbol = library->functions.at[i].symbol;
		const uint64_t *stub = map_get(by_symbol, key_of(symbol));
		struct definition *definition;

		if (!stub || strcmp(stubs->at[*stub].symbol, symbol))
			continue;
		definition = &definitions[*stub];
		definition->definitions++;
		definition->library = number;
		definition->function = i;
	}
}

/* "fn@lib" for a stub that does not know its library; null: no memory. */
static const char *name_with_library(struct called_library *library, const char *name)
{
	char *whole;

	if (asprintf(&whole, "%s@%s", name, library->name) < 0)
		return NULL;
	if (vec_push(&library->names.all, whole))
		return whole;
	free(whole);
	return NULL;
}

/*
 * Is the function in the library the better place? Then it takes over what the stub's exit may be.
 */
static bool use_library(const struct probe_function *stub, struct called_library *library,
			struct probe_function *function, const struct called_wish *wish)
{
	const char *name = stub->library[0] ? stub->name : name_with_library(library, stub->name);

	if (!name)
		return false;
	if (function->refusal != PROBE_ALLOWED ||
	    (stub->refusal == PROBE_ALLOWED && function->cost >= stub->cost &&
	     function->exit == stub->exit && !wish->stays))
		return false;
	/* what is called is known by name, although its code calls more than can be followed */
	if (stub->exit == PROBE_EXIT_RETURN && function->exit != PROBE_EXIT_RETURN) {
		if (function->entry.words)
			return false;
		function->exit = PROBE_EXIT_RETURN;
		function->exits = 0;
	}
	function->name = name;
	function->library = stub->library[0] ? stub->library : strrchr(name, '@') + 1;
	return true;
}

static void keep_only(struct probe_functions *functions, const bool *taken)
{
	size_t kept = 0, i;

	for (i = 0; i < functions->count; i++)
		if (taken[i])
			functions->at[kept++] = functions->at[i];
	functions->count = kept;
}

static int move(const struct probe_functions *stubs, bool *moved, struct called_library *library,
		size_t number, const struct definition *definitions, const struct called_wish *wish)
{
	bool *taken = calloc(library->functions.count + 1, sizeof(*taken));
	size_t i;

	if (!taken)
		return -ENOMEM;
	for (i = 0; i < stubs->count; i++) {
		const struct definition *d = &definitions[i];

		if (d->definitions != 1 || d->library != number ||
		    !use_library(&stubs->at[i], library, &library->functions.at[d->function], wish))
			continue;
		taken[d->function] = moved[i] = true;
	}
	keep_only(&library->functions, taken);
	free(taken);
	return 0;
}

void called_names_free(struct called_names *names)
{
	vec_foreach (&names->all, name)
		free(*name);
	vec_free(&names->all);
}

int called_find(struct symbols *symbols, const struct probe_functions *stubs, bool *moved,
		struct called_library *libraries, size_t count, const struct called_wish *wish,
		struct fail *why)
{
	struct definition *definitions = calloc(stubs->count + 1, sizeof(*definitions));
	struct map by_symbol = {0};
	struct choice *choice = NULL;
	int err = choice_new(&choice);
	size_t i;

	if (!definitions)
		err = -ENOMEM;
	if (!err)
		err = list_stubs(stubs, choice, definitions, &by_symbol);
	for (i = 0; !err && by_symbol.count && i < count; i++) {
		struct probe_question question = {
			.image = libraries[i].image,
			.symbols = symbols,
			.choice = choice,
			.own = true,
			.inside = libraries[i].name,
			.exit = wish->exit,
			.calm = wish->calm,
			.stays = wish->stays,
			.refused_too = true, /* they define the symbol all the same */
		};

		/* a file that cannot be read defines nothing that is known: its stubs stay */
		if (!probe_functions_of(&question, &libraries[i].functions, NULL))
			count_definitions(&libraries[i], i, stubs, definitions, &by_symbol);
	}
	for (i = 0; !err && i < count; i++)
		err = move(stubs, moved, &libraries[i], i, definitions, wish);
	if (err)
		fail_errno(why, err, NULL, "cannot trace library functions");
	free(definitions);
	map_free(&by_symbol);
	choice_free(choice);
	return err;
}
