// SPDX-License-Identifier: Apache-2.0
#include "camera/walkers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "camera/kernel_types.h"
#include "probes.skel.h"

struct walkers {
	struct probes *probes;
	const struct kernel_types *types;
	uint32_t known, refused; /* runtimes that they know, and those for which that has failed */
};

void walkers_prepare(struct probes *probes, uint32_t runtimes)
{
	probes->rodata->capture_runtimes = runtimes;
}

int walkers_new(struct probes *probes, const struct kernel_types *types, struct walkers **result)
{
	struct walkers *walkers = calloc(1, sizeof(*walkers));

	if (!walkers)
		return -ENOMEM;
	walkers->probes = probes;
	walkers->types = types;
	walkers->known = probes->rodata->capture_runtimes;
	*result = walkers;
	return 0;
}

void walkers_free(struct walkers *walkers)
{
	free(walkers);
}

/* The map with a program's slot; null: it walks no stacks. */
static struct bpf_map *slot_of(const struct probes *probes, const struct bpf_program *program)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_whole", bpf_program__name(program));
	return bpf_object__find_map_by_name(probes->obj, name);
}

/* The same program among those that are loaded; null: it is not. */
static struct bpf_program *loaded(const struct walkers *walkers, const struct bpf_program *program)
{
	struct bpf_program *found =
		bpf_object__find_program_by_name(walkers->probes->obj, bpf_program__name(program));

	return found && bpf_program__fd(found) >= 0 ? found : NULL;
}

static bool is_constant(const struct bpf_map *map)
{
	return bpf_map__is_internal(map) && strstr(bpf_map__name(map), ".rodata");
}

/* All of the same memory but for the constants, which are written at loading. */
static int share_maps(const struct walkers *walkers, struct probes *fresh)
{
	struct bpf_map *map, *there;
	int err = 0;

	bpf_object__for_each_map (map, fresh->obj) {
		if (is_constant(map))
			continue;
		there = bpf_object__find_map_by_name(walkers->probes->obj, bpf_map__name(map));
		if (!there || bpf_map__fd(there) < 0)
			err = bpf_map__set_autocreate(map, false);
		else
			err = bpf_map__reuse_fd(map, bpf_map__fd(there));
		if (err)
			break;
	}
	return err;
}

/* Those that walk, as they were loaded. */
static void choose_programs(const struct walkers *walkers, struct probes *fresh)
{
	struct bpf_program *program, *there;

	bpf_object__for_each_program (program, fresh->obj) {
		there = slot_of(fresh, program) ? loaded(walkers, program) : NULL;
		bpf_program__set_autoload(program, there != NULL);
		if (there)
			bpf_program__set_expected_attach_type(
				program, bpf_program__expected_attach_type(there));
	}
}

/* From here on, the programs go on as those. */
static int fill_slots(const struct walkers *walkers, const struct probes *fresh)
{
	struct bpf_program *program;
	const uint32_t first = 0;

	bpf_object__for_each_program (program, fresh->obj) {
		int fd = bpf_program__fd(program);

		if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(slot_of(walkers->probes, program)),
						   &first, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int load(const struct walkers *walkers, uint32_t runtimes)
{
	struct probes *fresh = kernel_types_open(walkers->types);
	int err;

	if (!fresh)
		return -errno;
	memcpy(fresh->rodata, walkers->probes->rodata, sizeof(*fresh->rodata));
	fresh->rodata->capture_runtimes = runtimes;
	err = share_maps(walkers, fresh);
	if (!err) {
		choose_programs(walkers, fresh);
		err = probes__load(fresh);
	}
	if (!err)
		err = fill_slots(walkers, fresh);
	/* the slots keep what is in them */
	probes__destroy(fresh);
	return err;
}

int walkers_need(struct walkers *walkers, uint32_t runtimes)
{
	uint32_t missing;
	int err;

	if (!walkers)
		return 0;
	missing = runtimes & ~(walkers->known | walkers->refused);
	if (!missing)
		return 0;
	err = load(walkers, walkers->known | missing);
	if (err)
		walkers->refused |= missing;
	else
		walkers->known |= missing;
	return err;
}
