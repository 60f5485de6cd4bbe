// SPDX-License-Identifier: Apache-2.0
#include "host/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "base/tokens.h"

void host_say(const char *format, ...)
{
	char words[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	flockfile(stderr);
	fputs("stackcam: ", stderr);
	text_print_safe(stderr, words);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void host_say_words(void *context, const char *words)
{
	(void)context;
	host_say("%s", words);
}

void host_say_fail(const struct fail *why, const char *then)
{
	host_say("%s%s%s%s", why->what, why->to_do[0] ? "; " : "", why->to_do, then);
}

void host_say_exposed(const char *token_file)
{
	unsigned int mode = token_file ? tokens_exposed(token_file) : 0;

	if (mode)
		host_say("warning: others can read the tokens in %s (mode %04o): 'chmod 600 %s'",
			 token_file, mode, token_file);
}

#define EACH_NS 60000000000ull

bool say_rarely(struct say_rarely *of, uint64_t time, uint64_t *more)
{
	*more = of->more;
	if (time < of->next) {
		of->more++;
		return false;
	}
	of->next = time + EACH_NS;
	of->more = 0;
	return true;
}
