// SPDX-License-Identifier: Apache-2.0
#include "camera/goroutines_images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "camera/source.h"
#include "camera/uprobes.h"

/* The most processes that are watched. */
#define BOUND_MAX 4096

/* Files that are remembered not to be Go's. */
#define OTHERS_MAX 65536

struct program {
	dev_t device;
	ino_t inode;
	int fd; /* as long as this lives */
	char path[32];
	bool is_open;	 /* its probes are set wherever it runs */
	bool is_refused; /* they could not be */
	struct go_waits waits;
};

/* A process that runs one. */
struct bound {
	pid_t pid;
	uint32_t program;
	bool has_own; /* probes */
};

struct goroutines_images {
	struct uprobes *uprobes; /* null: they were taken away */
	int map;
	bool bind;
	vec(struct program) programs;
	vec(struct bound) bound;
	struct map others; /* a hash of device and inode */
	struct goroutines_refused refused;
};

int goroutines_images_new(struct bpf_program *site, int map, bool bind,
			  struct goroutines_images **result)
{
	const struct uprobe_programs programs = {.site = site};
	struct goroutines_images *images = calloc(1, sizeof(*images));
	struct uprobe_ways ways;
	int err;

	if (!images)
		return -ENOMEM;
	uprobe_ways_probe(&ways);
	images->map = map;
	/* without links for many places, each place has a process by itself */
	images->bind = bind && (ways.pid_filter || !ways.multi);
	err = uprobes_new(&programs, &ways, &images->uprobes);
	if (err)
		free(images);
	else
		*result = images;
	return err;
}

void goroutines_images_detach(struct goroutines_images *images)
{
	uprobes_free(images->uprobes);
	images->uprobes = NULL;
}

void goroutines_images_free(struct goroutines_images *images)
{
	if (!images)
		return;
	if (images->uprobes)
		goroutines_images_detach(images);
	vec_foreach (&images->programs, program) {
		close(program->fd);
		go_waits_free(&program->waits);
	}
	vec_free(&images->programs);
	vec_free(&images->bound);
	map_free(&images->others);
	free(images);
}

static void refuse(struct goroutines_images *images, const struct fail *why)
{
	images->refused.count++;
	snprintf(images->refused.why, sizeof(images->refused.why), "%.150s", why->what);
}

static uint64_t key_of(const struct image *image)
{
	const uint64_t what[] = {image->device, image->inode};

	return hash_bytes(what, sizeof(what));
}

/* The number of the file; -1: it is not known. */
static int find(const struct goroutines_images *images, const struct image *image)
{
	for (size_t i = 0; i < images->programs.count; i++)
		if (goroutines_images_is(images, (uint32_t)i, image))
			return (int)i;
	return -1;
}

/* Another file. Returns its number; -1: it is not Go's, or cannot be watched. */
static int add(struct goroutines_images *images, const struct image *image)
{
	struct program program = {.device = image->device, .inode = image->inode};
	uint32_t number = (uint32_t)images->programs.count;
	struct fail why = {0};
	int err = go_waits_of(&program.waits, image, &why);

	if (err == -ENOTSUP)
		refuse(images, &why);
	if (err)
		goto other;
	program.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	if (program.fd < 0)
		goto full;
	snprintf(program.path, sizeof(program.path), "/proc/self/fd/%d", program.fd);
	program.waits.image.since = clock_ns();
	if (number == GOROUTINES_IMAGES_MAX ||
	    bpf_map_update_elem(images->map, &number, &program.waits.image, BPF_ANY) ||
	    !vec_push(&images->programs, program))
		goto full;
	return (int)number;
full:
	if (program.fd >= 0)
		close(program.fd);
	go_waits_free(&program.waits);
	fail(&why, -ENOSPC, NULL, "too many programs of Go");
	refuse(images, &why);
other:
	if (images->others.count >= OTHERS_MAX)
		map_free(&images->others);
	/* without memory it is looked at again */
	(void)!map_put(&images->others, key_of(image), 1);
	return -1;
}

