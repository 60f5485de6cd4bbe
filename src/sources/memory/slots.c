// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/slots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/buf.h"
#include "sources/memory/python.h"
#include "elf/file.h"
#include "process/image_open.h"
#include "process/procfs.h"
#include "process/remote.h"

#define MAPS_LIMIT (16u << 20)

/* The most that is looked at of an image, and of a process. */
#define SYMBOLS_MAX	   4000000
#define RELOCATIONS_MAX	   4000000
#define PROCESS_IMAGES_MAX 4096
#define SLOTS_MAX	   65536

static const char *const names[MEMORY_C_FUNCTIONS] = MEMORY_FUNCTION_NAMES;

/* Number of the function; MEM_SLOT_NEW + 1: it is none. */
static uint32_t function_of(const char *name)
{
	for (uint32_t i = 0; i < MEMORY_C_FUNCTIONS; i++)
		if (!strcmp(name, names[i]))
			return i;
	return MEM_SLOT_NEW + !(!strcmp(name, "_Znwm") || !strcmp(name, "_Znam"));
}

struct reading {
	struct mem_slots *slots;
	struct mem_slot_image image;
	struct mem_python python;
	const struct elf_file *file;
	pid_t pid;
};

static bool add_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *strings)
{
	struct reading *reading = context;
	const char *name;
	uint32_t function;

	if (symbol->st_shndx == SHN_UNDEF)
		return true;
	name = elf_strings_get(strings, symbol->st_name);
	mem_python_symbol(&reading->python, name, symbol);
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
		return true;
	function = function_of(name);
	if (function <= MEM_SLOT_NEW)
		reading->image.functions[function] = reading->image.bias + symbol->st_value;
	return true;
}

static int add_slot(struct reading *reading, uint64_t at, uint32_t function)
{
	struct mem_slot slot = {.address = reading->image.bias + at,
				.image = (uint32_t)reading->slots->images.count,
				.function = function};

	if (slot.address % sizeof(slot.value) ||
	    remote_read(reading->pid, &slot.value, sizeof(slot.value), slot.address))
		return 0;
	if (reading->slots->slots.count == SLOTS_MAX || !vec_push(&reading->slots->slots, slot))
		return -ENOMEM;
	return 0;
}

static int add_section(struct reading *reading, const struct elf_section *section)
{
	const struct elf_file *file = reading->file;
	const struct elf_section *symbols, *strings_at;
	uint64_t left = RELOCATIONS_MAX;
	struct elf_strings *strings;
	struct elf_walk *walk;
	Elf64_Rela relocation;
	int err = 0;

	if (section->link >= file->section_count)
		return 0;
	symbols = &file->sections[section->link];
	if (symbols->type != SHT_DYNSYM || symbols->link >= file->section_count)
		return 0;
	strings_at = &file->sections[symbols->link];
	strings = malloc(sizeof(*strings));
	walk = malloc(sizeof(*walk));
	if (strings && walk) {
		elf_strings_begin(strings, file, strings_at);
		elf_walk_begin(walk, file, section);
	} else {
		err = -ENOMEM;
	}
	while (!err && left-- && elf_walk_relocation(walk, &relocation)) {
		uint64_t type = ELF64_R_TYPE(relocation.r_info);
		uint32_t function;
		Elf64_Sym symbol;

		if ((type != ARCH_RELOCATION_JUMP_SLOT && type != ARCH_RELOCATION_GLOB_DAT) ||
		    !elf_file_symbol(file, symbols, ELF64_R_SYM(relocation.r_info), &symbol))
			continue;
		function = function_of(elf_strings_get(strings, symbol.st_name));
		if (function <= MEM_SLOT_NEW)
			err = add_slot(reading, relocation.r_offset, function);
	}
	free(strings);
	free(walk);
	return err;
}

