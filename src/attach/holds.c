// SPDX-License-Identifier: Apache-2.0
#include "attach/holds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "bpf/hold_abi.h"
#include "attach/feature.h"
#include "attach/links.h"
#include "bpf/probes.skel.h"

/*
 * How long a program may be held. One that was not chosen waits for a moment only, and one of
 * others not for long; a command that runs to be traced may, until thousands of its functions have
 * been looked at.
 */
#define LIMIT_OF_ANY_NS	    10000000ull
#define LIMIT_OF_OTHERS_NS  100000000ull
#define LIMIT_OF_COMMAND_NS 2000000000ull

#define SLOTS_BYTES	    (HOLD_SLOTS * sizeof(struct hold_slot))

struct holds {
	struct links links;
	struct hold_slot *slots; /* shared with the kernel side */
	int known;		 /* the map of files */
	struct probes *probes;
	struct holds_counts counts;
};

static bool has_feature(enum feature_id id)
{
	struct feature feature;

	feature_probe(id, &feature);
	return feature.state == FEATURE_OK;
}

/* What a glob's matches begin with. */
static size_t literal_prefix(const char *glob)
{
	return strcspn(glob, "*?[\\");
}

/* The kernel side passes over processes whose names cannot match; what is left is asked about. */
static void list_names(struct probes *probes, const struct selection *selection)
{
	enum {
		MAX = sizeof(probes->rodata->hold_names) / sizeof(probes->rodata->hold_names[0]),
		BYTES = sizeof(probes->rodata->hold_names[0]),
	};
	size_t i;

	/* control groups of version 1 are asked about, too */
	if (selection->cgroup_count || selection->name_count > MAX)
		return;
	for (i = 0; i < selection->name_count; i++) {
		size_t length = literal_prefix(selection->names[i]);

		memcpy(probes->rodata->hold_names[i], selection->names[i],
		       length < BYTES - 1 ? length : BYTES - 1);
	}
	probes->rodata->hold_name_count = (uint32_t)selection->name_count;
}

/* Returns whether there is one to be held. */
static bool list_libraries(struct probes *probes, const struct holds_libraries *libraries)
{
	_Static_assert(sizeof(libraries->names) / sizeof(libraries->names[0]) ==
			       sizeof(probes->rodata->hold_libraries) /
				       sizeof(probes->rodata->hold_libraries[0]),
		       "a row for each name");

	if (libraries->any)
		return true;
	for (size_t i = 0; i < libraries->count; i++)
		snprintf((char *)probes->rodata->hold_libraries[i],
			 sizeof(probes->rodata->hold_libraries[i]), "%s", libraries->names[i]);
	probes->rodata->hold_library_count = (uint32_t)libraries->count;
	return libraries->count;
}

static uint64_t limit_of(const struct selection *selection)
{
	if (selection->whole_machine)
		return LIMIT_OF_ANY_NS;
	return selection->command ? LIMIT_OF_COMMAND_NS : LIMIT_OF_OTHERS_NS;
}

void holds_prepare(struct probes *probes, const struct selection *selection,
		   const struct holds_libraries *libraries)
{
	bool can = has_feature(FEATURE_HOLD);

	bpf_program__set_autoload(probes->progs.hold_exec, can);
	bpf_program__set_autoload(probes->progs.hold_map, list_libraries(probes, libraries) && can);
	/* children of a thread are not meant */
	bpf_program__set_autoload(probes->progs.hold_fork, can && !selection->tid_count);
	bpf_program__set_autoload(probes->progs.hold_tell_exec, !can);
	bpf_map__set_autocreate(probes->maps.hold_works, can);
	probes->rodata->hold_recorder = getpid();
	probes->rodata->hold_limit = limit_of(selection);
	list_names(probes, selection);
}

void holds_leave_out(struct probes *probes)
{
	bpf_program__set_autoload(probes->progs.hold_exec, false);
	bpf_program__set_autoload(probes->progs.hold_map, false);
	bpf_program__set_autoload(probes->progs.hold_fork, false);
	bpf_program__set_autoload(probes->progs.hold_tell_exec, false);
	bpf_map__set_autocreate(probes->maps.hold_works, false);
	bpf_map__set_autocreate(probes->maps.hold_slots, false);
	bpf_map__set_autocreate(probes->maps.hold_known, false);
}

