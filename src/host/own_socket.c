// SPDX-License-Identifier: Apache-2.0
#include "host/own_socket.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define NAME	      "stackcam-flight-"
#define ROOTS_FOLDER  "/run/stackcam"
#define TEMPORARY     "/tmp"
#define FOLDER_PREFIX "stackcam-flight."

enum {
	WAITING_MAX = 4,
};

static bool set_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	return snprintf(address->sun_path, sizeof(address->sun_path), "%s", path) <
	       (int)sizeof(address->sun_path);
}

/* Returns a descriptor or a negative errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un address;
	int fd, err = 0;

	if (!set_address(path, &address))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		close(fd);
	}
	return err ? err : fd;
}

/* The folder */

/* Whether no other user can put something there. */
static bool is_safe(const char *folder)
{
	struct stat st;

	return folder && folder[0] == '/' && !lstat(folder, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Whether the process that made it is gone without removing it. One that has its name and does not
 * listen yet is there.
 */
static bool is_stale(const char *name, const char *path)
{
	uint64_t pid;
	int fd;

	if (text_parse_u64(name + strlen(NAME), 1, INT32_MAX, &pid) || !kill((pid_t)pid, 0) ||
	    errno != ESRCH)
		return false;
	fd = connect_to(path);
	if (fd >= 0)
		close(fd);
	return fd == -ECONNREFUSED;
}

static void remove_stale(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	char path[PATH_MAX];

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, NAME, strlen(NAME)) &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(path) &&
		    is_stale(entry->d_name, path))
			unlink(path);
	if (dir)
		closedir(dir);
}

/* The same of folders that were made for one socket. */
static void remove_stale_folders(void)
{
	DIR *dir = opendir(TEMPORARY);
	const struct dirent *entry;
	char path[PATH_MAX];

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) &&
		    snprintf(path, sizeof(path), TEMPORARY "/%s", entry->d_name) <
			    (int)sizeof(path) &&
		    is_safe(path)) {
			remove_stale(path);
			/* only an empty one goes */
			rmdir(path);
		}
	if (dir)
		closedir(dir);
}

/* Binds it in that folder, if that is safe. */
static int bind_in(struct own_socket *s, const char *folder)
{
	struct sockaddr_un address;
	char path[PATH_MAX];

	if (!is_safe(folder) ||
	    snprintf(path, sizeof(path), "%s/" NAME "%d", folder, (int)getpid()) >=
		    (int)sizeof(path) ||
	    !set_address(path, &address))
		return -EINVAL;
	remove_stale(folder);
	/* that of a process that had our number before */
	unlink(path);
	if (bind(s->fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	strcpy(s->path, address.sun_path);
	return 0;
}

static int bind_in_new_folder(struct own_socket *s)
{
	char folder[] = TEMPORARY "/" FOLDER_PREFIX "XXXXXX";
	int err;

	remove_stale_folders();
	if (!mkdtemp(folder))
		return -errno;
	err = bind_in(s, folder);
	if (err)
		rmdir(folder);
	s->is_folder_ours = !err;
	return err;
}

static int bind_somewhere(struct own_socket *s)
{
	const bool is_root = !geteuid();

	if (!bind_in(s, getenv("RUNTIME_DIRECTORY")))
		return 0;
	if (is_root)
		(void)!mkdir(ROOTS_FOLDER, 0700);
	if (!bind_in(s, is_root ? ROOTS_FOLDER : getenv("XDG_RUNTIME_DIR")))
		return 0;
	return bind_in_new_folder(s);
}

int own_socket_listen(struct own_socket *s, struct fail *why)
{
	int err;

	*s = (struct own_socket){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	err = s->fd < 0 ? -errno : bind_somewhere(s);
	/* other users cannot connect to what they cannot write to, nor to what does not listen */
	if (!err && (chmod(s->path, 0600) || listen(s->fd, WAITING_MAX)))
		err = -errno;
	if (!err)
		return 0;
	own_socket_close(s);
	return fail_errno(why, err, "set XDG_RUNTIME_DIR to a folder of this user's",
			  "cannot wait for 'stackcam keep'");
}

void own_socket_close(struct own_socket *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (!s->path[0])
		return;
	unlink(s->path);
	if (s->is_folder_ours) {
		*strrchr(s->path, '/') = 0;
		rmdir(s->path);
	}
	s->path[0] = 0;
}

/* The client */

/* Connects, if it is that process that listens. Returns a descriptor or a negative errno. */
static int try_path(const char *path, pid_t pid, uid_t user)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct stat st;
	int fd;

	/* another user's cannot be the right one, and need not be asked */
	if (lstat(path, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != user)
		return -ENOENT;
	fd = connect_to(path);
	if (fd < 0)
		return fd;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == pid)
		return fd;
	close(fd);
	return -ENOENT;
}

/* The last field of a line of /proc/net/unix, if a file has that name; else null. */
static const char *path_in(char *line, const char *name)
{
	char *path = strstr(line, " /"), *slash;

	if (!path)
		return NULL;
	path++;
	path[strcspn(path, "\n")] = 0;
	slash = strrchr(path, '/');
	return strcmp(slash + 1, name) != 0 ? NULL : path;
}

int own_socket_connect(pid_t pid, struct fail *why)
{
	char name[sizeof(NAME) + 16], of_process[32], *line = NULL;
	FILE *all = fopen("/proc/net/unix", "re");
	int err = all ? -ENOENT : -errno, fd = -1;
	size_t size = 0;
	struct stat st;

	snprintf(name, sizeof(name), NAME "%d", (int)pid);
	snprintf(of_process, sizeof(of_process), "/proc/%d", (int)pid);
	if (stat(of_process, &st)) {
		err = -ESRCH;
	} else if (all) {
		while (fd < 0 && getline(&line, &size, all) > 0) {
			const char *path = path_in(line, name);

			fd = path ? try_path(path, pid, st.st_uid) : -1;
			if (path && fd == -EACCES)
				err = -EACCES;
		}
	}
	if (all)
		fclose(all);
	free(line);
	if (fd >= 0)
		return fd;
	if (err == -EACCES)
		return fail(why, -EPERM, "ask as root or as its user",
			    "process %d keeps nothing: only root and its user may ask it",
			    (int)pid);
	return fail(why, err, "name one of 'stackcam record --flight' or 'stackcam agent --camera'",
		    "process %d has no flight recorder that can be asked here: %s", (int)pid,
		    err == -ENOENT ? "it has no socket for that" : strerror(-err));
}
