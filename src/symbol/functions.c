// SPDX-License-Identifier: Apache-2.0
#include "symbol/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/radix.h"
#include "base/vec.h"
#include "symbol/debug_data.h"
#include "symbol/debug_file.h"
#include "elf/file.h"
#include "symbol/elf_plt.h"
#include "symbol/go_symbols.h"

/*
 * Which library an imported symbol comes from. ELF does not say so, but a symbol's version does: it
 * is the version of one library (System V gABI extensions, "Symbol Versioning"). A symbol without
 * one comes from a library that has no versions; if the file needs just one such, from that.
 */
struct elf_imports {
	uint16_t *versions; /* of each symbol of .dynsym */
	size_t version_count;
	char *strings; /* .dynstr, ends with a zero byte of our own */
	size_t strings_size;
	uint32_t *libraries; /* of each version: where in strings; 0: none */
	size_t library_count;
	uint32_t unversioned; /* the library of all others; 0: not known */
};

/* Of all names together: those of the largest programs have 100 MB. */
#define TEXT_MAX ((size_t)192 << 20)

struct listing {
	const struct symbol_image *image;
	const struct elf_file *main;
	struct symbol_functions *to;
	size_t seen;
};

static int add(struct listing *l, struct symbol_function *f, const char *name, size_t length,
	       const char *library)
{
	struct symbol_functions *to = l->to;

	if (to->count == SYMBOL_FUNCTIONS_MAX || to->text.count > TEXT_MAX)
		return -E2BIG;
	f->name = (uint32_t)to->text.count;
	buf_put(&to->text, name, length);
	buf_put_u8(&to->text, 0);
	if (library && library[0]) {
		f->library = (uint32_t)to->text.count;
		buf_put(&to->text, library, strlen(library) + 1);
	}
	return !to->text.failed && vec_push(to, *f) ? 0 : -ENOMEM;
}

static bool read_symbol(const struct elf_file *f, const Elf64_Sym *s, struct symbol_function *to)
{
	*to = (struct symbol_function){.address = s->st_value, .size = s->st_size};
	switch (ELF64_ST_TYPE(s->st_info)) {
	case STT_FUNC:
		to->kind = SYMBOL_FUNCTION_CODE;
		break;
	case STT_GNU_IFUNC:
		to->kind = SYMBOL_FUNCTION_RESOLVER;
		break;
	case STT_NOTYPE:
		to->kind = SYMBOL_FUNCTION_LABEL;
		break;
	default:
		return false;
	}
	to->binding = elf_symbol_binding(s);
	return elf_file_code_of(f, s);
}

static int list_table(struct listing *l, const struct elf_file *f, uint32_t type)
{
	const struct elf_section *table = elf_file_section_of_type(f, type);
	struct elf_strings *strings;
	struct elf_walk *walk;
	Elf64_Sym s;
	int err = 0;

	if (!table || table->link >= f->section_count || !f->has_addresses)
		return 0;
	strings = malloc(sizeof(*strings));
	walk = malloc(sizeof(*walk));
	if (!strings || !walk)
		err = -ENOMEM;
	if (!err) {
		elf_strings_begin(strings, f, &f->sections[table->link]);
		elf_walk_begin(walk, f, table);
	}
	while (!err && elf_walk_symbol(walk, &s)) {
		struct symbol_function function;
		const char *name, *version;

		if (l->seen++ > 6 * (size_t)SYMBOL_FUNCTIONS_MAX)
			err = -E2BIG;
		if (err || !read_symbol(f, &s, &function))
			continue;
		name = elf_strings_get(strings, s.st_name);
		version = strstr(name, "@@");
		if (name[0])
			err = add(l, &function, name,
				  version && version != name ? (size_t)(version - name)
							     : strlen(name),
				  NULL);
	}
	free(strings);
	free(walk);
	return err;
}

/* Imports lie behind all code, each at an address of its own that no file can map. */
#define IMPORT_ADDRESS(symbol) (UINT64_MAX - (symbol))

