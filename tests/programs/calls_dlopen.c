// SPDX-License-Identifier: Apache-2.0
/*
 * Loads libcalls.so, which lies beside it, after it has started; calls it; unloads it; all of it 3 times.
 * The first time it stays until a tracer has put a breakpoint into it, for the seconds of the first argument (0) at most.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

COUNTED(user);

typedef unsigned long function(unsigned long);

KEPT static void user(function *twice)
{
	CALLED(user);
	for (unsigned long i = 0; i < 4; i++)
		calls_add(twice(i));
}

static void wait_for_breakpoint(const void *code, const void *as_loaded, size_t size,
				time_t seconds)
{
	time_t end = time(NULL) + seconds;

	while (!memcmp(code, as_loaded, size) && time(NULL) < end)
		usleep(1000);
}

int main(int argc, char **argv)
{
	time_t seconds = argc > 1 ? atoi(argv[1]) : 0;
	char self[PATH_MAX], path[PATH_MAX + 32], as_loaded[4];
	function *twice;

	if (!realpath("/proc/self/exe", self))
		return 1;
	snprintf(path, sizeof(path), "%s/libcalls.so", dirname(self));
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		twice = (function *)dlsym(library, "lib_twice");
		memcpy(as_loaded, (const void *)twice, sizeof(as_loaded));
		user(twice);
		/* its counters begin anew when it is loaded again */
		((void (*)(void))dlsym(library, "lib_tell"))();
		if (!i)
			wait_for_breakpoint((const void *)twice, as_loaded, sizeof(as_loaded),
					    seconds);
		dlclose(library);
	}
	TELL(user);
	return calls_end();
}