static int attach(struct goroutines_images *images, uint32_t number, pid_t pid, struct fail *why)
{
	const struct program *program = &images->programs.at[number];
	struct uprobe_place places[GOROUTINES_PLACES];

	for (int i = 0; i < GOROUTINES_PLACES; i++)
		places[i] = (struct uprobe_place){
			.offset = program->waits.places[i],
			.group = number,
			.kind = UPROBE_ENTRY,
			.cookie = GOROUTINES_COOKIE(number, i),
			.entry_cookie = GOROUTINES_COOKIE(number, i),
		};
	return uprobes_attach(images->uprobes, program->path, pid, places, GOROUTINES_PLACES, why);
}

static bool is_bound(const struct goroutines_images *images, pid_t pid, uint32_t number)
{
	vec_foreach (&images->bound, bound)
		if (bound->pid == pid && bound->program == number)
			return true;
	return false;
}

static unsigned int bind(struct goroutines_images *images, uint32_t number, pid_t pid)
{
	struct program *program = &images->programs.at[number];
	bool own = images->bind;
	struct fail why = {0};
	int err = 0;

	if (images->bound.count == BOUND_MAX ||
	    !vec_reserve(&images->bound, images->bound.count + 1))
		err = fail(&why, -ENOSPC, NULL, "too many processes run programs of Go");
	else if (own || !program->is_open)
		err = attach(images, number, own ? pid : 0, &why);
	if (err == -ESRCH)
		return 0;
	if (err) {
		program->is_refused |= err != -ENOSPC && !own;
		refuse(images, &why);
		return 0;
	}
	images->bound.at[images->bound.count++] = (struct bound){pid, number, own};
	if (own)
		return SOURCE_IMAGE_PROBED | SOURCE_IMAGE_EACH;
	if (program->is_open)
		return 0;
	program->is_open = true;
	return SOURCE_IMAGE_PROBED;
}

unsigned int goroutines_images_meet(struct goroutines_images *images, pid_t pid,
				    const struct image *image)
{
	int number;

	if (!images->uprobes || image->kind != IMAGE_FILE || image->fd < 0 ||
	    map_get(&images->others, key_of(image)))
		return 0;
	number = find(images, image);
	if (number < 0)
		number = add(images, image);
	if (number < 0 || images->programs.at[number].is_refused)
		return 0;
	if (is_bound(images, pid, (uint32_t)number))
		return images->bind ? SOURCE_IMAGE_EACH : 0;
	return bind(images, (uint32_t)number, pid);
}

void goroutines_images_ended(struct goroutines_images *images, pid_t pid)
{
	size_t kept = 0;

	vec_foreach (&images->bound, bound) {
		if (bound->pid != pid)
			images->bound.at[kept++] = *bound;
		else if (bound->has_own && images->uprobes)
			uprobes_detach(images->uprobes, images->programs.at[bound->program].path,
				       pid);
	}
	images->bound.count = kept;
}

bool goroutines_images_has(const struct goroutines_images *images, pid_t pid)
{
	vec_foreach (&images->bound, bound)
		if (bound->pid == pid)
			return true;
	return false;
}

void goroutines_images_each(const struct goroutines_images *images,
			    void (*each)(void *context, pid_t pid, uint32_t program), void *context)
{
	vec_foreach (&images->bound, bound)
		each(context, bound->pid, bound->program);
}

const struct go_waits *goroutines_images_waits(const struct goroutines_images *images,
					       uint32_t number)
{
	return number < images->programs.count ? &images->programs.at[number].waits : NULL;
}

bool goroutines_images_is(const struct goroutines_images *images, uint32_t number,
			  const struct image *image)
{
	return number < images->programs.count &&
	       images->programs.at[number].device == image->device &&
	       images->programs.at[number].inode == image->inode;
}

const struct goroutines_refused *goroutines_images_refused(const struct goroutines_images *images)
{
	return &images->refused;
}