#define TABLE_MAX \
	((size_t)16 << 20) /* bytes; the exports of the largest libraries have 5 MB of names */

#define VERSIONS_MAX 0x8000 /* bit 15 of a version's number has a meaning of its own */
#define NEEDED_MAX   4096

static int read_strings(struct elf_imports *m, const struct elf_file *f, uint32_t section)
{
	const struct elf_section *s;

	if (section >= f->section_count)
		return 0;
	s = &f->sections[section];
	if (s->type != SHT_STRTAB || !s->size || s->size > TABLE_MAX)
		return 0;
	m->strings = calloc(s->size + 1, 1);
	if (!m->strings)
		return -ENOMEM;
	if (elf_file_read(f, s->offset, m->strings, s->size))
		m->strings_size = s->size;
	return 0;
}

/* Notes the libraries of all versions that the file needs. */
static void read_needs(struct elf_imports *m, const uint8_t *table, size_t size)
{
	uint64_t at = 0;
	uint32_t left = VERSIONS_MAX;
	Elf64_Verneed need; /* the same in 32-bit files */
	Elf64_Vernaux aux;

	while (left && size >= sizeof(need) && at <= size - sizeof(need)) {
		uint64_t next;

		memcpy(&need, table + at, sizeof(need));
		next = at + need.vn_aux;
		for (uint16_t i = 0; i < need.vn_cnt && left; i++, left--) {
			uint16_t version;

			if (size < sizeof(aux) || next > size - sizeof(aux))
				break;
			memcpy(&aux, table + next, sizeof(aux));
			version = aux.vna_other & (VERSIONS_MAX - 1);
			if (version < m->library_count && need.vn_file < m->strings_size)
				m->libraries[version] = need.vn_file;
			next += aux.vna_next;
			if (!aux.vna_next)
				break;
		}
		if (!need.vn_next)
			break;
		at += need.vn_next;
		left -= left != 0;
	}
}

static bool has_versions(const struct elf_imports *m, const char *library)
{
	for (size_t i = 0; i < m->library_count; i++)
		if (m->libraries[i] && !strcmp(m->strings + m->libraries[i], library))
			return true;
	return false;
}

/* The only library that the file needs and that has no versions. */
static void find_unversioned(struct elf_imports *m, const uint8_t *dynamic, size_t size)
{
	uint32_t candidates = 0;
	Elf64_Dyn d;

	for (size_t i = 0; i < size / sizeof(d) && i < NEEDED_MAX; i++) {
		memcpy(&d, dynamic + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag != DT_NEEDED || d.d_un.d_val >= m->strings_size ||
		    has_versions(m, m->strings + d.d_un.d_val))
			continue;
		candidates++;
		m->unversioned = (uint32_t)d.d_un.d_val;
	}
	if (candidates != 1)
		m->unversioned = 0;
}

static void elf_imports_close(struct elf_imports *m)
{
	free(m->versions);
	free(m->strings);
	free(m->libraries);
	*m = (struct elf_imports){0};
}

/* Returns 0 or -ENOMEM; what is broken or not there is taken for nothing. */
static int elf_imports_open(struct elf_imports *m, const struct elf_file *f)
{
	const struct elf_section *table = elf_file_section_of_type(f, SHT_DYNSYM);
	const struct elf_section *versions = elf_file_section_of_type(f, SHT_GNU_versym);
	const struct elf_section *needs = elf_file_section_of_type(f, SHT_GNU_verneed);
	const struct elf_section *dynamic = elf_file_section_of_type(f, SHT_DYNAMIC);
	uint8_t *contents;
	int err;

	*m = (struct elf_imports){0};
	if (!table || !f->is_64)
		return 0;
	err = read_strings(m, f, table->link);
	if (err || !m->strings_size)
		return err;
	if (versions && needs) {
		m->versions = elf_file_section_contents(f, versions, TABLE_MAX);
		m->version_count = m->versions ? versions->size / sizeof(*m->versions) : 0;
		m->libraries = calloc(VERSIONS_MAX, sizeof(*m->libraries));
		contents = elf_file_section_contents(f, needs, TABLE_MAX);
		if (!m->libraries) {
			free(contents);
			elf_imports_close(m);
			return -ENOMEM;
		}
		m->library_count = VERSIONS_MAX;
		if (contents)
			read_needs(m, contents, needs->size);
		free(contents);
	}
	contents = dynamic ? elf_file_section_contents(f, dynamic, TABLE_MAX) : NULL;
	if (contents)
		find_unversioned(m, contents, dynamic->size);
	free(contents);
	return 0;
}

