// SPDX-License-Identifier: Apache-2.0
#include "sources/probed_images.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "sources/source.h"

bool probed_look_add(struct probed_look *look, uint64_t offset, uint32_t group, uint64_t cookie,
		     bool is_end)
{
	const struct uprobe_place place = {
		.offset = offset,
		.group = group,
		.kind = is_end ? UPROBE_EXIT_SITE : UPROBE_ENTRY,
		.cookie = cookie,
		.entry_cookie = cookie,
	};

	return vec_push(&look->places, place);
}

int probed_images_new(const struct probed_kind *kind, struct bpf_program *site, int map, bool bind,
		      struct probed_images **result)
{
	struct probed_images *images = calloc(1, sizeof(*images));
	int err;

	if (!images)
		return -ENOMEM;
	images->kind = kind;
	images->map = map;
	err = probed_files_begin(&images->files, site, bind, kind->keep);
	if (err)
		free(images);
	else
		*result = images;
	return err;
}

void probed_images_detach(struct probed_images *images)
{
	if (images)
		probed_files_detach(&images->files);
}

static void free_known(const struct probed_kind *kind, const struct probed_known *known)
{
	if (kind->free)
		kind->free(known->facts);
	free(known->facts);
	free(known->places);
}

void probed_images_free(struct probed_images *images)
{
	if (!images)
		return;
	probed_files_free(&images->files);
	vec_foreach (&images->known, known)
		free_known(images->kind, known);
	vec_free(&images->known);
	free(images);
}

/* What the kernel's side knows of a file. False: there is no room. */
static bool share(const struct probed_images *images, uint32_t number, const void *facts)
{
	return images->map < 0 ||
	       !bpf_map_update_elem(images->map, &number,
				    (const char *)facts + images->kind->shared, BPF_ANY);
}

/* Keeps what was found out of a file. False: there is no room. */
static bool keep(struct probed_images *images, const struct probed_look *look)
{
	const struct probed_kind *kind = images->kind;

	if (look->number >= kind->most || !vec_reserve(&images->known, look->number + 1) ||
	    !share(images, look->number, look->facts) ||
	    probed_files_add(&images->files, look->image) < 0)
		return false;
	images->known.at[images->known.count++] =
		(struct probed_known){look->facts, look->places.at, look->places.count};
	return true;
}

/* Another file. Returns its number; -1: it is none of the kind, or cannot be followed. */
static int add(void *context, const struct image *image)
{
	struct probed_images *images = context;
	const struct probed_kind *kind = images->kind;
	struct probed_look look = {
		.image = image,
		.number = (uint32_t)images->known.count,
		.facts = calloc(1, kind->size ? kind->size : 1),
	};
	struct fail why = {0};
	int err = look.facts ? kind->look(&look, &why)
			     : fail_errno(&why, -ENOMEM, NULL, "cannot look at a file");

	if (!err && keep(images, &look))
		return (int)look.number;
	if (!err) {
		fail(&why, -ENOSPC, NULL, "%s", kind->too_many);
		free_known(kind, &(struct probed_known){look.facts, look.places.at, 0});
	} else {
		free(look.facts);
		vec_free(&look.places);
	}
	if (err != -ENOENT)
		probed_refused_add(&images->refused, &why);
	return -1;
}

int probed_images_meet(struct probed_images *images, pid_t pid, const struct image *image,
		       unsigned int *state)
{
	int number = probed_files_meet(&images->files, image, add, images), err;
	const struct probed_known *known;
	struct fail why = {0};

	*state = 0;
	if (number < 0)
		return -1;
	known = &images->known.at[number];
	err = probed_files_run(&images->files, (uint32_t)number, pid, known->places,
			       known->place_count, state, &why);
	if (err && err != -ESRCH)
		probed_refused_add(&images->refused, &why);
	if (*state & SOURCE_IMAGE_PROBED && images->kind->probed) {
		images->kind->probed(known->facts);
		/* it is there, and is replaced */
		share(images, (uint32_t)number, known->facts);
	}
	return number;
}

void probed_images_ended(struct probed_images *images, pid_t pid)
{
	probed_files_ended(&images->files, pid);
}

const void *probed_images_facts(const struct probed_images *images, uint32_t number)
{
	return number < images->known.count ? images->known.at[number].facts : NULL;
}

void probed_images_each(const struct probed_images *images,
			void (*each)(void *context, pid_t pid, uint32_t file), void *context)
{
	vec_foreach (&images->files.processes, process)
		each(context, process->pid, process->file);
}
