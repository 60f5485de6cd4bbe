// SPDX-License-Identifier: Apache-2.0
#include "film/frame_kinds.h"

#include "film/film.h"

static const struct film_frame_kind_row kinds[] = {
	[FILM_FRAME_NATIVE] = {"native", .has_address = true},
	[FILM_FRAME_KERNEL] = {"kernel", .has_address = true},
	[FILM_FRAME_JIT] = {"jit", .has_address = true},
	[FILM_FRAME_MARK] = {"mark", .has_address = true},
	[FILM_FRAME_PYTHON] = {"python", .is_language = true},
	[FILM_FRAME_JAVA] = {"java", .is_language = true},
	[FILM_FRAME_LUA] = {"lua", .is_language = true},
	[FILM_FRAME_JAVASCRIPT] = {"javascript", .is_language = true},
	[FILM_FRAME_LABEL] = {"label"},
};

const struct film_frame_kind_row *film_frame_kind_of(unsigned int kind)
{
	static const struct film_frame_kind_row unknown = {"unknown"};

	return kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind].name ? &kinds[kind]
									   : &unknown;
}