/* The file name of the library of the symbol of that number in .dynsym; "": not known. */
static const char *elf_imports_library(const struct elf_imports *m, uint64_t symbol)
{
	uint32_t library = m->unversioned;
	uint16_t version;

	if (symbol < m->version_count) {
		version = m->versions[symbol] & (VERSIONS_MAX - 1);
		if (version > VER_NDX_GLOBAL && version < m->library_count)
			library = m->libraries[version];
	}
	return library ? m->strings + library : "";
}

/*
 * Functions that are imported but have no stub. has_stub: by number of the symbol, count of them.
 */
static int list_imports(struct listing *l, const struct elf_section *table,
			const struct elf_imports *imports, struct elf_strings *strings,
			const bool *has_stub, size_t count)
{
	Elf64_Sym s;
	int err = 0;

	for (uint64_t i = 1; i < count && !err; i++) {
		struct symbol_function f = {
			.address = IMPORT_ADDRESS(i),
			.kind = SYMBOL_FUNCTION_IMPORT,
			.binding = 2,
		};
		const char *name;

		if (has_stub[i] || !elf_file_symbol(l->main, table, i, &s) ||
		    s.st_shndx != SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_FUNC)
			continue;
		name = elf_strings_get(strings, s.st_name);
		if (name[0])
			err = add(l, &f, name, strlen(name), elf_imports_library(imports, i));
	}
	return err;
}

static int list_stubs(struct listing *l)
{
	const struct elf_section *table = elf_file_section_of_type(l->main, SHT_DYNSYM);
	struct elf_strings *strings;
	struct elf_imports imports = {0};
	struct elf_plt_stub *stubs;
	size_t count, symbols;
	bool *has_stub;
	int err;

	if (!table || table->link >= l->main->section_count)
		return 0;
	err = elf_plt_list(l->main, &stubs, &count);
	if (err)
		return err;
	symbols = table->size / sizeof(Elf64_Sym);
	if (symbols > SYMBOL_FUNCTIONS_MAX)
		symbols = SYMBOL_FUNCTIONS_MAX;
	strings = malloc(sizeof(*strings));
	has_stub = calloc(symbols + 1, sizeof(*has_stub));
	err = strings && has_stub ? elf_imports_open(&imports, l->main) : -ENOMEM;
	if (!err)
		elf_strings_begin(strings, l->main, &l->main->sections[table->link]);
	for (size_t i = 0; i < count && !err; i++) {
		struct symbol_function f = {
			.address = stubs[i].address,
			.kind = SYMBOL_FUNCTION_STUB,
			.binding = 2,
		};
		const char *name;
		Elf64_Sym s;

		if (!elf_file_symbol(l->main, table, stubs[i].symbol, &s))
			continue;
		if (stubs[i].symbol < symbols)
			has_stub[stubs[i].symbol] = true;
		if (s.st_shndx != SHN_UNDEF)
			f.kind = SYMBOL_FUNCTION_OWN_STUB;
		name = elf_strings_get(strings, s.st_name);
		if (name[0])
			err = add(l, &f, name, strlen(name),
				  elf_imports_library(&imports, stubs[i].symbol));
	}
	if (!err)
		err = list_imports(l, table, &imports, strings, has_stub, symbols);
	elf_imports_close(&imports);
	free(has_stub);
	free(strings);
	free(stubs);
	return err;
}

