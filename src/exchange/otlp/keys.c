// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/keys.h"

#include <stddef.h>
#include <string.h>

/* Of several types for a kind, the first is written. */
static const struct {
	const char *type;
	enum film_frame_kind kind;
} types[] = {
	{"native", FILM_FRAME_NATIVE},	 {"go", FILM_FRAME_NATIVE},
	{"rust", FILM_FRAME_NATIVE},	 {"kernel", FILM_FRAME_KERNEL},
	{"cpython", FILM_FRAME_PYTHON},	 {"jvm", FILM_FRAME_JAVA},
	{"v8js", FILM_FRAME_JAVASCRIPT}, {"lua", FILM_FRAME_LUA},
};

const char *otlp_frame_type(enum film_frame_kind kind)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].kind == kind)
			return types[i].type;
	return NULL;
}

enum film_frame_kind otlp_frame_kind(const char *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].type, type))
			return types[i].kind;
	return 0;
}
