/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_ROLES_H
#define FILM_ROLES_H

#include <stddef.h>

/*
 * What functions of programs and of the kernel mean for those that call them. The recorder knows
 * such functions (resolve/function_roles.c) and writes its table into the film, as the row "roles"
 * of the table meta: for each a line "ROLE KIND GLOB", with the number of its frames' kind, and
 * for its name a pattern as of fnmatch(3) that ends with the line. A reader of the film knows
 * no function by its name.
 */
enum film_role {
	FILM_ROLE_RECLAIM,	 /* frees memory, as there is too little */
	FILM_ROLE_RECLAIM_GROUP, /* the same, since a control group is at its limit */
	FILM_ROLE_SWAP_OUT,	 /* writes memory to swap */
	FILM_ROLE_SWAP_IN,	 /* reads it from there */
	FILM_ROLE_FUSE,		 /* asks the daemon of a FUSE file system, and awaits its answer */
	FILM_ROLE_ROW_LOCK,	 /* of a database: waits for a lock of a row */
	FILM_ROLE_TABLE_LOCK,	 /* for one of a table, or of what describes it */
	FILM_ROLE_CLIENT_READ,	 /* reads the next command of a client */
	FILM_ROLE_CLIENT_WRITE,	 /* sends an answer to a client */
	FILM_ROLE_SLEEP,	 /* sleeps as long as its caller wants it to */
	FILM_ROLE_SAFEPOINT,	 /* of a Java VM: stops all threads, and awaits those that run */
	FILM_ROLES
};

#define FILM_ROLES_ROW "roles"

/* In the place of a frame's kind: the pattern is for the name of a thread. */
#define FILM_ROLES_OF_THREAD 0

/* "reclaim" … */
const char *film_role_name(enum film_role role);

/* FILM_ROLES: a later version's. */
enum film_role film_role_named(const char *name, size_t length);

#endif
