// SPDX-License-Identifier: Apache-2.0
/*
 * A module of Node.js: spin() runs code without unwind information. Its declarations are those of
 * node_api.h.
 */
#include <stddef.h>

long blind_spin(long turns);
int napi_create_function(void *env, const char *name, size_t length,
			 void *(*function)(void *env, void *info), void *data, void **result);
int napi_set_named_property(void *env, void *object, const char *name, void *value);
void *napi_register_module_v1(void *env, void *exports);

static void *spin(void *env, void *info)
{
	(void)env;
	(void)info;
	blind_spin(3000000);
	return NULL;
}

void *napi_register_module_v1(void *env, void *exports)
{
	void *function;

	if (!napi_create_function(env, "spin", 4, spin, NULL, &function))
		napi_set_named_property(env, exports, "spin", function);
	return exports;
}
