// SPDX-License-Identifier: Apache-2.0
#include "film/frame_kinds.h"

#include <stddef.h>
#include <string.h>

#include "film/film.h"

#define ENDINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct film_frame_kind_row kinds[] = {
	[FILM_FRAME_NATIVE] = {"native", .has_address = true},
	[FILM_FRAME_KERNEL] = {"kernel", .has_address = true},
	[FILM_FRAME_JIT] = {"jit", .has_address = true},
	[FILM_FRAME_MARK] = {"mark", .has_address = true},
	[FILM_FRAME_PYTHON] = {"python", .is_language = true, .endings = ENDINGS(".py")},
	[FILM_FRAME_JAVA] = {"java", .is_language = true, .endings = ENDINGS(".java")},
	[FILM_FRAME_LUA] = {"lua", .is_language = true, .endings = ENDINGS(".lua")},
	[FILM_FRAME_JAVASCRIPT] = {"javascript", .is_language = true,
				   .endings = ENDINGS(".js", ".mjs", ".ts")},
	[FILM_FRAME_LABEL] = {"label"},
	[FILM_FRAME_DEVICE] = {"device", .has_address = true},
};

const struct film_frame_kind_row *film_frame_kind_of(unsigned int kind)
{
	static const struct film_frame_kind_row unknown = {"unknown"};

	return kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind].name ? &kinds[kind]
									   : &unknown;
}

static bool ends_with(const char *path, const char *ending)
{
	size_t length = strlen(path), of_ending = strlen(ending);

	return length > of_ending && !strcmp(path + length - of_ending, ending);
}

unsigned int film_frame_kind_of_file(const char *path)
{
	for (unsigned int kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (const char *const *ending = kinds[kind].endings; ending && *ending; ending++)
			if (ends_with(path, *ending))
				return kind;
	return 0;
}
