// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/ways.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sources/gpu/driver.h"
#include "sources/gpu/driver_slots.h"
#include "sources/memory/library.h"
#include "sources/memory/places.h"
#include "sources/memory/slots.h"
#include "sources/rdma/library.h"
#include "process/remote.h"
#include "process/targets.h"
#include "runtime/go/heap.h"

/* What the files of a process are. */
struct looking {
	struct mem_ways *ways;
	size_t places;		    /* of allocators, in all files */
	struct mem_library library; /* an earlier recording may have left it in the process */
	struct fail no_library;
	struct mem_slots slots;
	const struct mem_slot_image *provider; /* null: no allocator of a library is called */
	int slots_err;
	bool is_java, is_java_refused;
	bool is_go;
	struct fail go;		      /* why Go's samples cannot be read */
	const struct image *gpu;      /* the driver library of a GPU; null: there is none */
	struct gpu_driver driver;     /* what it is, */
	struct fail no_driver;	      /* or why it cannot be probed */
	const struct image *profiler; /* CUPTI; null: it is not loaded yet */
	const struct image *verbs;    /* libibverbs; null: there is none */
	struct fail no_verbs;	      /* why it cannot be probed */
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Which allocator's functions the images of the process call. */
static void find_provider(struct looking *looking, pid_t pid)
{
	static const uint64_t none[MEMORY_FUNCTIONS];

	mem_library_find(&looking->library, MEMORY_LIBRARY, &looking->no_library);
	looking->slots_err = mem_slots_read(&looking->slots, NULL, pid, looking->library.device,
					    looking->library.inode);
	if (!looking->slots_err)
		looking->provider = mem_slots_provider(&looking->slots, none, none);
}

static bool is_provider(const struct looking *looking, const struct image *image)
{
	return looking->provider && looking->provider->inode == image->inode &&
	       looking->provider->device == image->device;
}

static bool is_ours(const struct looking *looking, const struct image *image)
{
	return !looking->no_library.err && looking->library.inode == image->inode &&
	       looking->library.device == image->device;
}

/* Whether an image is a library of a kind; and if it is, why it cannot be probed. */
static bool is_of_kind(const struct probed_kind *kind, const struct image *image, void *facts,
		       struct fail *why)
{
	struct probed_look look = {.image = image, .facts = facts};
	int err;

	*why = (struct fail){0};
	err = kind->look(&look, why);
	vec_free(&look.places);
	return err != -ENOENT;
}

/* Libraries whose functions are probed. */
static void look_at_library(struct looking *looking, const struct image *image)
{
	static const char profiler[] = "libcupti.so";
	struct gpu_driver driver = {0};
	struct fail why;

	if (!looking->gpu && is_of_kind(&gpu_driver_kind, image, &driver, &why)) {
		looking->gpu = image;
		looking->driver = driver;
		looking->no_driver = why;
	}
	if (!strncmp(last_part(image->path), profiler, sizeof(profiler) - 1))
		looking->profiler = image;
	if (!looking->verbs && is_of_kind(&rdma_library_kind, image, NULL, &why)) {
		looking->verbs = image;
		looking->no_verbs = why;
	}
}

/* The functions of one file that allocate. */
static void look_at_image(struct looking *looking, const struct image *image)
{
	struct uprobe_place places[MEM_PLACES_MAX];
	struct mem_ways *ways = looking->ways;
	size_t used = strlen(ways->allocator), found;
	bool is_refused = false;
	struct go_heap heap;
	struct fail why = {0};
	int err;

	if (image->kind != IMAGE_FILE || !image->is_elf || is_ours(looking, image))
		return;
	look_at_library(looking, image);
	found = mem_places_find(MEM_PLACES_MALLOC, image, places, &is_refused);
	if (found)
		snprintf(ways->allocator + used, sizeof(ways->allocator) - used, "%s%s%s",
			 used ? ", " : "", last_part(image->path),
			 is_provider(looking, image) ? " (called)" : "");
	looking->places += found;
	is_refused = false;
	looking->is_java |= mem_places_find(MEM_PLACES_JAVA, image, places, &is_refused) != 0;
	looking->is_java_refused |= is_refused;
	err = go_heap_of(&heap, image, &why);
	if (err == -ENOENT)
		return;
	looking->is_go = true;
	if (err)
		looking->go = why;
}

static struct mem_way *add(struct mem_ways *ways, const char *event, const char *cost)
{
	struct mem_way *way = &ways->at[ways->count++];

