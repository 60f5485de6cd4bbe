// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int cmd_usage(const char *verb, const char *format, ...)
{
	char words[512];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	fprintf(stderr, "stackcam %s: ", verb);
	text_print_safe(stderr, words);
	fprintf(stderr, "; see 'stackcam %s --help'\n", verb);
	return EXIT_USAGE;
}
