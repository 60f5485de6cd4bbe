// SPDX-License-Identifier: Apache-2.0
#include "process/tls_variable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/elf.h"
#include "elf/file.h"

enum {
	SYMBOLS_MAX = 200000, /* of a file */
	RELOCATIONS_MAX = 1000000,
	MODULES_MAX = 1 << 16,
};

/* -- the file ---------------------------------------------------------------------------------- */

struct look {
	const char *const *wanted;
	size_t count;
	uint32_t number, which; /* of the symbol: it is the number-th */
	Elf64_Sym symbol;
	bool is_found;
};

static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct look *look = context;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx) {
		const char *name = elf_strings_get(names, symbol->st_name);

		for (uint32_t i = 0; i < look->count && !look->is_found; i++)
			if (!strcmp(name, look->wanted[i])) {
				look->is_found = true;
				look->which = i;
				look->symbol = *symbol;
			}
	}
	look->number += !look->is_found;
	return !look->is_found;
}

static bool find_segment(const struct elf_file *file, Elf64_Phdr *tls)
{
	for (uint32_t i = 0; i < file->segment_count; i++)
		if (elf_file_segment(file, i, tls) && tls->p_type == PT_TLS)
			return true;
	return false;
}

static void match_relocation(const Elf64_Rela *relocation, struct tls_variable *found)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case ARCH_RELOCATION_TLS_OFFSET:
		found->model = TLS_MODEL_OFFSET;
		break;
	case ARCH_RELOCATION_TLS_DESCRIPTOR:
		found->model = TLS_MODEL_DESCRIPTOR;
		break;
	case ARCH_RELOCATION_TLS_MODULE:
		found->model = TLS_MODEL_MODULE;
		break;
	default:
		return;
	}
	found->slot = relocation->r_offset;
}

/* Those of the symbol alone: any of them leads to it. */
static void find_relocation(const struct elf_file *file, uint32_t symbol,
			    struct tls_variable *found)
{
	struct elf_walk *walk = malloc(sizeof(*walk));
	uint64_t left = RELOCATIONS_MAX;
	Elf64_Rela relocation;

	for (uint32_t i = 0; walk && i < file->section_count && !found->model; i++) {
		if (file->sections[i].type != SHT_RELA)
			continue;
		elf_walk_begin(walk, file, &file->sections[i]);
		while (!found->model && left-- && elf_walk_relocation(walk, &relocation))
			if (ELF64_R_SYM(relocation.r_info) == symbol)
				match_relocation(&relocation, found);
	}
	free(walk);
}

/* As ld.so and the program's linker lay out what stands in front of the thread pointer. */
static int64_t offset_in_program(const Elf64_Phdr *tls, uint64_t value)
{
	uint64_t align = tls->p_align && !(tls->p_align & (tls->p_align - 1)) ? tls->p_align : 1;
	uint64_t size = (tls->p_memsz + align - 1) & ~(align - 1);

	return (int64_t)(value - size);
}

static int open_elf(const struct image *image, struct elf_file *file)
{
	if (image->memory)
		return elf_file_open_memory(file, image->memory, image->memory_size);
	return image->fd >= 0 ? elf_file_open(file, image->fd) : -ENOEXEC;
}

void tls_variable_find(const struct image *image, const char *const *names, size_t count,
		       struct tls_variable *found)
{
	struct look look = {.wanted = names, .count = count};
	struct elf_file file;
	Elf64_Phdr tls;

	*found = (struct tls_variable){0};
	if (open_elf(image, &file))
		return;
	/* few files have such storage, and the symbols of those alone are read */
	if (file.is_64 && file.machine == ARCH_ELF_MACHINE && find_segment(&file, &tls))
		elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, match_symbol, &look);
	if (look.is_found && look.symbol.st_size == sizeof(uint64_t)) {
		found->which = look.which;
		find_relocation(&file, look.number, found);
		found->offset = (int64_t)look.symbol.st_value;
		if (!found->model) {
			found->model = TLS_MODEL_PROGRAM;
			found->offset = offset_in_program(&tls, look.symbol.st_value);
		}
	}
	elf_file_close(&file);
}

/* -- the process ------------------------------------------------------------------------------- */

/* An entry of glibc's table of modules has two words, one of musl's the block's address alone. */
static uint32_t entry_of(const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const char *path = process->mappings[i].image->path;

		if (path && strstr(path, "/ld-musl-"))
			return sizeof(uint64_t);
	}
	return 2 * sizeof(uint64_t);
}

int tls_variable_place(const struct tls_variable *variable,
		       int (*read)(void *context, void *to, size_t size, uint64_t address),
		       void *context, const struct process *process, uint64_t bias,
		       struct tls_place *place)
{
	bool is_pair = variable->model == TLS_MODEL_DESCRIPTOR;
	int64_t words[2] = {0};

	*place = (struct tls_place){.offset = variable->offset, .entry = entry_of(process)};
	if (variable->model == TLS_MODEL_PROGRAM)
		return 0;
	if (read(context, words, is_pair ? 16 : 8, bias + variable->slot) || !words[is_pair])
		return -EAGAIN;
	if (variable->model == TLS_MODEL_OFFSET || (is_pair && words[1] < 0)) {
		place->offset = words[is_pair];
		return 0;
	}
	if (is_pair) {
		if (read(context, words, 16, (uint64_t)words[1]))
			return -EAGAIN;
		place->offset = words[1];
	}
	if (words[0] <= 0 || words[0] >= MODULES_MAX)
		return -EAGAIN;
	place->module = (uint32_t)words[0];
	return 0;
}
