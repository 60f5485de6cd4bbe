// SPDX-License-Identifier: Apache-2.0
/*
 * Loads plugin-a.so, spins 10 ms in it, unloads it; the same with plugin-b.so; again and again.
 * They mostly land at the same address: at the end says how often, on standard error.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "program.h"

KEPT static void *use_plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*run)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&run = dlsym(library, "plugin_run");
	if (!run || run() != 0)
		exit(1);
	dlclose(library);
	return *(void **)&run;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX / 2] = "", a[PATH_MAX], b[PATH_MAX];
	unsigned int same = 0, rounds = 0;

	program_begin(argc, argv);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	dirname(self);
	snprintf(a, sizeof(a), "%s/plugin-a.so", self);
	snprintf(b, sizeof(b), "%s/plugin-b.so", self);
	program_ready();
	for (; !program_over(); rounds++)
		same += use_plugin(a) == use_plugin(b);
	fprintf(stderr, "%u of %u rounds at the same address\n", same, rounds);
	return 0;
}
