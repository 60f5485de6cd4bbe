// SPDX-License-Identifier: Apache-2.0
#include "attach/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbols.h"
#include "process/program.h"
#include "process/targets.h"

static void add_part(struct parts *parts, int fd, const char *path, const char *root,
		     bool is_program)
{
	struct part part = {fd, strdup(path), strdup(root), is_program};

	if (fd >= 0 && part.path && part.root && vec_push(&parts->all, part))
		return;
	free(part.path);
	free(part.root);
	if (fd >= 0)
		close(fd);
}

static int parts_of_command(char *const *argv, struct parts *parts, struct fail *why)
{
	struct program program;
	size_t i;
	int err = program_find(argv, &program, why);

	if (err)
		return err;
	add_part(parts, symbol_image_open("", program.path, NULL, 0), program.path, "", true);
	for (i = 0; i < program.count; i++)
		add_part(parts, symbol_image_open("", program.libraries[i], NULL, 0),
			 program.libraries[i], "", false);
	program_free(&program);
	return 0;
}

static int parts_of_process(struct targets *targets, pid_t pid, struct parts *parts,
			    struct fail *why)
{
	struct process *process = targets_find(targets, pid);
	size_t i;

	if (!process)
		return fail(why, -ESRCH, NULL, "there is no process %d", (int)pid);
	for (i = 0; i < process->mapping_count; i++) {
		const struct image *image = process->mappings[i].image;
		bool is_program = process->exe && !strcmp(process->exe, image->path);

		if (image->kind != IMAGE_FILE || image->fd < 0)
			continue;
		add_part(parts, fcntl(image->fd, F_DUPFD_CLOEXEC, 0), image->path, image->root,
			 is_program);
	}
	return 0;
}

struct matching {
	const struct selection *selection;
	struct targets *targets;
	struct parts *parts;
};

static void add_matching(void *context, pid_t pid)
{
	struct matching *matching = context;

	/* one that has gone meanwhile is not a target any more */
	if (selection_wants(matching->selection, pid))
		parts_of_process(matching->targets, pid, matching->parts, NULL);
}

/* What "Tgid:" in its status says. */
pid_t parts_process_of_thread(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	status = fopen(path, "re");
	if (!status)
		return tid;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	fclose(status);
	return pid;
}

int parts_find(const struct selection *s, struct parts *parts, struct fail *why)
{
	static const struct targets_listener nobody;
	struct matching matching = {s, NULL, parts};
	size_t i;
	int err = targets_new(&nobody, &matching.targets);

	if (err)
		return fail_errno(why, err, NULL, "cannot trace");
	if (s->command)
		err = parts_of_command(s->command, parts, why);
	for (i = 0; !err && i < s->pid_count; i++)
		err = parts_of_process(matching.targets, s->pids[i], parts, why);
	for (i = 0; !err && i < s->tid_count; i++)
		err = parts_of_process(matching.targets, parts_process_of_thread(s->tids[i]), parts,
				       why);
	if (!err && (s->name_count || s->cgroup_count))
		err = targets_each_pid(add_matching, &matching, why);
	targets_free(matching.targets);
	return err;
}

void parts_free(struct parts *parts)
{
	vec_foreach (&parts->all, part) {
		if (part->fd >= 0)
			close(part->fd);
		free(part->path);
		free(part->root);
	}
	vec_free(&parts->all);
}
