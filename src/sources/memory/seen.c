// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/seen.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "elf/file.h"
#include "process/targets.h"

/* The most files that are remembered; then they are looked at again. */
#define FILES_MAX 4096

/* The most symbols of a program that are looked at. */
#define SYMBOLS_MAX 1000000

/* Rows of the table below. */
#define MEM_SEEN_MANAGED 1

struct mem_seen {
	const struct mem_library *library;
	uint64_t since; /* processes that began before have memory that is not known; 0: none */
	struct map processes;		    /* pid: has told of an allocation */
	struct map files;		    /* a hash of device and inode: what it exports, HAS_ */
	struct map exports;		    /* pid: what was counted of its files */
	uint64_t without;		    /* processes that had no library, */
	uint64_t own;			    /* and programs that have their own malloc() */
	uint64_t before;		    /* processes that ran before */
	uint64_t managed[MEM_SEEN_MANAGED]; /* processes with a heap of that runtime */
};

int mem_seen_new(const struct mem_library *library, struct mem_seen **result)
{
	struct mem_seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	seen->library = library;
	*result = seen;
	return 0;
}

void mem_seen_free(struct mem_seen *seen)
{
	if (!seen)
		return;
	map_free(&seen->processes);
	map_free(&seen->files);
	map_free(&seen->exports);
	free(seen);
}

void mem_seen_start(struct mem_seen *seen, bool before)
{
	seen->since = before ? clock_ns() : 0;
}

void mem_seen_record(struct mem_seen *seen, struct samples *samples, pid_t pid)
{
	const struct process *process;

	if (map_get(&seen->processes, (uint64_t)pid))
		return;
	(void)!map_put(&seen->processes, (uint64_t)pid, 1);
	process = samples_process(samples, pid);
	/* a command that is filmed from its start is born before the probes, and executed after */
	seen->before +=
		process && process->start && process->start < seen->since && !process->execs;
}

/*
 * Runtimes that map the heap of their language by themselves, by a function that their program, or
 * a library of that name, exports.
 */
static const struct managed {
	const char *library, *function, *words;
} managed[] = {
	{"libnode.so*", "_ZN2v87Isolate3NewERKNS0_12CreateParamsE",
	 "memory in use of JavaScript's heap not known: V8 maps it without malloc(); -e rss tells "
	 "its size"},
};

_Static_assert(sizeof(managed) / sizeof(managed[0]) == MEM_SEEN_MANAGED, "a count for each");

/* What a file exports: a bit for malloc(), and one for each of `managed` behind it. */
enum {
	HAS_MALLOC = 1,
	HAS_MANAGED = 2,
};

static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	uint64_t *found = context;
	const char *name;

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		return true;
	name = elf_strings_get(names, symbol->st_name);
	if (!strcmp(name, "malloc"))
		*found |= HAS_MALLOC;
	for (size_t i = 0; i < MEM_SEEN_MANAGED; i++)
		if (!strcmp(name, managed[i].function))
			*found |= HAS_MANAGED << i;
	return true;
}

static uint64_t exports_of(struct mem_seen *seen, const struct image *image)
{
	const uint64_t what[] = {image->device, image->inode};
	uint64_t key = hash_bytes(what, sizeof(what)), *known = map_get(&seen->files, key);
	uint64_t found = 0;
	struct elf_file file;

	if (known)
		return *known;
	if (image->fd < 0 || elf_file_open(&file, image->fd))
		return 0;
	elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, match_symbol, &found);
	elf_file_close(&file);
	if (seen->files.count >= FILES_MAX)
		map_free(&seen->files);
	(void)!map_put(&seen->files, key, found);
	return found;
}

static bool may_be_managed(const struct image *image)
{
	const char *slash = strrchr(image->path, '/');
	bool may = false;

	for (size_t i = 0; i < MEM_SEEN_MANAGED; i++)
		may |= !fnmatch(managed[i].library, slash ? slash + 1 : image->path, 0);
	return may;
}

/* A file may be mapped in several parts: what is new of that process. */
static uint64_t add_exports(struct mem_seen *seen, pid_t pid, uint64_t exports)
{
	uint64_t *known = map_get(&seen->exports, (uint64_t)pid), before = known ? *known : 0;

	if (exports & ~before)
		(void)!map_put(&seen->exports, (uint64_t)pid, before | exports);
	return exports & ~before;
}

void mem_seen_image(struct mem_seen *seen, struct samples *samples, pid_t pid,
		    const struct image *image)
{
	const struct process *process = samples_process(samples, pid);
	bool is_program;
	uint64_t exports;

	if (image->kind != IMAGE_FILE || !process || !process->exe)
		return;
	is_program = !strcmp(process->exe, image->path);
	if (!is_program && !may_be_managed(image))
		return;
	exports = exports_of(seen, image);
	if (!is_program)
		exports &= ~(uint64_t)HAS_MALLOC;
	exports = add_exports(seen, pid, exports);
	for (size_t i = 0; i < MEM_SEEN_MANAGED; i++)
		seen->managed[i] += exports >> i & HAS_MANAGED ? 1 : 0;
	/* the program comes before all libraries in the search for a function */
	seen->own += exports & HAS_MALLOC;
}

void mem_seen_otherwise(struct mem_seen *seen, pid_t pid)
{
	(void)!map_put(&seen->processes, (uint64_t)pid, 1);
}

static bool has_library(const struct mem_seen *seen, const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct image *image = process->mappings[i].image;

		if (image->device == seen->library->device && image->inode == seen->library->inode)
			return true;
	}
	return false;
}

bool mem_seen_has_library(const struct mem_seen *seen, struct samples *samples, pid_t pid)
{
	const struct process *process = samples_process(samples, pid);

	return process && has_library(seen, process);
}

void mem_seen_ended(struct mem_seen *seen, struct samples *samples, pid_t pid)
{
	const struct process *process = samples_process(samples, pid);
	bool told = map_remove(&seen->processes, (uint64_t)pid);

	map_remove(&seen->exports, (uint64_t)pid);

	if (told || !process || !process->mapping_count || has_library(seen, process))
		return;
	seen->without++;
}

void mem_seen_report(const struct mem_seen *seen, struct film_writer *film, uint32_t event,
		     bool inuse)
{
	if (seen->without)
		film_loss(film, event,
			  "allocations of a process not seen: it runs without stackcam's library, "
			  "being linked statically, set-user-ID, not started by stackcam, or by a "
			  "program that has changed LD_PRELOAD",
			  seen->without);
	if (seen->own)
		film_loss(film, event,
			  "allocations of a process not seen: its program brings its own malloc()",
			  seen->own);
	for (size_t i = 0; inuse && i < MEM_SEEN_MANAGED; i++)
		if (seen->managed[i])
			film_loss(film, event, managed[i].words, seen->managed[i]);
	if (seen->before && inuse)
		film_loss(film, event,
			  "memory in use of a process not known that it had allocated before the "
			  "recording",
			  seen->before);
}
