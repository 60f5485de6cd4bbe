// SPDX-License-Identifier: Apache-2.0
#include "symbol/elf_imports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MAX \
	((size_t)16 << 20)  /* bytes; the exports of the largest libraries have 5 MB of names */
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
static void take_needs(struct elf_imports *m, const uint8_t *table, size_t size)
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

int elf_imports_open(struct elf_imports *m, const struct elf_file *f)
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
			take_needs(m, contents, needs->size);
		free(contents);
	}
	contents = dynamic ? elf_file_section_contents(f, dynamic, TABLE_MAX) : NULL;
	if (contents)
		find_unversioned(m, contents, dynamic->size);
	free(contents);
	return 0;
}

void elf_imports_close(struct elf_imports *m)
{
	free(m->versions);
	free(m->strings);
	free(m->libraries);
	*m = (struct elf_imports){0};
}

const char *elf_imports_library(const struct elf_imports *m, uint64_t symbol)
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
