// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/driver_slots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/buf.h"
#include "elf/file.h"
#include "process/image_open.h"
#include "process/procfs.h"
#include "process/remote.h"
#include "sources/gpu/driver.h"
#include "symbol/elf_jumps.h"

#define MAPS_LIMIT  (16u << 20)
#define SYMBOLS_MAX 65536

/*
 * What a program calls whose GPU works; most exist once more for a stream of each thread, with one
 * of the ends below.
 */
static const char *const calls[] = {
	"cuLaunchKernel",	"cuLaunchKernelEx",	"cuLaunchCooperativeKernel",
	"cuGraphLaunch",	"cuMemcpyAsync",	"cuMemcpyHtoDAsync_v2",
	"cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync",
	"cuMemcpyHtoD_v2",	"cuMemcpyDtoH_v2",	"cuMemcpyDtoD_v2",
	"cuMemsetD8Async",	"cuMemsetD32Async",	"cuMemAlloc_v2",
	"cuMemAllocAsync",	"cuStreamSynchronize",	"cuEventSynchronize",
	"cuCtxSynchronize",
};
static const char *const ends[] = {"", "_ptsz", "_ptds"};

/* What the library calls of the C library. */
static const char *const functions[GPU_C_FUNCTIONS] = {
	"dlopen", "dlsym",     "__cxa_atexit",	 "clock_gettime",   "getpid",
	"getenv", "nanosleep", "pthread_create", "pthread_sigmask",
};

/* Files that have them: before version 2.34 of glibc, several. */
static const char *const c_libraries[] = {"libc.so.", "libc-2.",	"libdl.so.",
					  "libdl-2.", "libpthread.so.", "libpthread-2."};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins_with(const char *name, const char *beginning)
{
	return !strncmp(name, beginning, strlen(beginning));
}

bool gpu_is_driver(const char *path)
{
	for (size_t i = 0; gpu_driver_names[i]; i++)
		if (begins_with(base_name(path), gpu_driver_names[i]))
			return true;
	return false;
}

static bool is_c_library(const char *path)
{
	for (size_t i = 0; i < sizeof(c_libraries) / sizeof(c_libraries[0]); i++)
		if (begins_with(base_name(path), c_libraries[i]))
			return true;
	return false;
}

static bool is_call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!begins_with(name, calls[i]))
			continue;
		for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++)
			if (!strcmp(name + strlen(calls[i]), ends[j]))
				return true;
	}
	return false;
}

struct reading {
	struct gpu_driver_slots *words;
	pid_t pid;
	uint64_t bias;
};

static void add_word(void *context, const char *name, uint64_t word)
{
	struct reading *reading = context;
	struct gpu_driver_slots *words = reading->words;
	struct memory_slot new = {.address = reading->bias + word};

	if (words->count == GPU_STUBS || new.address % sizeof(new.from) || !is_call(name))
		return;
	/* two names of one function */
	for (uint32_t i = 0; i < words->count; i++)
		if (words->words[i].address == new.address)
			return;
	if (!remote_read(reading->pid, &new.from, sizeof(new.from), new.address) && new.from)
		words->words[words->count++] = new;
}

static bool add_function(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct reading *reading = context;
	const char *name;

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return true;
	name = elf_strings_get(names, symbol->st_name);
	for (size_t i = 0; i < GPU_C_FUNCTIONS; i++)
		if (!reading->words->functions[i] && !strcmp(name, functions[i]))
			reading->words->functions[i] = reading->bias + symbol->st_value;
	return true;
}

static int read_file(struct reading *reading, const struct procfs_mapping *mapping, int fd)
{
	struct elf_file file;
	int err = elf_file_open(&file, fd);

	if (err)
		return err;
	if (file.is_64 && file.machine == ARCH_ELF_MACHINE &&
	    elf_file_bias(&file, mapping->start, mapping->offset, &reading->bias))
		err = gpu_is_driver(mapping->path) ? elf_jumps_each(&file, add_word, reading)
						   : elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX,
								     add_function, reading);
	elf_file_close(&file);
	return err;
}