int holds_start(struct probes *probes, struct holds **result, struct fail *why)
{
	struct bpf_program *const programs[] = {probes->progs.hold_exec, probes->progs.hold_map,
						probes->progs.hold_tell_exec,
						probes->progs.hold_fork};
	struct holds *holds = calloc(1, sizeof(*holds));
	void *slots;
	int err;

	if (!holds)
		return fail_errno(why, -ENOMEM, NULL, "cannot hold programs");
	holds->probes = probes;
	holds->known = bpf_map__fd(probes->maps.hold_known);
	slots = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(probes->maps.hold_slots), 0);
	if (slots == MAP_FAILED) {
		err = fail_errno(why, -errno, "see 'stackcam doctor'", "cannot hold programs");
	} else {
		holds->slots = slots;
		err = links_attach(&holds->links, programs, sizeof(programs) / sizeof(programs[0]),
				   "hold programs", why);
	}
	if (err)
		holds_stop(holds);
	else
		*result = holds;
	return err;
}

void holds_children(struct probes *probes)
{
	__atomic_store_n(&probes->bss->hold_children, 1, __ATOMIC_SEQ_CST);
}

void holds_forget(struct probes *probes)
{
	struct hold_file file;
	int known = bpf_map__fd(probes->maps.hold_known);

	while (!bpf_map_get_next_key(known, NULL, &file))
		if (bpf_map_delete_elem(known, &file))
			break;
}

static bool exchange(struct hold_slot *slot, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&slot->state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void holds_stop(struct holds *holds)
{
	if (!holds)
		return;
	links_free(&holds->links);
	__atomic_store_n(&holds->probes->bss->hold_over, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; holds->slots && i < HOLD_SLOTS; i++)
		exchange(&holds->slots[i], HOLD_WAITING, HOLD_GO);
	if (holds->slots)
		munmap(holds->slots, SLOTS_BYTES);
	free(holds);
}

static void handle_slot(struct holds *holds, struct hold_slot *slot,
			const struct holds_listener *listener)
{
	/* the slot can belong to another process as soon as this one is let go */
	struct hold_slot copy = *slot;
	struct held held = {
		.pid = (pid_t)copy.pid,
		.is_program = copy.kind == HOLD_EXEC,
		.is_child = copy.kind == HOLD_FORK,
		.by_thread = copy.by_thread,
		.undecided = copy.undecided,
		.comm = copy.comm,
		.address = copy.address,
		.device = makedev(copy.file.device >> 20, copy.file.device & 0xfffff),
		.inode = copy.file.inode,
		.began = copy.began,
	};
	uint64_t now, ran = 0;
	uint8_t yes = 1;
	bool wanted, each = false;

	copy.comm[sizeof(copy.comm) - 1] = 0;
	wanted = listener->prepare(listener->context, &held, &each);
	now = clock_ns();
	/* one that cannot be kept is held again */
	if (wanted && !each && !held.is_child)
		bpf_map_update_elem(holds->known, &copy.file, &yes, BPF_ANY);
	if (exchange(slot, HOLD_WAITING, HOLD_GO)) {
		holds->counts.count += wanted;
		if (now - copy.began > holds->counts.longest)
			holds->counts.longest = now - copy.began;
	} else {
		ran = now > slot->ended ? now - slot->ended : 1;
		exchange(slot, HOLD_EXPIRED, HOLD_FREE);
	}
	if (wanted)
		listener->released(listener->context, &held, ran);
}

void holds_handle(struct holds *holds, const struct holds_listener *listener)
{
	size_t i;

	for (i = 0; i < HOLD_SLOTS; i++) {
		uint32_t state = __atomic_load_n(&holds->slots[i].state, __ATOMIC_SEQ_CST);

		if (state == HOLD_WAITING || state == HOLD_EXPIRED)
			handle_slot(holds, &holds->slots[i], listener);
	}
}

struct holds_counts holds_counts(const struct holds *holds)
{
	return holds->counts;
}
