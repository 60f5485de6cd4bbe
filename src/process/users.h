/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_USERS_H
#define PROCESS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/map.h"
#include "base/vec.h"

/*
 * Names of users, as passwd(5) of this machine has them. The file is read here: the C library may
 * ask servers, and the recorder waits for none. All zero is empty.
 */
enum {
	USERS_NAME_MAX = 32,
	USERS_MAX = 65536, /* more keep their numbers */
};

struct user_name {
	char text[USERS_NAME_MAX + 1];
};

struct users {
	const char *path; /* null: /etc/passwd */
	vec(struct user_name) names;
	struct map by_uid; /* uid to index in names */
	/* the file that was read: when it was changed, its size and its number; all zero: none */
	struct timespec changed;
	off_t size;
	ino_t inode;
};

/*
 * The name of a user, or the number if the file has no name for it. is_inside: of a process in a
 * container, whose numbers have names of their own: the number, but of root.
 */
void users_name(struct users *users, uint32_t uid, bool is_inside, char *to, size_t size);
void users_free(struct users *users);

#endif
