// SPDX-License-Identifier: Apache-2.0
/*
 * lua_host LIBRARY SCRIPT MODE [off]: a program that runs a script with any shared library of Lua
 * or LuaJIT; off: LuaJIT does not compile.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct lua_State lua_State;

static void *find(void *library, const char *name, const char * or)
{
	void *symbol = dlsym(library, name);

	if (!symbol && or)
		symbol = dlsym(library, or);
	if (!symbol) {
		fprintf(stderr, "lua_host: there is no %s\n", name);
		exit(1);
	}
	return symbol;
}

int main(int argc, char **argv)
{
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	lua_State *(*new_state)(void);
	/*
	 * luaL_openselectedlibs() of 5.5 has two more arguments: all, and none only to be there
	 * when asked for
	 */
	void (*open_libs)(lua_State *, int, int);
	int (*load)(lua_State *, const char *);
	/* lua_pcall() of 5.1; lua_pcallk() of later ones has two more arguments */
	int (*call)(lua_State *, int, int, int, long, void *);
	char text[4096];
	lua_State *state;

	if (!library) {
		fprintf(stderr, "lua_host: %s\n", argc > 3 ? dlerror() : "which library?");
		return 1;
	}
	new_state = find(library, "luaL_newstate", NULL);
	open_libs = find(library, "luaL_openlibs", "luaL_openselectedlibs");
	load = find(library, "luaL_loadstring", NULL);
	call = find(library, "lua_pcallk", "lua_pcall");
	snprintf(text, sizeof(text), "arg = {'%s'} %s return assert(loadfile('%s'))()", argv[3],
		 argc > 4 ? "jit.off()" : "", argv[2]);
	state = new_state();
	open_libs(state, ~0, 0);
	return load(state, text) || call(state, 0, 0, 0, 0, NULL);
}
