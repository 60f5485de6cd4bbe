// SPDX-License-Identifier: Apache-2.0
#include "process/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "process/procfs.h"

#define PASSWD	     "/etc/passwd"
#define PASSWD_BYTES (8u << 20)

/* "NAME:PASSWORD:UID:…"; the first name of a number counts, as for getpwuid(3). */
static void add_line(struct users *users, char *line)
{
	struct user_name name;
	char *text = strsep(&line, ":"), *number;
	uint64_t uid;

	strsep(&line, ":");
	number = strsep(&line, ":");
	if (!number || !*text || strlen(text) > USERS_NAME_MAX || users->names.count >= USERS_MAX ||
	    text_parse_u64(number, 0, UINT32_MAX, &uid) || map_get(&users->by_uid, uid))
		return;
	snprintf(name.text, sizeof(name.text), "%s", text);
	/* without memory for it, the number is shown */
	if (vec_push(&users->names, name))
		map_put(&users->by_uid, uid, users->names.count - 1);
}

static bool is_read(const struct users *users, const struct stat *st)
{
	return st->st_mtim.tv_sec == users->changed.tv_sec &&
	       st->st_mtim.tv_nsec == users->changed.tv_nsec && st->st_size == users->size &&
	       st->st_ino == users->inode;
}

/* Reads the file, if it has changed. */
static void look(struct users *users)
{
	const char *path = users->path ? users->path : PASSWD;
	struct buf text = {0};
	struct stat st;
	char *rest, *line;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || is_read(users, &st))
		return;
	users_free(users);
	users->changed = st.st_mtim;
	users->size = st.st_size;
	users->inode = st.st_ino;
	if (!procfs_read_file(path, PASSWD_BYTES, &text)) {
		rest = (char *)text.at;
		while ((line = strsep(&rest, "\n")))
			add_line(users, line);
	}
	buf_free(&text);
}

void users_name(struct users *users, uint32_t uid, bool is_inside, char *to, size_t size)
{
	uint64_t *known;

	if (!is_inside && !map_get(&users->by_uid, uid))
		look(users);
	known = is_inside ? NULL : map_get(&users->by_uid, uid);
	if (known)
		snprintf(to, size, "%s", users->names.at[*known].text);
	else if (uid)
		snprintf(to, size, "%" PRIu32, uid);
	else
		snprintf(to, size, "root");
}

void users_free(struct users *users)
{
	vec_free(&users->names);
	map_free(&users->by_uid);
	users->names.count = 0;
	users->inode = 0;
}
