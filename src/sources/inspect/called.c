// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/called.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* Each is looked up once. */
#define NAMES_MAX 65536u

struct inspect_called {
	struct symbols *symbols;
	struct map known; /* by image and address: the name's place, + 1 */
	vec(char *) names;
};

struct inspect_called *inspect_called_new(struct symbols *symbols)
{
	struct inspect_called *called = calloc(1, sizeof(*called));

	if (called)
		called->symbols = symbols;
	return called;
}

void inspect_called_free(struct inspect_called *called)
{
	if (!called)
		return;
	vec_foreach (&called->names, name)
		free(*name);
	vec_free(&called->names);
	map_free(&called->known);
	free(called);
}

static void keep_name(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	char **name = context;

	(void)index;
	if (count && names[count - 1].function && !*name)
		*name = strdup(names[count - 1].function);
}

/* The name of the function at an address; null: not known. */
static const char *name_at(const struct inspect_names *names, uint64_t address)
{
	struct inspect_called *called = names->called;
	struct {
		uint64_t image, address;
	} place = {names->number, address - names->bias};
	uint64_t key = hash_bytes(&place, sizeof(place));
	const uint64_t *known = map_get(&called->known, key);
	struct fail ignored = {0};
	char *name = NULL;

	if (known)
		return called->names.at[*known - 1];
	if (called->names.count >= NAMES_MAX)
		return NULL;
	(void)symbols_of_image(called->symbols, &names->image, &place.address, 1, keep_name, &name,
			       &ignored);
	if (!vec_push(&called->names, name)) {
		free(name);
		return NULL;
	}
	(void)!map_put(&called->known, key, called->names.count);
	return name;
}

/* Where a template's argument ends: at a comma or a ">" that is not within brackets. */
static const char *end_of_argument(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (strchr("<([{", *at))
			depth++;
		else if (!depth && (*at == ',' || *at == '>'))
			return at;
		else if (strchr(">)]}", *at))
			depth--;
	}
	return NULL;
}

/* The second argument of what calls it, as a name of its own; null: there is none. */
static char *target_of(const char *name)
{
	static const char handler[] = "std::_Function_handler<";
	const char *begin = strstr(name, handler), *end;

	begin = begin ? end_of_argument(begin + strlen(handler)) : NULL;
	if (!begin || *begin != ',')
		return NULL;
	begin += strspn(begin, ", ");
	end = end_of_argument(begin);
	return end ? strndup(begin, (size_t)(end - begin)) : NULL;
}

const char *inspect_called_name(void *context, uint64_t address, uint64_t held)
{
	const struct inspect_names *names = context;
	const char *invoker = name_at(names, address), *name;
	struct {
		uint64_t image, address, is_target;
	} place = {names->number, address - names->bias, 1};
	uint64_t key = hash_bytes(&place, sizeof(place));
	const uint64_t *known = map_get(&names->called->known, key);
	char *target;

	if (!invoker)
		return NULL;
	if (!known) {
		target = target_of(invoker);
		if (!vec_push(&names->called->names, target)) {
			free(target);
			return NULL;
		}
		(void)!map_put(&names->called->known, key, names->called->names.count);
	}
	known = map_get(&names->called->known, key);
	name = known ? names->called->names.at[*known - 1] : NULL;
	/* a pointer to a function, which is in the object */
	if (name && strstr(name, "(*)"))
		return name_at(names, held);
	return name ? name : invoker;
}
