// SPDX-License-Identifier: Apache-2.0
#include "process/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "process/container.h"
#include "process/pods.h"
#include "process/procfs.h"
#include "process/users.h"

#define COMMAND_BYTES_MAX 4096
#define COMMAND_BYTES_FEW 256
#define CGROUP_BYTES_MAX  (64 * 1024)
#define MAPS_BYTES_MAX	  (16 * 1024 * 1024)
#define LINK_BYTES_MAX	  4096
#define STATUS_BYTES_MAX  (64 * 1024)
#define CONTAINER_MAX	  256
#define TEXT_MAX	  (CONTAINER_MAX + PODS_NAMES_SIZE + 2)

struct tracked *tracked_new(pid_t pid)
{
	struct tracked *t = calloc(1, sizeof(*t));
	struct process *p = &t->process;

	if (!t)
		return NULL;
	p->pid = pid;
	p->command = strdup("");
	p->exe = strdup("");
	p->cgroup = strdup("");
	p->container = strdup("");
	p->user = strdup("");
	p->resource = strdup("");
	if (p->command && p->exe && p->cgroup && p->container && p->user && p->resource)
		return t;
	tracked_free(t, NULL, 0);
	return NULL;
}

void tracked_free(struct tracked *t, struct images *images, uint64_t time)
{
	mappings_free(&t->mappings, images, time);
	free(t->process.command);
	free(t->process.exe);
	free(t->process.cgroup);
	free(t->process.container);
	free(t->process.user);
	free(t->process.resource);
	free(t);
}

void tracked_publish(struct tracked *t)
{
	t->process.mappings = t->mappings.at;
	t->process.mapping_count = t->mappings.count;
	t->process.far_device = 0;
	for (size_t i = 0; i < t->mappings.count && !t->process.far_device; i++)
		if (t->mappings.at[i].image->is_far)
			t->process.far_device = t->mappings.at[i].image->device;
	t->process.generation++;
}

static int set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy) {
		/* better none than what was true before */
		**text = 0;
		return -ENOMEM;
	}
	free(*text);
	*text = copy;
	return 0;
}

int process_set_resource(struct process *process, const char *labels)
{
	return set_text(&process->resource, labels);
}

static void read_command(struct process *p, bool brief, struct buf *text)
{
	int err =
		procfs_read(p->pid, "cmdline", brief ? COMMAND_BYTES_FEW : COMMAND_BYTES_MAX, text);

	if (err && err != -EFBIG) {
		*p->command = 0;
		return;
	}
	procfs_join_arguments((char *)text->at, text->count - 1);
	set_text(&p->command, (char *)text->at);
}

/*
 * Behind the id, the names of its pod. What is known stays: of most processes, the one that they
 * were forked from has it. While the container's own name lacks, each program that is executed in
 * it is an occasion to look again.
 */
static void name_pod(const struct process *p, const char *cgroup, char *text)
{
	char uid[PODS_UID_SIZE], names[PODS_NAMES_SIZE];
	size_t length = strlen(text);

	if (!length || !pods_uid(cgroup, uid))
		return;
	if (!strncmp(p->container, text, length) && p->container[length] == ' ' &&
	    pods_complete(p->container))
		snprintf(text, TEXT_MAX, "%s", p->container);
	else if (pods_names(pods_root(), uid, text, names))
		snprintf(text + length, TEXT_MAX - length, " %s", names);
}

static void read_cgroup(struct process *p, struct buf *text)
{
	int err = procfs_read(p->pid, "cgroup", CGROUP_BYTES_MAX, text);
	char container[TEXT_MAX];
	const char *path;

	if (err && err != -EFBIG)
		return;
	path = procfs_choose_cgroup((char *)text->at);
	container_of_cgroup(path, container, CONTAINER_MAX);
	name_pod(p, path, container);
	set_text(&p->cgroup, path);
	set_text(&p->container, container);
}

/* Behind the control group, which says whether it is in a container. */
static void read_user(struct process *p, struct users *users, struct buf *text)
{
	char name[USERS_NAME_MAX + 1];
	uint32_t uid;

	if (procfs_read(p->pid, "status", STATUS_BYTES_MAX, text) ||
	    !procfs_parse_user((char *)text->at, &uid))
		return;
	users_name(users, uid, *p->container, name, sizeof(name));
	set_text(&p->user, name);
}

void tracked_read_strings(struct tracked *t, struct users *users, bool brief)
{
	struct process *p = &t->process;
	char exe[LINK_BYTES_MAX];
	struct buf text = {0};

	*p->resource = 0;
	t->exe_unknown = !procfs_link(p->pid, "exe", exe, sizeof(exe));
	set_text(&p->exe, exe);
	read_command(p, brief, &text);
	read_cgroup(p, &text);
	read_user(p, users, &text);
	buf_free(&text);
}

int tracked_inherit(struct tracked *t, const struct tracked *parent)
{
	struct process *p = &t->process;
	const struct process *from = &parent->process;

	t->exe_unknown = parent->exe_unknown;
	if (set_text(&p->command, from->command) || set_text(&p->exe, from->exe) ||
	    set_text(&p->cgroup, from->cgroup) || set_text(&p->container, from->container) ||
	    set_text(&p->user, from->user))
		return -ENOMEM;
	return 0;
}

/*
 * The maps of a process: of any thread that has memory, since the first one may have ended before
 * the others.
 */
static int read_maps(struct tracked *t, struct buf *text)
{
	int err = procfs_read(t->process.pid, "maps", MAPS_BYTES_MAX, text), tries = 64;
	char path[64];

	for (struct thread *thread = t->threads; thread && tries-- && !err && text->count <= 1;
	     thread = thread->next) {
		if (thread->tid == t->process.pid)
			continue;
		snprintf(path, sizeof(path), "task/%d/maps", (int)thread->tid);
		err = procfs_read(t->process.pid, path, MAPS_BYTES_MAX, text);
		if (err == -ESRCH)
			err = 0;
	}
	return err;
}

int tracked_read_mappings(struct tracked *t, struct images *images, struct mappings *to)
{
	uint64_t now = procfs_now();
	struct buf text = {0};
	int err = read_maps(t, &text), refused = 0;
	char *line, *next;

	if (err == -EFBIG)
		refused++;
	else if (err)
		goto out;
	err = 0;
	for (line = (char *)text.at; *line; line = next) {
		struct procfs_mapping found;
		struct mapping added = {0};

		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (!procfs_parse_mapping(line, &found) || !found.executable)
			continue;
		added = (struct mapping){
			.start = found.start, .end = found.end, .offset = found.offset};
		added.image = images_get(
			images, &(struct image_question){t->process.pid, found.start, found.end,
							 found.device, found.inode, found.path});
		if (!added.image) {
			refused++;
			continue;
		}
		added.bias = images_bias(added.image, added.start, added.offset);
		if (mappings_put(to, &added, images, now) < 0)
			refused++;
	}
out:
	buf_free(&text);
	return err ? err : refused;
}

int targets_each_pid(void (*emit)(void *context, pid_t pid), void *context, struct fail *why)
{
	int err = procfs_each_number("/proc", emit, context);

	return err ? fail_errno(why, err, "mount /proc", "cannot read /proc") : 0;
}
