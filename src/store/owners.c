// SPDX-License-Identifier: Apache-2.0
/*
 * Whose the films of a host are: of the sender of the first, as the server said. In DIR/senders, a
 * line for each host as it came, "OWNER FOLDER", the last one of a host counts: so that a restart
 * does not open all of them to every sender.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/room.h"

enum {
	LINES_MAX = 1 << 20, /* of a file that another program wrote */
};

static uint64_t hash_of(const char *host)
{
	return hash_bytes(host, strlen(host));
}

int store_read_owners(struct store *store)
{
	char path[PATH_MAX], line[FOLDER_NAME_MAX], folder[FOLDER_HOST_MAX + 1];
	char host[FOLDER_HOST_MAX + 1];
	int err = store_path_of(store, "senders", path, sizeof(path));
	uint64_t owner;
	FILE *file;

	if (err)
		return err;
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	/* a line that was half written when the power went is none */
	for (int i = 0; !err && i < LINES_MAX && fgets(line, sizeof(line), file); i++)
		if (strchr(line, '\n') &&
		    sscanf(line, "%16" SCNx64 " %240s", &owner, folder) == 2 &&
		    folder_host_of(folder, host) && !map_put(&store->owners, hash_of(host), owner))
			err = -ENOMEM;
	fclose(file);
	return err;
}

struct store_host store_owner_of(const struct store *store, const char *host)
{
	uint64_t hash = hash_of(host), *owner = map_get(&store->owners, hash);

	return (struct store_host){store->own == hash, owner ? *owner : 0};
}

void store_host(struct store *store, const char *host, struct store_host *of)
{
	pthread_mutex_lock(&store->lock);
	*of = store_owner_of(store, host);
	pthread_mutex_unlock(&store->lock);
}

static int append(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t length = strlen(line);
	ssize_t written;
	int err = 0;

	if (fd < 0)
		return -errno;
	written = write(fd, line, length);
	if (written != (ssize_t)length)
		err = written < 0 ? -errno : -ENOSPC;
	close(fd);
	return err;
}

int store_set_owner(struct store *store, const char *host, uint64_t owner)
{
	char path[PATH_MAX], line[FOLDER_NAME_MAX], folder[FOLDER_HOST_MAX + 1];
	int err;

	if (store_owner_of(store, host).owner == owner)
		return 0;
	err = folder_of_host(host, folder, NULL);
	if (!err)
		err = store_path_of(store, "senders", path, sizeof(path));
	if (err)
		return err;
	snprintf(line, sizeof(line), "%016" PRIx64 " %s\n", owner, folder);
	err = append(path, line);
	return !err && !map_put(&store->owners, hash_of(host), owner) ? -ENOMEM : err;
}
