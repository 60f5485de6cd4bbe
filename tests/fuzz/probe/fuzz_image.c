// SPDX-License-Identifier: Apache-2.0
/* An ELF image in, the list of its functions out: in all ways that probes can be wished for. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_function(const struct probe_functions *list, const struct probe_function *f,
			   size_t size)
{
	check(f->name && f->symbol && f->symbol[0]);
	check((uint64_t)f->first_exit + f->exits <= list->exit_count);
	check(f->exit == PROBE_EXIT_RET || !f->exits);
	if (f->refusal != PROBE_ALLOWED)
		return;
	check(f->entry.offset < size);
	check(f->exit != PROBE_EXIT_RETURN || !f->entry.words);
	check(!f->is_go || f->exit != PROBE_EXIT_RETURN);
	for (uint32_t i = 0; i < f->exits; i++) {
		check(list->exits[f->first_exit + i].offset < size);
		check(list->exits[f->first_exit + i].offset != f->entry.offset);
	}
}

static void list(const struct symbol_image *image, const struct choice *choice,
		 enum probe_exit_wish wish, bool calm)
{
	const struct probe_question question = {
		.image = image,
		.choice = choice,
		.own = true,
		.called = true,
		.exit = wish,
		.calm = calm,
		.refused_too = true,
	};
	struct probe_functions functions;
	const char *near[5];
	int err = probe_functions_of(&question, &functions, NULL);

	check(!err || err == -ENOEXEC || err == -E2BIG || err == -EIO);
	if (err)
		return;
	for (size_t i = 0; i < functions.count; i++) {
		check(!i || functions.at[i].address > functions.at[i - 1].address);
		check_function(&functions, &functions.at[i], image->memory_size);
	}
	check(probe_near(&functions, "main", near, 5) <= 5);
	probe_functions_free(&functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct symbol_image image = {.fd = -1, .memory = data, .memory_size = size};
	struct choice *all, *some;

	if (choice_new(&all) || choice_new(&some))
		abort();
	check(!choice_add_function(some, true, "*a*", NULL));
	check(!choice_add_function(some, false, "re:b+$", NULL));
	check(!choice_add_function(some, true, "*@lib*", NULL));
	list(&image, all, PROBE_WISH_AUTO, probe_is_calm(&image));
	list(&image, all, PROBE_WISH_AUTO, true);
	list(&image, some, PROBE_WISH_RET, false);
	list(&image, some, PROBE_WISH_INFERRED, false);
	choice_free(all);
	choice_free(some);
	return 0;
}
