// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/library.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../inject/memory_places.h"
#include "bpf/memory/heap_abi.h"
#include "elf/file.h"

_Static_assert(MEM_HEAP_PLACE_ALLOC == MEMORY_PLACE_ALLOC &&
		       MEM_HEAP_PLACE_FREE == MEMORY_PLACE_FREE &&
		       MEM_HEAP_PLACE_KEPT == MEMORY_PLACE_KEPT &&
		       MEM_HEAP_PLACE_OBJECT == MEMORY_PLACE_OBJECT,
	       "the library's places are cookies of its probes");

/* From the folder that stackcam lies in. */
static const char *const folders[] = {
	"../inject",	   /* of the build */
	STACKCAM_LIBRARIES /* where it is installed, from the folder of programs on */
};

/* The folder of this program; false: it is not known. */
static bool own_folder(char *to, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", to, size - 1);
	char *end;

	if (length <= 0)
		return false;
	to[length] = 0;
	end = strrchr(to, '/');
	if (!end)
		return false;
	*end = 0;
	return true;
}

static bool look_in(struct mem_library *library, const char *own, const char *folder,
		    const char *name)
{
	char path[2 * PATH_MAX], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", own, folder, name);
	/* a colon or a space ends a name in LD_PRELOAD */
	if (!realpath(path, real) || strlen(real) >= sizeof(library->path) || strpbrk(real, ": "))
		return false;
	strcpy(library->path, real);
	return true;
}

struct finding {
	const char *name;
	Elf64_Sym symbol;
	bool found;
};

static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct finding *finding = context;

	if (strcmp(elf_strings_get(names, symbol->st_name), finding->name))
		return true;
	finding->symbol = *symbol;
	finding->found = true;
	return false;
}

/* Where a table is, when it is loaded, and in the file; size may be null. */
static int find_table(const struct elf_file *file, const char *name, uint64_t *at, uint64_t *offset,
		      uint64_t *size)
{
	struct finding finding = {.name = name};
	int err = elf_each_symbol(file, SHT_DYNSYM, 4096, match_symbol, &finding);

	*at = finding.symbol.st_value;
	if (size)
		*size = finding.symbol.st_size;
	if (err || !finding.found || !elf_file_offset(file, *at, offset))
		return err ? err : -ENOEXEC;
	return 0;
}

static int read_entries(struct mem_library *library, const struct elf_file *file)
{
	uint64_t at, offset, size = 0;
	int err = find_table(file, MEMORY_ENTRIES_SYMBOL, &at, &offset, &size);

	if (err || size > sizeof(library->entries) ||
	    !elf_file_read(file, offset, library->entries, size))
		return err ? err : -ENOEXEC;
	for (uint64_t i = 0; i < size / sizeof(library->entries[0]); i++)
		library->entries[i] += at;
	return 0;
}

_Static_assert((int)MEM_HEAP_PLACES <= MEM_PLACES, "its places have numbers below that");

static int read_places(struct mem_library *library, const struct elf_file *file)
{
	uint64_t at, offset, pair[2];
	int err = find_table(file, MEMORY_PLACES_SYMBOL, &at, &offset, NULL);

	if (err)
		return err;
	for (;; offset += sizeof(pair)) {
		struct uprobe_place *place = &library->places[library->count];

		if (!elf_file_read(file, offset, pair, sizeof(pair)))
			return -ENOEXEC;
		if (!pair[1])
			break;
		if (library->count == sizeof(library->places) / sizeof(library->places[0]) ||
		    pair[1] >= MEM_PLACES)
			return -ENOEXEC;
		*place = (struct uprobe_place){
			.kind = UPROBE_ENTRY, .cookie = pair[1], .entry_cookie = pair[1]};
		if (!elf_file_offset(file, at + pair[0], &place->offset))
			return -ENOEXEC;
		library->count++;
	}
	return library->count ? 0 : -ENOEXEC;
}

static int read_file(struct mem_library *library)
{
	int fd = open(library->path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file file;
	struct stat stat;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &stat) ? -errno : elf_file_open(&file, fd);
	if (!err) {
		library->device = stat.st_dev;
		library->inode = stat.st_ino;
		err = read_places(library, &file);
		err = err ? err : read_entries(library, &file);
		elf_file_close(&file);
	}
	close(fd);
	return err;
}

int mem_library_open(struct mem_library *library, const char *path, struct fail *why)
{
	int err;

	*library = (struct mem_library){0};
	snprintf(library->path, sizeof(library->path), "%s", path);
	err = read_file(library);
	return err ? fail_errno(why, err, "install the one of this version of stackcam",
				"cannot use '%s'", library->path)
		   : 0;
}

int mem_library_find(struct mem_library *library, const char *name, struct fail *why)
{
	char own[PATH_MAX];
	int err = -ENOENT;

	*library = (struct mem_library){0};
	if (own_folder(own, sizeof(own)))
		for (size_t i = 0; err && i < sizeof(folders) / sizeof(folders[0]); i++)
			err = look_in(library, own, folders[i], name) ? 0 : -ENOENT;
	if (err)
		return fail_errno(why, err, "install it with stackcam", "cannot find %s", name);
	strcpy(own, library->path);
	return mem_library_open(library, own, why);
}
