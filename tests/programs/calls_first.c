// SPDX-License-Identifier: Apache-2.0
/*
 * Calls first() before anything else. As a library (-DLIBRARY) its constructor does so, while it is
 * being loaded. With a library's name as its argument, the program (unless -DSTATIC) loads that
 * before it calls first() itself.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "calls.h"

#define TIMES 10

#ifdef LIBRARY
#define first first_of_library
#endif

COUNTED(first);

unsigned long first(unsigned long value);

KEPT unsigned long first(unsigned long value)
{
	CALLED(first);
	return value * 31 + 1;
}

static void call(void)
{
	for (int i = 0; i < TIMES; i++)
		calls_add(first((unsigned long)i));
}

#ifdef LIBRARY
__attribute__((constructor)) static void loaded(void)
{
	call();
	TELL_AS(first, "first_of_library");
}
#else
int main(int argc, char **argv)
{
#ifdef STATIC
	(void)argc;
	(void)argv;
#else
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
#endif
	call();
	TELL(first);
	return calls_end();
}
#endif
