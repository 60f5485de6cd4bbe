// SPDX-License-Identifier: Apache-2.0
/*
 * python_host LIBRARY ARGUMENTS…: a program that is Python by a shared library, which one is said
 * when it starts.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*run)(int, char **) = library ? dlsym(library, "Py_BytesMain") : NULL;

	if (!run) {
		fprintf(stderr, "python_host: %s\n", argc > 1 ? dlerror() : "which library?");
		return 1;
	}
	return run(argc - 1, argv + 1);
}