static int read_image(struct reading *reading, struct far_files *far,
		      const struct procfs_mapping *mapping)
{
	const struct image_question question = {.pid = reading->pid,
						.start = mapping->start,
						.end = mapping->end,
						.device = mapping->device,
						.inode = mapping->inode,
						.path = mapping->path};
	bool is_driver = gpu_is_driver(mapping->path);
	struct stat st;
	int fd, err;

	/* of two drivers, one has the devices: the first */
	if (!mapping->executable || !mapping->inode ||
	    (is_driver ? reading->words->has_driver : !is_c_library(mapping->path)))
		return 0;
	reading->words->has_driver |= is_driver;
	fd = image_open(far, &question, &st);
	if (fd < 0)
		return fd;
	err = read_file(reading, mapping, fd);
	close(fd);
	return err;
}

/* A word that lies in shared memory is not the process's alone; one in code would lock that. */
static void add_protection(struct gpu_driver_slots *words, const struct procfs_mapping *mapping)
{
	for (uint32_t i = 0; i < words->count; i++) {
		struct memory_slot *word = &words->words[i];

		if (word->address < mapping->start || word->address >= mapping->end)
			continue;
		word->protection =
			(mapping->readable ? PROT_READ : 0) | (mapping->writable ? PROT_WRITE : 0);
		if (mapping->shared || mapping->executable)
			word->protection = 0;
	}
}

static int each_mapping(struct reading *reading, struct far_files *far, bool is_second)
{
	struct buf text = {0};
	char *line, *rest = NULL;
	int err = procfs_read(reading->pid, "maps", MAPS_LIMIT, &text);

	for (line = err ? NULL : strtok_r((char *)text.at, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct procfs_mapping mapping;

		if (!procfs_parse_mapping(line, &mapping))
			continue;
		if (is_second)
			add_protection(reading->words, &mapping);
		else
			err = read_image(reading, far, &mapping);
	}
	buf_free(&text);
	return err;
}

static int check(const struct gpu_driver_slots *words, pid_t pid, struct fail *why)
{
	if (!words->has_driver)
		return fail(why, -ENOENT, NULL,
			    "process %d has no driver library (libcuda.so.1): it does not use a "
			    "GPU, or did "
			    "not so far",
			    (int)pid);
	for (uint32_t i = 0; i < words->count; i++)
		if (!words->words[i].protection)
			return fail(why, -ENOTSUP, NULL,
				    "the driver library of process %d keeps its words with code or "
				    "shares them",
				    (int)pid);
	if (!words->count)
		return fail(why, -ENOTSUP, NULL,
			    "the driver library of process %d begins its functions in another way",
			    (int)pid);
	if (!gpu_driver_slots_function((void *)words, "dlopen") ||
	    !gpu_driver_slots_function((void *)words, "dlsym"))
		return fail(why, -ENOTSUP, NULL,
			    "process %d has no dlopen() of glibc: it is linked statically, or has "
			    "another C library",
			    (int)pid);
	return 0;
}

int gpu_driver_slots_read(struct gpu_driver_slots *words, struct far_files *far, pid_t pid,
			  struct fail *why)
{
	struct reading reading = {.words = words, .pid = pid};
	int err;

	*words = (struct gpu_driver_slots){0};
	err = each_mapping(&reading, far, false);
	err = err ? err : each_mapping(&reading, far, true);
	if (err)
		return fail_errno(why, err, NULL, "cannot read the libraries of process %d",
				  (int)pid);
	return check(words, pid, why);
}

uint64_t gpu_driver_slots_function(void *context, const char *name)
{
	const struct gpu_driver_slots *words = context;

	for (size_t i = 0; i < GPU_C_FUNCTIONS; i++)
		if (!strcmp(name, functions[i]))
			return words->functions[i];
	return 0;
}