/* A domain that has the functions of the one that calls malloc() has no pools. */
static int add_python(struct reading *reading)
{
	uint64_t raw = mem_python_words(&reading->python, reading->file, MEM_PYTHON_RAW);
	uint64_t of_raw = 0, own = 0;
	int err = 0;

	if (!raw || remote_read(reading->pid, &of_raw, sizeof(of_raw), reading->image.bias + raw))
		return 0;
	for (uint32_t d = 0; d < MEM_PYTHON_RAW; d++) {
		uint64_t at = mem_python_words(&reading->python, reading->file, d);

		if (!at || remote_read(reading->pid, &own, sizeof(own), reading->image.bias + at) ||
		    own == of_raw)
			continue;
		for (uint32_t i = 0; i < MEMORY_PYTHON_FUNCTIONS && !err; i++)
			err = add_slot(reading, at + i * sizeof(own),
				       MEMORY_C_FUNCTIONS + d * MEMORY_PYTHON_FUNCTIONS + i);
	}
	return err;
}

static bool is_linker(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strncmp(name, "/ld-linux", 9) || !strncmp(name, "/ld-2.", 6));
}

int mem_slots_add(struct mem_slots *slots, pid_t pid, const struct procfs_mapping *mapping,
		  const struct elf_file *file)
{
	struct reading reading = {
		.slots = slots,
		.file = file,
		.pid = pid,
		.image = {.device = mapping->device,
			  .inode = mapping->inode,
			  .start = mapping->start,
			  .end = mapping->end,
			  .is_linker = is_linker(mapping->path)},
	};
	int err;

	if (!file->is_64 || file->machine != ARCH_ELF_MACHINE ||
	    !elf_file_bias(file, mapping->start, mapping->offset, &reading.image.bias))
		return 0;
	err = elf_each_symbol(file, SHT_DYNSYM, SYMBOLS_MAX, add_symbol, &reading);
	for (uint32_t i = 0; !err && i < file->section_count; i++)
		if (file->sections[i].type == SHT_RELA && file->sections[i].flags & SHF_ALLOC)
			err = add_section(&reading, &file->sections[i]);
	err = err ? err : add_python(&reading);
	if (!err && !vec_push(&slots->images, reading.image))
		err = -ENOMEM;
	return err;
}

static int read_image(struct mem_slots *slots, pid_t pid, const struct procfs_mapping *mapping)
{
	const struct image_question question = {.pid = pid,
						.start = mapping->start,
						.end = mapping->end,
						.device = mapping->device,
						.inode = mapping->inode,
						.path = mapping->path};
	struct elf_file file;
	struct stat st;
	int fd = image_open(slots->far, &question, &st), err;

	if (fd < 0) {
		slots->unread++;
		return 0;
	}
	err = elf_file_open(&file, fd);
	if (!err) {
		err = mem_slots_add(slots, pid, mapping, &file);
		elf_file_close(&file);
	} else if (err != -ENOMEM) {
		err = 0;
	}
	close(fd);
	return err;
}

static int protection_of(const struct procfs_mapping *mapping)
{
	return (mapping->readable ? PROT_READ : 0) | (mapping->writable ? PROT_WRITE : 0) |
	       (mapping->executable ? PROT_EXEC : 0);
}

/* A word that lies in shared memory is not the process's alone. */
static void protect(struct mem_slots *slots, const struct procfs_mapping *mapping)
{
	vec_foreach (&slots->slots, slot)
		if (slot->address >= mapping->start && slot->address < mapping->end)
			slot->protection = mapping->shared ? 0 : protection_of(mapping);
}

/* Calls emit() for each mapping. */
static int each_mapping(pid_t pid,
			int (*emit)(struct mem_slots *slots, pid_t pid,
				    const struct procfs_mapping *mapping),
			struct mem_slots *slots)
{
	struct buf text = {0};
	char *line, *rest = NULL;
	int err = procfs_read(pid, "maps", MAPS_LIMIT, &text);

