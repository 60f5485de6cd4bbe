// SPDX-License-Identifier: Apache-2.0
/* What kind of program an image is. */
#include <string.h>

#include "probe/functions.h"
#include "elf/file.h"

static bool open_file(const struct symbol_image *image, struct elf_file *file)
{
	if (image->memory)
		return !elf_file_open_memory(file, image->memory, image->memory_size);
	return image->fd >= 0 && !elf_file_open(file, image->fd);
}

bool probe_is_go(const struct symbol_image *image)
{
	struct elf_file f;
	bool is_go;

	if (!open_file(image, &f))
		return false;
	is_go = elf_file_section(&f, ".gopclntab") || elf_file_section(&f, ".go.buildinfo") ||
		elf_file_section(&f, ".note.go.buildid");
	elf_file_close(&f);
	return is_go;
}

/*
 * Whether a symbol's name, perhaps with a version ("__cxa_throw@CXXABI_1.3"), is one of a
 * null-terminated list.
 */
static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++) {
		size_t length = strlen(*names);

		if (!strncmp(name, *names, length) && (!name[length] || name[length] == '@'))
			return true;
	}
	return false;
}

struct search {
	bool imports; /* only those count that other images define */
	const char *const *names;
	bool found;
};

static bool compare(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct search *search = context;

	search->found = symbol->st_name && (!search->imports || symbol->st_shndx == SHN_UNDEF) &&
			is_one_of(elf_strings_get(names, symbol->st_name), search->names);
	return !search->found;
}

static bool table_has(const struct elf_file *f, uint32_t type, bool imports,
		      const char *const *names)
{
	struct search search = {imports, names, false};

	/* where it is not known, that is the careful answer */
	return elf_each_symbol(f, type, UINT64_MAX, compare, &search) || search.found;
}

bool probe_is_calm(const struct symbol_image *image)
{
	static const char *const names[] = {"sigaction",   "signal",	  "__sysv_signal",
					    "bsd_signal",  "sysv_signal", "ssignal",
					    "sigset",	   "sigvec",	  "pthread_create",
					    "thrd_create", "clone",	  "timer_create",
					    NULL};
	struct elf_file f;
	bool calm;

	if (!open_file(image, &f))
		return false;
	calm = elf_file_section_of_type(&f, SHT_DYNSYM) && !table_has(&f, SHT_DYNSYM, true, names);
	elf_file_close(&f);
	return calm;
}

bool probe_executes(const struct symbol_image *image)
{
	static const char *const names[] = {
		"execve",  "execv",  "execvp", "execvpe",     "execl",	      "execlp", "execle",
		"fexecve", "system", "popen",  "posix_spawn", "posix_spawnp", NULL};
	struct elf_file f;
	bool found;

	if (!open_file(image, &f))
		return false;
	found = table_has(&f, SHT_DYNSYM, true, names) || table_has(&f, SHT_SYMTAB, false, names);
	elf_file_close(&f);
	return found;
}
