// SPDX-License-Identifier: Apache-2.0
#include "sources/probed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "sources/source.h"

/* The most processes that are kept, and the most files that are known to need no probes. */
#define PROCESSES_MAX 4096
#define OTHERS_MAX    65536

void probed_files_prepare(struct bpf_program *site)
{
	const struct uprobe_programs programs = {.site = site};

	uprobes_prepare(&programs, NULL);
}

int probed_files_begin(struct probed_files *files, struct bpf_program *site, bool bind, bool keep)
{
	const struct uprobe_programs programs = {.site = site};
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	/* without links for many places, each place has a process by itself */
	files->bind = bind && (ways.pid_filter || !ways.multi);
	files->keep = keep;
	return uprobes_new(&programs, &ways, &files->uprobes);
}

void probed_files_detach(struct probed_files *files)
{
	uprobes_free(files->uprobes);
	files->uprobes = NULL;
}

void probed_files_free(struct probed_files *files)
{
	if (files->uprobes)
		probed_files_detach(files);
	vec_foreach (&files->files, file)
		close(file->fd);
	vec_free(&files->files);
	vec_free(&files->processes);
	map_free(&files->others);
}

static uint64_t key_of(const struct image *image)
{
	const uint64_t what[] = {image->device, image->inode};

	return hash_bytes(what, sizeof(what));
}

/* Whether an image may need probes: it is a file that is not known to be another one. */
static bool may_need(const struct probed_files *files, const struct image *image)
{
	return files->uprobes && image->kind == IMAGE_FILE && image->fd >= 0 &&
	       !map_get(&files->others, key_of(image));
}

bool probed_files_is(const struct probed_files *files, uint32_t number, const struct image *image)
{
	return number < files->files.count && files->files.at[number].device == image->device &&
	       files->files.at[number].inode == image->inode;
}

int probed_files_add(struct probed_files *files, const struct image *image)
{
	struct probed_file file = {.device = image->device, .inode = image->inode};

	file.fd = file_place(image->fd);
	if (file.fd < 0)
		return -1;
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	if (vec_push(&files->files, file))
		return (int)files->files.count - 1;
	close(file.fd);
	return -1;
}

static int find(const struct probed_files *files, const struct image *image)
{
	for (size_t i = 0; i < files->files.count; i++)
		if (probed_files_is(files, (uint32_t)i, image))
			return (int)i;
	return -1;
}

int probed_files_meet(struct probed_files *files, const struct image *image,
		      int (*add)(void *context, const struct image *image), void *context)
{
	int number;

	if (!may_need(files, image))
		return -1;
	number = find(files, image);
	if (number < 0)
		number = add(context, image);
	if (number >= 0)
		return number;
	if (files->others.count >= OTHERS_MAX)
		map_free(&files->others);
	/* without memory it is looked at again */
	(void)!map_put(&files->others, key_of(image), 1);
	return -1;
}

static bool is_running(const struct probed_files *files, uint32_t number, pid_t pid)
{
	vec_foreach (&files->processes, process)
		if (process->pid == pid && process->file == number)
			return true;
	return false;
}

int probed_files_run(struct probed_files *files, uint32_t number, pid_t pid,
		     const struct uprobe_place *places, size_t count, unsigned int *state,
		     struct fail *why)
{
	struct probed_file *file = &files->files.at[number];
	bool was_open = file->is_open, is_kept = files->bind || files->keep;
	int err;

	*state = 0;
	if (file->is_refused)
		return 0;
	if (is_running(files, number, pid)) {
		*state = files->bind ? SOURCE_IMAGE_EACH : 0;
		return 0;
	}
	if (is_kept && (files->processes.count >= PROCESSES_MAX ||
			!vec_reserve(&files->processes, files->processes.count + 1)))
		return fail(why, -ENOSPC, NULL, "too many processes run files with probes");
	if (!was_open) {
		err = uprobes_attach(files->uprobes, file->path, files->bind ? pid : 0, places,
				     count, why);
		if (err) {
			file->is_refused = err != -ESRCH && !files->bind;
			return err;
		}
		file->is_open = !files->bind;
		*state = SOURCE_IMAGE_PROBED | (files->bind ? SOURCE_IMAGE_EACH : 0);
	}
	if (is_kept)
		files->processes.at[files->processes.count++] =
			(struct probed_process){pid, number};
	return 0;
}

bool probed_files_has(const struct probed_files *files, pid_t pid)
{
	vec_foreach (&files->processes, process)
		if (process->pid == pid)
			return true;
	return false;
}

void probed_files_ended(struct probed_files *files, pid_t pid)
{
	size_t kept = 0;

	vec_foreach (&files->processes, process) {
		if (process->pid != pid)
			files->processes.at[kept++] = *process;
		else if (files->bind && files->uprobes)
			uprobes_detach(files->uprobes, files->files.at[process->file].path, pid);
	}
	files->processes.count = kept;
}

void probed_refused_add(struct probed_refused *refused, const struct fail *why)
{
	refused->count++;
	snprintf(refused->why, sizeof(refused->why), "%.150s", why->what);
}

void probed_refused_report(const struct probed_refused *refused, struct film_writer *film,
			   uint32_t event, const char *what)
{
	char words[256];

	if (!refused->count)
		return;
	snprintf(words, sizeof(words), "%s: %s", what, refused->why);
	film_loss(film, event, words, refused->count);
}
