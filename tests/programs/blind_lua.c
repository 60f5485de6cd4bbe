// SPDX-License-Identifier: Apache-2.0
/*
 * A module of Lua (any version) whose function calls code without unwind information
 * (blind_x86_64.S).
 */
typedef struct lua_State lua_State;
typedef int lua_function(lua_State *lua);

long blind_spin(long turns);

void lua_pushcclosure(lua_State *lua, lua_function *function, int upvalues);
int luaopen_blind_lua(lua_State *lua);

static int spin(lua_State *lua)
{
	(void)lua;
	blind_spin(3000000);
	return 0;
}

int luaopen_blind_lua(lua_State *lua)
{
	lua_pushcclosure(lua, spin, 0);
	return 1;
}
