// SPDX-License-Identifier: Apache-2.0
#include "process/mounts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/vec.h"
#include "process/procfs.h"

#define MOUNTINFO_BYTES_MAX (64 * 1024 * 1024)
#define LOOP_MAJOR	    7 /* Documentation/admin-guide/devices.txt */

/* mountinfo writes space, tab, line end and backslash as \NNN. */
static void undo_octal(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

bool mount_parse(char *line, struct mount_line *mount)
{
	unsigned int major_number, minor_number;
	char *field[5], *rest, *save;

	line[strcspn(line, "\n")] = 0;
	rest = strstr(line, " - ");
	if (!rest)
		return false;
	*rest = 0;
	field[0] = strtok_r(line, " ", &save);
	for (size_t i = 1; i < 5; i++)
		field[i] = field[i - 1] ? strtok_r(NULL, " ", &save) : NULL;
	if (!field[4] || sscanf(field[2], "%u:%u", &major_number, &minor_number) != 2)
		return false;
	mount->id = strtoull(field[0], NULL, 10);
	mount->device = makedev(major_number, minor_number);
	mount->root = field[3];
	mount->point = field[4];
	mount->type = strtok_r(rest + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	mount->options = mount->type ? strtok_r(NULL, " ", &save) : NULL;
	if (!mount->options)
		return false;
	undo_octal(mount->root);
	undo_octal(mount->point);
	return true;
}

/* File systems that need this machine's kernel and its own devices, no server. */
static bool is_near_type(const char *type)
{
	static const char *const near[] = {
		"bcachefs", "bpf",   "btrfs",	 "cgroup", "cgroup2",	 "cramfs",   "debugfs",
		"devpts",   "erofs", "devtmpfs", "exfat",  "ext2",	 "ext3",     "ext4",
		"f2fs",	    "hfs",   "hfsplus",	 "hpfs",   "hugetlbfs",	 "iso9660",  "jffs2",
		"jfs",	    "minix", "nilfs2",	 "mqueue", "ntfs3",	 "overlay",  "proc",
		"pstore",   "ramfs", "romfs",	 "rootfs", "securityfs", "squashfs", "sysfs",
		"tmpfs",    "ubifs", "tracefs",	 "udf",	   "vfat",	 "xfs",	     "zfs",
		"configfs",
	};

	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		if (!strcmp(type, near[i]))
			return true;
	return false;
}

static bool add(struct mounts *mounts, const struct mount_line *line)
{
	bool is_overlay = !strcmp(line->type, "overlay");
	struct mount mount = {
		.id = line->id,
		.device = line->device,
		.is_far = !is_near_type(line->type),
		.point = strdup(line->point),
		.type = strdup(line->type),
		.options = is_overlay ? strdup(line->options) : NULL,
	};
	size_t place = mounts->count;

	if (!mount.point || !mount.type || (is_overlay && !mount.options) ||
	    !vec_push(mounts, mount)) {
		free(mount.point);
		free(mount.type);
		free(mount.options);
		return false;
	}
	return map_put(&mounts->by_id, mount.id, place) &&
	       (map_get(&mounts->by_device, mount.device) ||
		map_put(&mounts->by_device, mount.device, place));
}

static bool is_far_path(const struct mounts *mounts, const char *path)
{
	const struct mount *mount = mounts_of_path(mounts, path);

	return mount && mount->is_far;
}

/* Whether one of the directories that an overlay is made of is far. The options are cut up. */
static bool has_far_layer(char *options, const struct mounts *hosts)
{
	static const char *const names[] = {"lowerdir=", "upperdir=", "lowerdir+=", "datadir+="};
	char *save, *option, *layers, *layer;

	for (option = strtok_r(options, ",", &save); option; option = strtok_r(NULL, ",", &save))
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strncmp(option, names[i], strlen(names[i])) != 0)
				continue;
			option += strlen(names[i]);
			while ((layer = strtok_r(option, ":", &layers))) {
				if (layer[0] == '/' && is_far_path(hosts, layer))
					return true;
				option = NULL;
			}
			break;
		}
	return false;
}

/* Whether a file system lies in a file that is far. */
static bool is_loop_on_far(dev_t device, const struct mounts *hosts)
{
	struct buf text = {0};
	char path[80];
	bool is_far;

	if (major(device) != LOOP_MAJOR)
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/loop/backing_file", major(device),
		 minor(device));
	is_far = !procfs_read_file(path, 4096, &text) && is_far_path(hosts, (char *)text.at);
	buf_free(&text);
	return is_far;
}

/* What lies on others is as far as they are. */
static void judge_stacked(struct mounts *mounts, const struct mounts *hosts)
{
	vec_foreach (mounts, mount) {
		if (!mount->is_far)
			mount->is_far = (mount->options && has_far_layer(mount->options, hosts)) ||
					is_loop_on_far(mount->device, hosts);
		mounts->has_far |= mount->is_far;
		free(mount->options);
		mount->options = NULL;
	}
}

int mounts_parse(struct mounts *mounts, char *text, const struct mounts *hosts)
{
	struct mount_line parsed;
	char *line, *next;
	int err = 0;

	mounts_free(mounts);
	for (line = text; !err && *line && mounts->count < MOUNTS_MAX; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (mount_parse(line, &parsed) && !add(mounts, &parsed))
			err = -ENOMEM;
	}
	if (err)
		mounts_free(mounts);
	else
		judge_stacked(mounts, hosts ? hosts : mounts);
	return err;
}

int mounts_read(struct mounts *mounts, pid_t pid, const struct mounts *hosts)
{
	struct buf text = {0};
	int err = procfs_read(pid, "mountinfo", MOUNTINFO_BYTES_MAX, &text);

	if (err)
		mounts_free(mounts);
	else
		err = mounts_parse(mounts, (char *)text.at, hosts);
	buf_free(&text);
	return err;
}

void mounts_free(struct mounts *mounts)
{
	vec_foreach (mounts, mount) {
		free(mount->point);
		free(mount->type);
		free(mount->options);
	}
	vec_free(mounts);
	map_free(&mounts->by_id);
	map_free(&mounts->by_device);
	mounts->has_far = false;
}

static const struct mount *at_place(const struct mounts *mounts, const struct map *map,
				    uint64_t key)
{
	const uint64_t *place = map_get(map, key);

	return place ? &mounts->at[*place] : NULL;
}

const struct mount *mounts_of_device(const struct mounts *mounts, dev_t device)
{
	return at_place(mounts, &mounts->by_device, device);
}

const struct mount *mounts_of_id(const struct mounts *mounts, uint64_t id)
{
	return at_place(mounts, &mounts->by_id, id);
}

const struct mount *mounts_of_path(const struct mounts *mounts, const char *path)
{
	const struct mount *found = NULL;
	size_t longest = 0;

	/* of several on one place, the last one covers the others */
	vec_foreach (mounts, mount) {
		size_t length = strcmp(mount->point, "/") != 0 ? strlen(mount->point) : 0;

		if (length >= longest && !strncmp(path, mount->point, length) &&
		    (path[length] == '/' || !path[length])) {
			found = mount;
			longest = length;
		}
	}
	return found;
}
