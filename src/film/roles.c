// SPDX-License-Identifier: Apache-2.0
#include "film/roles.h"

#include <string.h>

static const char *const names[FILM_ROLES] = {
	[FILM_ROLE_RECLAIM] = "reclaim",
	[FILM_ROLE_RECLAIM_GROUP] = "reclaim-group",
	[FILM_ROLE_SWAP_OUT] = "swap-out",
	[FILM_ROLE_SWAP_IN] = "swap-in",
	[FILM_ROLE_FUSE] = "fuse",
	[FILM_ROLE_ROW_LOCK] = "row-lock",
	[FILM_ROLE_TABLE_LOCK] = "table-lock",
	[FILM_ROLE_CLIENT_READ] = "client-read",
	[FILM_ROLE_CLIENT_WRITE] = "client-write",
	[FILM_ROLE_SLEEP] = "sleep",
	[FILM_ROLE_SAFEPOINT] = "safepoint",
};

const char *film_role_name(enum film_role role)
{
	return names[role];
}

enum film_role film_role_named(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < FILM_ROLES; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			break;
	return (enum film_role)i;
}
