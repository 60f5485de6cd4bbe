// SPDX-License-Identifier: Apache-2.0
#include "sources/probed_symbols.h"

#include <errno.h>
#include <string.h>

static bool is_library(const struct probed_symbols *symbols, const struct image *image)
{
	const char *slash = strrchr(image->path, '/'), *name = slash ? slash + 1 : image->path;

	for (size_t i = 0; symbols->libraries[i]; i++)
		if (!strncmp(name, symbols->libraries[i], strlen(symbols->libraries[i])))
			return image->kind == IMAGE_FILE && image->is_elf;
	return false;
}

static int add_function(const struct probed_symbols *symbols, struct probed_look *look,
			const struct probe_function *function)
{
	size_t i = 0;

	while (i < symbols->count && strcmp(symbols->symbol(i), function->symbol) != 0)
		i++;
	return i < symbols->count ? symbols->add(look, function, i) : 0;
}

static int find(const struct probed_symbols *symbols, struct probed_look *look,
		const struct probe_question *question, struct fail *why)
{
	struct probe_functions found;
	int err = probe_functions_of(question, &found, why);

	if (err)
		return err;
	for (size_t i = 0; i < found.count && !err; i++)
		err = add_function(symbols, look, &found.at[i]);
	probe_functions_free(&found);
	return err ? fail_errno(why, err, NULL, "cannot look at %s", look->image->path) : 0;
}

int probed_symbols_look(const struct probed_symbols *symbols, struct probed_look *look,
			struct fail *why)
{
	const struct image *image = look->image;
	const struct symbol_image file = {.fd = image->fd,
					  .path = image->path,
					  .root = image->root,
					  .build_id = image->build_id,
					  .build_id_size = image->build_id_size};
	struct probe_question question = {
		.image = &file, .own = true, .exit = PROBE_WISH_RETURN, .stays = symbols->stays};
	struct choice *choice = NULL;
	int err;

	if (!is_library(symbols, image))
		return -ENOENT;
	err = choice_new(&choice);
	for (size_t i = 0; i < symbols->count && !err; i++)
		err = choice_add_function(choice, true, symbols->symbol(i), why);
	question.choice = choice;
	if (!err)
		err = find(symbols, look, &question, why);
	choice_free(choice);
	if (!err && !look->places.count)
		err = fail(why, -ENOTSUP, NULL, "%s: %s", image->path, symbols->none);
	return err;
}
