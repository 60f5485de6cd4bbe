// SPDX-License-Identifier: Apache-2.0
#include "arch/system_call_names.h"

#include <string.h>

#include "arch/x86_64/system_call_names.h"

/* Films of any machine are read: all of these are built in everywhere. */
static const struct {
	const char *arch; /* as uname -m has it */
	const char *const *names;
	const size_t *count;
} tables[] = {
	{"x86_64", x86_64_system_call_names, &x86_64_system_calls},
};

const char *syscall_name(const char *arch, uint32_t number)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].arch, arch) && number < *tables[i].count)
			return tables[i].names[number];
	return NULL;
}
