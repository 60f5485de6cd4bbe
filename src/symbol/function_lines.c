// SPDX-License-Identifier: Apache-2.0
#include "symbol/function_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 4096 /* bytes of a name, as a store takes it (store/build_names.h) */

/* What a function is worth as the name of its address; 0: nothing. */
static unsigned int worth(const struct symbol_function *f)
{
	unsigned int kind = f->kind == SYMBOL_FUNCTION_CODE	  ? 3
			    : f->kind == SYMBOL_FUNCTION_RESOLVER ? 2
			    : f->kind == SYMBOL_FUNCTION_STUB || f->kind == SYMBOL_FUNCTION_OWN_STUB
				    ? 1
				    : 0;

	return kind ? kind << 8 | (f->size != 0) << 4 | f->binding : 0;
}

/* "START SIZE NAME\n". A function whose size is not known is known by its start alone. */
static bool put_function(struct buf *to, const struct symbol_functions *all,
			 const struct symbol_function *f)
{
	const char *raw = symbol_functions_text(all, f->name);
	bool is_stub = f->kind == SYMBOL_FUNCTION_STUB || f->kind == SYMBOL_FUNCTION_OWN_STUB;
	char *name = symbol_demangle(raw);

	if (!name)
		return false;
	/* a line cannot have such a name */
	if (*name && !strchr(name, '\n'))
		buf_printf(to, "%" PRIx64 " %" PRIx64 " %.*s%s\n", f->address,
			   f->size ? f->size : 1, NAME_MOST - 8, name, is_stub ? "@plt" : "");
	free(name);
	return !to->failed;
}

int symbol_function_lines(const struct symbol_functions *all, struct buf *to, uint64_t *count)
{
	*count = 0;
	for (size_t i = 0, end; i < all->count; i = end) {
		const struct symbol_function *best = &all->at[i];

		end = symbol_functions_next(all, i);
		for (size_t k = i + 1; k < end; k++)
			if (worth(&all->at[k]) > worth(best))
				best = &all->at[k];
		if (!worth(best) || best->address > INT64_MAX)
			continue;
		if (!put_function(to, all, best))
			return -ENOMEM;
		/* imports have stubs in every file: they are not counted */
		*count += best->kind == SYMBOL_FUNCTION_CODE ||
			  best->kind == SYMBOL_FUNCTION_RESOLVER;
	}
	return 0;
}
