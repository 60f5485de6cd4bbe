// SPDX-License-Identifier: Apache-2.0
#include "attach/walkers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/capture/abi.h"
#include "attach/kernel_types.h"
#include "attach/refusal.h"
#include "bpf/probes.skel.h"

/* The entry of a walker without a runtime's step. */
#define NATIVE 0

/* Where programs walk: the program that does it, and its table. */
struct place {
	struct bpf_program *user; /* one that goes on there; null: none is loaded */
	const char *walker, *table;
};

struct walkers {
	struct probes *probes;
	const struct kernel_types *types;
	struct place places[CAPTURE_WALKER_COUNT];
	uint32_t known;				   /* runtimes whose steps are loaded: bits, */
	struct fail refused[UNWIND_RUNTIME_COUNT]; /* and why those of others are not */
};

void walkers_prepare(struct probes *probes)
{
#define X(NAME, name, section) bpf_program__set_autoload(probes->progs.walker_##name, false);
	CAPTURE_WALKERS(X)
#undef X
#define X(NAME, name, walker)                                                 \
	bpf_program__set_autoload(probes->progs.name##_done,                  \
				  bpf_program__autoload(probes->progs.name)); \
	bpf_program__set_expected_attach_type(                                \
		probes->progs.name##_done, bpf_program__expected_attach_type(probes->progs.name));
	CAPTURE_DONES(X)
#undef X
}

/* Whether a loaded program uses a map. */
static bool uses(const struct bpf_program *program, const struct bpf_map *map)
{
	uint32_t ids[256], size = sizeof(struct bpf_prog_info), i;
	struct bpf_prog_info info = {.nr_map_ids = 256, .map_ids = (uintptr_t)ids};
	struct bpf_map_info table = {0};
	uint32_t table_size = sizeof(table);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ||
	    bpf_obj_get_info_by_fd(bpf_map__fd(map), &table, &table_size))
		return false;
	for (i = 0; i < info.nr_map_ids && i < 256; i++)
		if (ids[i] == table.id)
			return true;
	return false;
}

/* Finds one of the loaded programs that walk there. */
static void find_user(const struct walkers *walkers, struct place *place)
{
	struct bpf_map *table = bpf_object__find_map_by_name(walkers->probes->obj, place->table);
	struct bpf_program *program;

	if (!table)
		return;
	bpf_object__for_each_program (program, walkers->probes->obj) {
		if (bpf_program__fd(program) >= 0 && uses(program, table)) {
			place->user = program;
			return;
		}
	}
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

/* Of our programs only the walkers of places that have users. */
static void choose_programs(const struct walkers *walkers, struct probes *fresh)
{
	struct bpf_program *program;
	size_t i;

	bpf_object__for_each_program (program, fresh->obj)
		bpf_program__set_autoload(program, false);
	for (i = 1; i < CAPTURE_WALKER_COUNT; i++) {
		const struct place *place = &walkers->places[i];

		program = bpf_object__find_program_by_name(fresh->obj, place->walker);
		if (!place->user || !program)
			continue;
		bpf_program__set_autoload(program, true);
		bpf_program__set_expected_attach_type(
			program, bpf_program__expected_attach_type(place->user));
	}
}

static int fill(const struct walkers *walkers, const struct place *place, uint32_t entry,
		const struct bpf_program *program)
{
	struct bpf_map *table = bpf_object__find_map_by_name(walkers->probes->obj, place->table);
	int fd = bpf_program__fd(program);

	return bpf_map_update_elem(bpf_map__fd(table), &entry, &fd, BPF_ANY) ? -errno : 0;
}

/* From here on, walks go on there. */
static int fill_tables(const struct walkers *walkers, const struct probes *fresh, uint32_t entry)
{
	size_t i;
	int err = 0;

	for (i = 1; !err && i < CAPTURE_WALKER_COUNT; i++) {
		const struct place *place = &walkers->places[i];

		if (place->user)
			err = fill(walkers, place, entry,
				   bpf_object__find_program_by_name(fresh->obj, place->walker));
	}
	return err;
}

/* runtime: whose step the walkers have; NATIVE: none. */
static int load(const struct walkers *walkers, uint32_t runtime)
{
	struct probes *fresh = kernel_types_open(walkers->types);
	int err;

	if (!fresh)
		return -errno;
	memcpy(fresh->rodata, walkers->probes->rodata, sizeof(*fresh->rodata));
	fresh->rodata->capture_runtimes = runtime == NATIVE ? 0 : 1u << runtime;
	err = share_maps(walkers, fresh);
	if (!err) {
		choose_programs(walkers, fresh);
		err = probes__load(fresh);
	}
	if (!err)
		err = fill_tables(walkers, fresh, runtime);
	/* the tables keep what is in them */
	probes__destroy(fresh);
	return err;
}

/* What follows walks. */
static int fill_dones(const struct walkers *walkers)
{
	const struct {
		const struct bpf_program *program;
		const char *table;
		uint32_t entry;
	} dones[] = {
#define X(NAME, name, walker) \
	{walkers->probes->progs.name##_done, "walk_" #walker, CAPTURE_DONE_##NAME},
		CAPTURE_DONES(X)
#undef X
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(dones) / sizeof(dones[0]); i++) {
		const struct place place = {.table = dones[i].table};

		if (bpf_program__fd(dones[i].program) >= 0)
			err = fill(walkers, &place, dones[i].entry, dones[i].program);
	}
	return err;
}

int walkers_new(struct probes *probes, const struct kernel_types *types, struct walkers **result)
{
	static const struct place places[CAPTURE_WALKER_COUNT] = {
#define X(NAME, name, section) [CAPTURE_WALKER_##NAME] = {NULL, "walker_" #name, "walk_" #name},
		CAPTURE_WALKERS(X)
#undef X
	};
	struct walkers *walkers = calloc(1, sizeof(*walkers));
	bool has_users = false;
	size_t i;
	int err;

	if (!walkers)
		return -ENOMEM;
	walkers->probes = probes;
	walkers->types = types;
	memcpy(walkers->places, places, sizeof(places));
	for (i = 1; i < CAPTURE_WALKER_COUNT; i++) {
		find_user(walkers, &walkers->places[i]);
		has_users |= walkers->places[i].user != NULL;
	}
	err = has_users ? load(walkers, NATIVE) : 0;
	if (!err)
		err = fill_dones(walkers);
	if (err)
		free(walkers);
	else
		*result = walkers;
	return err;
}

void walkers_free(struct walkers *walkers)
{
	free(walkers);
}

/* Loads the step of one runtime, or says why it is refused. */
static int load_step(struct walkers *walkers, uint32_t runtime)
{
	struct fail *why = &walkers->refused[runtime];
	struct refusal refusal;
	int err;

	refusal_begin(&refusal);
	err = load(walkers, runtime);
	refusal_end();
	walkers->known |= err ? 0 : 1u << runtime;
	if (err && refusal.name[0])
		return fail(why, err, NULL, "the kernel refuses %s: %s", refusal.name,
			    refusal.words);
	return err ? fail_errno(why, err, NULL, "cannot load the program that walks its stacks")
		   : 0;
}

int walkers_need(struct walkers *walkers, uint32_t runtimes, struct fail *why)
{
	int err = 0;

	for (uint32_t runtime = 1; walkers && runtime < UNWIND_RUNTIME_COUNT; runtime++) {
		struct fail *refused = &walkers->refused[runtime];

		if (!(runtimes >> runtime & 1) || walkers->known >> runtime & 1)
			continue;
		if (!refused->err && !load_step(walkers, runtime))
			continue;
		*why = *refused;
		err = refused->err;
	}
	return err;
}
