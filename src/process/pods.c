// SPDX-License-Identifier: Apache-2.0
#include "process/pods.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	UID_MIN = 8,
	LABEL_MAX = 63, /* of a namespace, and of a container */
	POD_MAX = 253,
	ENTRIES_MAX = 65536, /* of a folder that are looked at */
};

/* A piece of a name: not terminated. */
struct piece {
	const char *at;
	size_t length;
};

bool pods_uid(const char *cgroup, char uid[PODS_UID_SIZE])
{
	const char *at = strstr(cgroup, "kubepods");
	size_t length = 0;

	*uid = 0;
	while (at && (at = strstr(at + 1, "pod"))) {
		if (at[-1] != '/' && at[-1] != '-')
			continue;
		length = strspn(at + 3, "0123456789abcdef-_");
		if (length < UID_MIN || length >= PODS_UID_SIZE)
			continue;
		memcpy(uid, at + 3, length);
		uid[length] = 0;
	}
	/* systemd's names of slices cannot hold '-' */
	for (char *c = uid; *c; c++)
		if (*c == '_')
			*c = '-';
	return *uid;
}

/* Small letters, digits, '-' and '.': what names of Kubernetes consist of. */
static bool is_name(struct piece p, size_t max)
{
	for (size_t i = 0; i < p.length; i++) {
		char c = p.at[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.')
			return false;
	}
	return p.length && p.length <= max && p.at[0] != '.' && p.at[0] != '-';
}

/* The piece before the next '_', which is passed; all that is left if there is none. */
static struct piece next_piece(struct piece *rest)
{
	const char *end = memchr(rest->at, '_', rest->length);
	struct piece piece = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
	size_t passed = piece.length + (end != NULL);

	*rest = (struct piece){rest->at + passed, rest->length - passed};
	return piece;
}

static bool put_names(struct piece namespace, struct piece pod, struct piece container, char *to)
{
	if (!is_name(namespace, LABEL_MAX) || !is_name(pod, POD_MAX) ||
	    (container.length && !is_name(container, LABEL_MAX)))
		return false;
	snprintf(to, PODS_NAMES_SIZE, "%.*s/%.*s/%.*s", (int)namespace.length, namespace.at,
		 (int)pod.length, pod.at, (int)container.length, container.at);
	return true;
}

static bool ends(const char *name, size_t *length, const char *end)
{
	size_t size = strlen(end);

	if (*length <= size || memcmp(name + *length - size, end, size) != 0)
		return false;
	*length -= size;
	return true;
}

/* Of a link: "POD_NAMESPACE_CONTAINER-ID.log". */
static bool parse_link(const char *name, const char *id, char *to)
{
	size_t length = strlen(name);
	struct piece rest = {name, 0}, pod, namespace;

	if (!*id || !ends(name, &length, ".log") || !ends(name, &length, id) ||
	    !ends(name, &length, "-"))
		return false;
	rest.length = length;
	pod = next_piece(&rest);
	namespace = next_piece(&rest);
	return rest.length && put_names(namespace, pod, rest, to);
}

static DIR *open_folder(const char *root, const char *name)
{
	char path[PATH_MAX];
	int fd = -1;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/var/log/%s", root, name) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static bool by_link(const char *root, const char *id, char *to)
{
	DIR *dir = open_folder(root, "containers");
	const struct dirent *entry;
	bool found = false;

	for (int i = 0; dir && !found && i < ENTRIES_MAX && (entry = readdir(dir)); i++)
		found = parse_link(entry->d_name, id, to);
	if (dir)
		closedir(dir);
	return found;
}

/* The one folder of a container in a pod's; "": there are several, or none. */
static struct piece only_container(const char *root, const char *pod, char name[NAME_MAX + 1])
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "pods/%s", pod);
	dir = open_folder(root, path);
	for (int i = 0; dir && i < ENTRIES_MAX && (entry = readdir(dir)); i++) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return (struct piece){name, count == 1 ? strlen(name) : 0};
}

/* Of a pod's folder: "NAMESPACE_POD_UID". */
static bool by_folder(const char *root, const char *uid, char *to)
{
	DIR *dir = open_folder(root, "pods");
	const struct dirent *entry;
	char container[NAME_MAX + 1];
	bool found = false;

	for (int i = 0; dir && !found && i < ENTRIES_MAX && (entry = readdir(dir)); i++) {
		size_t length = strlen(entry->d_name);
		struct piece rest = {entry->d_name, 0}, namespace;

		if (!ends(entry->d_name, &length, uid) || !ends(entry->d_name, &length, "_"))
			continue;
		rest.length = length;
		namespace = next_piece(&rest);
		found = put_names(namespace, rest, only_container(root, entry->d_name, container),
				  to);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool pods_names(const char *root, const char *uid, const char *id, char names[PODS_NAMES_SIZE])
{
	*names = 0;
	return by_link(root, id, names) || by_folder(root, uid, names);
}

bool pods_complete(const char *names)
{
	size_t length = strlen(names);

	return length && names[length - 1] != '/';
}

const char *pods_root(void)
{
	return access("/var/log/pods", F_OK) ? "/proc/1/root" : "";
}