/* 1: there was a debug file, 0: there is none. */
static int list_debug_file(struct listing *l, const struct symbols *symbols)
{
	const struct debug_search search = {
		.far = symbols_far(symbols),
		.main = l->main,
		.path = l->image->path,
		.root = l->image->root ? l->image->root : "",
		.build_id = l->main->build_id,
		.build_id_size = l->main->build_id_size,
		.directories = symbols_debug_directories(symbols),
	};
	struct debug_file found;
	int err = debug_file_find(&search, &found, NULL);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = list_table(l, &found.file, SHT_SYMTAB);
	debug_file_close(&found);
	return err < 0 ? err : 1;
}

static int list_debug_data(struct listing *l)
{
	struct elf_file inner;
	uint8_t *data;
	size_t size;
	int err = debug_data_unpack(l->main, &data, &size);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (!elf_file_open_memory(&inner, data, size)) {
		err = list_table(l, &inner, SHT_SYMTAB);
		elf_file_close(&inner);
	}
	free(data);
	return err;
}

static int add_go(void *context, const struct symbol_function *function, const char *name)
{
	struct symbol_function f = *function;

	return add(context, &f, name, strlen(name), NULL);
}

/* A Go program that was stripped still has a table of Go's own. 1: it has, 0: there is none. */
static int list_go(struct listing *l)
{
	struct go_symbols go;
	int err = go_symbols_open(&go, l->main);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = go_symbols_each(&go, add_go, l);
	go_symbols_close(&go);
	return err < 0 ? err : 1;
}

static int list_all(struct listing *l, const struct symbols *symbols)
{
	bool stripped = !elf_file_section_of_type(l->main, SHT_SYMTAB);
	int err;

	buf_put_u8(&l->to->text, 0);
	err = list_table(l, l->main, SHT_SYMTAB);
	if (!err && stripped && symbols)
		err = list_debug_file(l, symbols);
	if (!err && stripped)
		err = list_go(l);
	if (!err && stripped)
		err = list_debug_data(l);
	/* tools that strip symbols leave those that the linker needs */
	if (err >= 0)
		err = list_table(l, l->main, SHT_DYNSYM);
	if (!err)
		err = list_stubs(l);
	/* those of one address stay in the order in which they were listed */
	if (!err && !radix_sort(l->to->at, l->to->count, sizeof(*l->to->at),
				offsetof(struct symbol_function, address)))
		err = -ENOMEM;
	return err;
}

int symbol_functions_of(struct symbols *symbols, const struct symbol_image *image,
			struct symbol_functions *functions, struct fail *why)
{
	const char *name = image->path ? image->path : "image without a name";
	struct elf_file main;
	struct listing l = {.image = image, .main = &main, .to = functions};
	int err;

	*functions = (struct symbol_functions){0};
	err = image->memory ? elf_file_open_memory(&main, image->memory, image->memory_size)
			    : elf_file_open(&main, image->fd);
	if (!err && !main.has_addresses) {
		elf_file_close(&main);
		err = -ENOEXEC;
	}
	if (err == -ENOEXEC)
		return fail(why, err, NULL, "%s is not an ELF program or library for this machine",
			    name);
	if (err)
		return fail_errno(why, err, NULL, "%s", name);
	err = list_all(&l, symbols);
	elf_file_close(&main);
	if (!err)
		return 0;
	symbol_functions_free(functions);
	if (err == -E2BIG)
		return fail(why, err, "the file is broken or made to mislead",
			    "%s: its table of symbols is beyond all measure", name);
	return fail_errno(why, err, NULL, "listing the functions of %s", name);
}

void symbol_functions_free(struct symbol_functions *functions)
{
	vec_free(functions);
	buf_free(&functions->text);
}