	*way = (struct mem_way){.event = event, .cost = cost};
	return way;
}

static void put_grow(struct mem_ways *ways)
{
	struct mem_way *way = add(ways, "mem-grow", "a tenth of a page fault; else nothing");

	way->works = true;
	snprintf(way->words, sizeof(way->words), "samples page faults, in any language");
}

static void put_alloc(const struct looking *looking)
{
	struct mem_way *way =
		add(looking->ways, "mem-alloc", "at most 2 % of a CPU (--mem-budget)");

	way->works = looking->places != 0;
	if (way->works)
		snprintf(way->words, sizeof(way->words),
			 "probes in the allocator, a part of the time");
	else
		snprintf(way->words, sizeof(way->words),
			 "no function of an allocator was found by its name");
}

/* By the library, which is put into the process. */
static void put_inuse(const struct looking *looking, pid_t pid)
{
	struct mem_way *way =
		add(looking->ways, "mem-alloc,mem-inuse",
		    "about a millisecond of its first thread, then some ns an allocation");
	struct fail why = looking->no_library;
	int err = why.err;

	if (!err)
		err = remote_check(pid, &why);
	if (!err && looking->slots_err)
		err = fail(&why, -EIO, NULL, "process %d cannot be read", (int)pid);
	if (!err && !looking->provider)
		err = fail(&why, -ENOTSUP, NULL,
			   "process %d is linked statically, or calls no malloc() of a library",
			   (int)pid);
	way->works = !err;
	snprintf(way->words, sizeof(way->words), "%s",
		 err ? why.what
		     : "a library that is put into the process; later it is unused, and mapped "
		       "still");
}

static void put_java(const struct looking *looking)
{
	struct mem_way *way;

	if (!looking->is_java && !looking->is_java_refused)
		return;
	way = add(looking->ways, "mem-inuse --mem-java 1",
		  "what the JVM takes for its own samples");
	way->works = looking->is_java;
	snprintf(way->words, sizeof(way->words), "%s",
		 looking->is_java ? "an agent that the JVM loads, by stack and class"
				  : "the JVM's libjvm.so has no table of symbols");
}

static void put_go(const struct looking *looking)
{
	struct mem_way *way;

	if (!looking->is_go)
		return;
	way = add(looking->ways, "mem-alloc,mem-inuse", "a reading of its memory each second");
	way->works = !looking->go.err;
	if (way->works)
		snprintf(way->words, sizeof(way->words), "Go's own samples, read from outside");
	else
		snprintf(way->words, sizeof(way->words), "Go's own samples: %.400s",
			 looking->go.what);
}

static void put_gpu(const struct looking *looking)
{
	struct mem_way *way;

	if (!looking->gpu)
		return;
	way = add(looking->ways, "hbm-alloc,hbm-inuse",
		  "about 2 us an allocation of device memory, and 1 us where it is given back");
	way->works = !looking->no_driver.err;
	if (!way->works)
		snprintf(way->words, sizeof(way->words), "%.500s", looking->no_driver.what);
	else
		snprintf(way->words, sizeof(way->words), "probes in %zu functions of %.200s%s",
			 looking->driver.functions, last_part(looking->gpu->path),
			 looking->driver.slow ? ", of which some cost five times as much" : "");
}

/* Whether another tool has the profiling library is known when it is asked to record. */
static void put_kernels(const struct looking *looking, pid_t pid)
{
	struct gpu_driver_slots words;
	struct mem_way *way;
	struct fail why = {0};
	int err;

	if (!looking->gpu)
		return;
	way = add(looking->ways, "on-gpu,gpu-lanes",
		  "some ns a launch, and what the profiling library itself takes");
	err = gpu_driver_slots_read(&words, NULL, pid, &why);
	err = err ? err : remote_check(pid, &why);
	way->works = !err;
	if (err)
		snprintf(way->words, sizeof(way->words), "%.500s", why.what);
	else if (looking->profiler)
		snprintf(way->words, sizeof(way->words),
			 "a library that is put into the process, and asks its %.200s",
			 last_part(looking->profiler->path));
	else
		snprintf(way->words, sizeof(way->words),
			 "a library that is put into the process, and loads libcupti.so as the "
			 "process next calls the driver: the losses say if there is none, or "
			 "another tool has it");
}

static void put_rdma(const struct looking *looking)
{
	struct mem_way *way;

	if (!looking->verbs)
		return;
	way = add(looking->ways, "rdma,rdma-latency,rdma-memory",
		  "about 2 us an operation, and at first some more a poll, for a moment");
	way->works = !looking->no_verbs.err;
	if (way->works)
		snprintf(way->words, sizeof(way->words),
			 "probes in %.200s and in the provider of its device",
			 last_part(looking->verbs->path));
	else
		snprintf(way->words, sizeof(way->words), "%.500s", looking->no_verbs.what);
}

int mem_ways_find(pid_t pid, struct mem_ways *ways, struct fail *why)
{
	const struct targets_listener nobody = {0};
	struct looking looking = {.ways = ways};
	struct targets *targets = NULL;
	struct process *process;
	int err = targets_new(&nobody, &targets);

	*ways = (struct mem_ways){0};
	if (err)
		return fail_errno(why, err, NULL, "cannot look at process %d", (int)pid);
	process = targets_find(targets, pid);
	if (!process) {
		targets_free(targets);
		return fail(why, -ESRCH, NULL, "there is no process %d", (int)pid);
	}
	snprintf(ways->comm, sizeof(ways->comm), "%s", process->comm);
	if (!process->mapping_count) {
		targets_free(targets);
		return fail(why, -EINVAL, NULL,
			    "process %d has no program: it is a thread of the kernel, or has ended",
			    (int)pid);
	}
	find_provider(&looking, pid);
	for (size_t i = 0; i < process->mapping_count; i++)
		look_at_image(&looking, process->mappings[i].image);
	put_grow(ways);
	put_alloc(&looking);
	put_inuse(&looking, pid);
	put_go(&looking);
	put_java(&looking);
	put_gpu(&looking);
	put_kernels(&looking, pid);
	put_rdma(&looking);
	mem_slots_free(&looking.slots);
	targets_free(targets);
	return 0;
}