	if (err) {
		buf_free(&text);
		return err;
	}
	for (line = strtok_r((char *)text.at, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct procfs_mapping mapping;

		if (procfs_parse_mapping(line, &mapping))
			err = emit(slots, pid, &mapping);
	}
	buf_free(&text);
	return err;
}

struct but {
	struct mem_slots slots; /* first */
	dev_t device;
	ino_t inode;
};

static int add_image(struct mem_slots *slots, pid_t pid, const struct procfs_mapping *mapping)
{
	const struct but *but = (const struct but *)slots;

	if (!mapping->executable || !mapping->inode ||
	    (mapping->device == but->device && mapping->inode == but->inode) ||
	    slots->images.count >= PROCESS_IMAGES_MAX)
		return 0;
	/* of an image with several pieces of code, one is enough */
	vec_foreach (&slots->images, image)
		if (image->device == mapping->device && image->inode == mapping->inode)
			return 0;
	return read_image(slots, pid, mapping);
}

static int add_protection(struct mem_slots *slots, pid_t pid, const struct procfs_mapping *mapping)
{
	(void)pid;
	protect(slots, mapping);
	return 0;
}

int mem_slots_read(struct mem_slots *slots, struct far_files *far, pid_t pid, dev_t device,
		   ino_t inode)
{
	struct but but = {.slots.far = far, .device = device, .inode = inode};
	int err = each_mapping(pid, add_image, &but.slots);

	*slots = but.slots;
	return err ? err : each_mapping(pid, add_protection, slots);
}

void mem_slots_free(struct mem_slots *slots)
{
	vec_free(&slots->slots);
	vec_free(&slots->images);
}

/* -- what they are ----------------------------------------------------------------------------- */

/* It has that image's function, or has had it before it was hooked. */
static bool calls(const struct mem_slot *slot, const struct mem_slot_image *image,
		  const uint64_t hooks[MEMORY_FUNCTIONS], const uint64_t next[MEMORY_FUNCTIONS])
{
	uint32_t i = slot->function;

	if (i >= MEMORY_FUNCTIONS || !image->functions[i])
		return false;
	return slot->value == image->functions[i] ||
	       (slot->value == hooks[i] && next[i] == image->functions[i]);
}

const struct mem_slot_image *mem_slots_provider(const struct mem_slots *slots,
						const uint64_t hooks[MEMORY_FUNCTIONS],
						const uint64_t next[MEMORY_FUNCTIONS])
{
	const struct mem_slot_image *best = NULL, *only = NULL;
	size_t most = 0, definers = 0;

	vec_foreach (&slots->images, image) {
		size_t count = 0;

		if (!image->functions[0] || image->is_linker)
			continue;
		definers++;
		only = image;
		vec_foreach (&slots->slots, slot)
			count += calls(slot, image, hooks, next);
		if (count > most) {
			most = count;
			best = image;
		}
	}
	return best ? best : definers == 1 ? only : NULL;
}

/*
 * The dynamic linker would find the provider's for it: there is no other, or the image's other
 * words have it.
 */
static bool would_be(const struct mem_slots *slots, const struct mem_slot *slot,
		     const struct mem_slot_image *provider, const uint64_t hooks[MEMORY_FUNCTIONS])
{
	size_t definers = 0;

	vec_foreach (&slots->images, image)
		definers += image->functions[0] && !image->is_linker;
	if (definers == 1)
		return true;
	vec_foreach (&slots->slots, other)
		if (other->image == slot->image && other->function < MEMORY_FUNCTIONS &&
		    (other->value == provider->functions[other->function] ||
		     other->value == hooks[other->function]))
			return true;
	return false;
}

enum mem_slot_state mem_slots_state(const struct mem_slots *slots, const struct mem_slot *slot,
				    const struct mem_slot_image *provider,
				    const uint64_t hooks[MEMORY_FUNCTIONS])
{
	const struct mem_slot_image *image = &slots->images.at[slot->image];
	uint64_t function =
		slot->function < MEMORY_FUNCTIONS ? provider->functions[slot->function] : 0;

	if (!slot->protection || slot->function >= MEMORY_FUNCTIONS)
		return MEM_SLOT_OTHER;
	if (slot->function >= MEMORY_C_FUNCTIONS && slot->value != hooks[slot->function])
		return slot->value >= image->start && slot->value < image->end ? MEM_SLOT_BOUND
									       : MEM_SLOT_OTHER;
	if (!function && slot->function < MEMORY_C_FUNCTIONS)
		return MEM_SLOT_OTHER;
	if (slot->value == hooks[slot->function])
		return MEM_SLOT_HOOKED;
	if (slot->value == function)
		return MEM_SLOT_BOUND;
	if (slot->value >= image->start && slot->value < image->end &&
	    slot->value != image->functions[slot->function] &&
	    would_be(slots, slot, provider, hooks))
		return MEM_SLOT_UNBOUND;
	return MEM_SLOT_OTHER;
}
