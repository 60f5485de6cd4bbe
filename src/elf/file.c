// SPDX-License-Identifier: Apache-2.0
#include "elf/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Executables have some 40 sections, kernels and unusual links some thousands. */
#define SECTION_LIMIT	   65536
#define SECTION_NAME_LIMIT (4u << 20)
#define PROGRAM_HEADER_MAX 256
#define STRING_USUAL	   (4u << 10)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_BYTE_ORDER ELFDATA2LSB
#else
#define OUR_BYTE_ORDER ELFDATA2MSB
#endif

bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, size_t count)
{
	if (offset > f->size || count > f->size - offset)
		return false;
	if (f->fd < 0) {
		memcpy(to, f->memory + offset, count);
		return true;
	}
	return file_read_at(f->fd, offset, to, count);
}

struct header {
	uint64_t sections;
	uint32_t section_count, section_size, names;
};

static size_t segment_size(const struct elf_file *f)
{
	return f->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static void set_header(struct elf_file *f, const Elf64_Ehdr *e, struct header *h)
{
	f->type = e->e_type;
	f->machine = e->e_machine;
	f->has_addresses = f->type == ET_EXEC || f->type == ET_DYN;
	if (e->e_phentsize == segment_size(f)) {
		f->segments_at = e->e_phoff;
		f->segment_count = e->e_phnum;
	}
	*h = (struct header){e->e_shoff, e->e_shnum, e->e_shentsize, e->e_shstrndx};
}

/* False: not an ELF file of this machine's byte order, or *is_cut: it ends within its header. */
static bool read_header(struct elf_file *f, struct header *h, bool *is_cut)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	*is_cut = false;
	if (!elf_file_read(f, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != OUR_BYTE_ORDER)
		return false;
	f->is_64 = ident[EI_CLASS] == ELFCLASS64;
	*is_cut = true;
	if (f->is_64) {
		if (!elf_file_read(f, 0, &wide, sizeof(wide)))
			return false;
	} else {
		if (ident[EI_CLASS] != ELFCLASS32 || !elf_file_read(f, 0, &narrow, sizeof(narrow)))
			return false;
		wide = (Elf64_Ehdr){
			.e_type = narrow.e_type,
			.e_machine = narrow.e_machine,
			.e_phoff = narrow.e_phoff,
			.e_phnum = narrow.e_phnum,
			.e_phentsize = narrow.e_phentsize,
			.e_shoff = narrow.e_shoff,
			.e_shnum = narrow.e_shnum,
			.e_shentsize = narrow.e_shentsize,
			.e_shstrndx = narrow.e_shstrndx,
		};
	}
	*is_cut = false;
	set_header(f, &wide, h);
	return true;
}

static size_t section_size(const struct elf_file *f)
{
	return f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static void read_section(const struct elf_file *f, const uint8_t *header, struct elf_section *s)
{
	Elf64_Shdr h;
	Elf32_Shdr h32;

	if (f->is_64) {
		memcpy(&h, header, sizeof(h));
		*s = (struct elf_section){h.sh_addr,	h.sh_offset, h.sh_size,
					  h.sh_entsize, h.sh_flags,  h.sh_type,
					  h.sh_link,	h.sh_info,   h.sh_name};
	} else {
		memcpy(&h32, header, sizeof(h32));
		*s = (struct elf_section){h32.sh_addr,	  h32.sh_offset, h32.sh_size,
					  h32.sh_entsize, h32.sh_flags,	 h32.sh_type,
					  h32.sh_link,	  h32.sh_info,	 h32.sh_name};
	}
	if (s->type != SHT_NOBITS && (s->offset > f->size || s->size > f->size - s->offset))
		s->size = 0;
	if (s->size > UINT64_MAX - s->address)
		s->size = 0;
}

/* The first of them, which holds how many there are if 16 bits cannot. */
static bool read_first_section(const struct elf_file *f, uint64_t offset, struct elf_section *first)
{
	uint8_t header[sizeof(Elf64_Shdr)];

	if (!elf_file_read(f, offset, header, section_size(f)))
		return false;
	read_section(f, header, first);
	return true;
}

/* As many of them as lie in the file, by one read: a program starts with a dozen files. */
static int read_section_headers(struct elf_file *f, uint64_t offset, uint32_t count)
{
	uint64_t there = (f->size - offset) / section_size(f);
	uint32_t i;
	uint8_t *headers;

	if (count > there)
		count = (uint32_t)there;
	f->sections = calloc(count, sizeof(*f->sections));
	headers = calloc(count, section_size(f));
	if (!f->sections || !headers) {
		free(headers);
		return -ENOMEM;
	}
	if (elf_file_read(f, offset, headers, count * section_size(f)))
		f->section_count = count;
	for (i = 0; i < f->section_count; i++)
		read_section(f, headers + i * section_size(f), &f->sections[i]);
	free(headers);
	return 0;
}

static int read_sections(struct elf_file *f, const struct header *h)
{
	uint32_t count = h->section_count, names = h->names;
	struct elf_section first;
	int err;

	if (!h->sections || h->section_size != section_size(f))
		return 0;
	if (!read_first_section(f, h->sections, &first))
		return 0;
	/* numbers that do not fit into 16 bits stand in the first section (gABI, "e_shnum") */
	if (!count)
		count = first.size > SECTION_LIMIT ? 0 : (uint32_t)first.size;
	if (names == SHN_XINDEX)
		names = first.link;
	if (!count || count > SECTION_LIMIT)
		return 0;

	err = read_section_headers(f, h->sections, count);
	if (err)
		return err;
	if (names >= f->section_count || f->sections[names].type == SHT_NOBITS ||
	    f->sections[names].size > SECTION_NAME_LIMIT)
		return 0;
	f->names = calloc(1, f->sections[names].size + 1);
	if (!f->names)
		return -ENOMEM;
	if (elf_file_read(f, f->sections[names].offset, f->names, f->sections[names].size))
		f->names_size = f->sections[names].size;
	return 0;
}

const char *elf_file_section_name(const struct elf_file *f, const struct elf_section *section)
{
	return section->name < f->names_size ? f->names + section->name : "";
}

static bool has_contents(const struct elf_section *s)
{
	return s->type != SHT_NOBITS && s->type != SHT_NULL && s->size;
}

const struct elf_section *elf_file_section(const struct elf_file *f, const char *name)
{
	for (uint32_t i = 0; i < f->section_count; i++)
		if (has_contents(&f->sections[i]) &&
		    !strcmp(elf_file_section_name(f, &f->sections[i]), name))
			return &f->sections[i];
	return NULL;
}

bool elf_file_read_build_id(struct elf_file *f, uint64_t offset, uint64_t size, uint64_t align,
			    int *left)
{
	const uint64_t mask = align == 8 ? 7 : 3;
	uint64_t at = 0;

	while (size >= sizeof(Elf64_Nhdr) && at <= size - sizeof(Elf64_Nhdr) && (*left)-- > 0) {
		Elf64_Nhdr note; /* the same as Elf32_Nhdr */
		char owner[4] = "";
		uint64_t contents;

		if (offset > UINT64_MAX - at || !elf_file_read(f, offset + at, &note, sizeof(note)))
			return false;
		contents = (at + sizeof(note) + note.n_namesz + mask) & ~mask;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= sizeof(f->build_id) && contents + note.n_descsz <= size &&
		    elf_file_read(f, offset + at + sizeof(note), owner, 4) &&
		    !memcmp(owner, "GNU", 4) &&
		    elf_file_read(f, offset + contents, f->build_id, note.n_descsz)) {
			f->build_id_size = note.n_descsz;
			return true;
		}
		at = (contents + note.n_descsz + mask) & ~mask;
	}
	return false;
}

bool elf_file_segment(const struct elf_file *f, uint32_t number, Elf64_Phdr *segment)
{
	const uint64_t inside = (uint64_t)number * segment_size(f);
	Elf32_Phdr narrow;

	if (number >= f->segment_count || f->segments_at > UINT64_MAX - inside)
		return false;
	if (f->is_64)
		return elf_file_read(f, f->segments_at + inside, segment, sizeof(*segment));
	if (!elf_file_read(f, f->segments_at + inside, &narrow, sizeof(narrow)))
		return false;
	*segment = (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz,
		.p_align = narrow.p_align,
	};
	return true;
}

/*
 * The notes of sections come first: in a separate debug file the program headers still tell where
 * things were in the original.
 */
static void find_build_id(struct elf_file *f)
{
	const struct elf_section *usual = elf_file_section(f, ".note.gnu.build-id");
	int left = ELF_NOTES_MAX;
	Elf64_Phdr segment;
	uint32_t i;

	if (usual && elf_file_read_build_id(f, usual->offset, usual->size, 4, &left))
		return;
	for (i = 0; i < f->section_count; i++)
		if (f->sections[i].type == SHT_NOTE &&
		    elf_file_read_build_id(f, f->sections[i].offset, f->sections[i].size, 4, &left))
			return;
	if (f->section_count)
		return;
	for (i = 0; i < PROGRAM_HEADER_MAX && elf_file_segment(f, i, &segment); i++)
		if (segment.p_type == PT_NOTE &&
		    elf_file_read_build_id(f, segment.p_offset, segment.p_filesz, 4, &left))
			return;
}

static int open_any(struct elf_file *f)
{
	struct header h;
	bool is_cut;
	int err;

	/* what dwz shares between files it writes as ET_REL */
	if (!read_header(f, &h, &is_cut) || (!f->has_addresses && f->type != ET_REL))
		return -ENOEXEC;
	err = read_sections(f, &h);
	if (err) {
		elf_file_close(f);
		return err;
	}
	find_build_id(f);
	return 0;
}

/* Learns how large the file is. */
static int measure(struct elf_file *f)
{
	struct stat st;

	if (file_stat(f->fd, &st))
		return -EIO;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	f->size = (uint64_t)st.st_size;
	return 0;
}

int elf_file_open(struct elf_file *f, int fd)
{
	int err;

	*f = (struct elf_file){.fd = fd};
	err = measure(f);
	return err ? err : open_any(f);
}

int elf_file_open_bare(struct elf_file *f, int fd, const void *memory, size_t size)
{
	struct header unused;
	bool is_cut;
	int err;

	*f = (struct elf_file){.fd = fd, .memory = memory, .size = size};
	err = fd < 0 ? 0 : measure(f);
	if (err)
		return err;
	return read_header(f, &unused, &is_cut) || is_cut ? 0 : -ENOEXEC;
}

int elf_file_open_memory(struct elf_file *f, const void *memory, size_t size)
{
	*f = (struct elf_file){.fd = -1, .memory = memory, .size = size};
	return open_any(f);
}

void elf_file_close(struct elf_file *f)
{
	free(f->sections);
	free(f->names);
	*f = (struct elf_file){.fd = -1};
}

const struct elf_section *elf_file_section_of_type(const struct elf_file *f, uint32_t type)
{
	for (uint32_t i = 0; i < f->section_count; i++)
		if (f->sections[i].type == type && has_contents(&f->sections[i]))
			return &f->sections[i];
	return NULL;
}

void *elf_file_section_contents(const struct elf_file *f, const struct elf_section *section,
				size_t limit)
{
	void *contents;

	if (!has_contents(section) || section->size > limit)
		return NULL;
	contents = malloc(section->size);
	if (contents && !elf_file_read(f, section->offset, contents, section->size)) {
		free(contents);
		contents = NULL;
	}
	return contents;
}

void elf_walk_begin(struct elf_walk *w, const struct elf_file *f, const struct elf_section *section)
{
	w->file = f;
	w->offset = section->offset;
	w->place = w->held = 0;
	w->left = 0;
	if (section->type == SHT_RELA)
		w->entry_size = sizeof(Elf64_Rela); /* those of 32-bit files are not read */
	else
		w->entry_size = f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if ((f->is_64 || section->type != SHT_RELA) && section->entry_size == w->entry_size &&
	    has_contents(section))
		w->left = section->size / w->entry_size;
}

static const uint8_t *next_entry(struct elf_walk *w)
{
	if (w->place == w->held) {
		size_t room = sizeof(w->chunk) / w->entry_size;

		w->place = 0;
		w->held = w->left < room ? (size_t)w->left : room;
		if (!w->held ||
		    !elf_file_read(w->file, w->offset, w->chunk, w->held * w->entry_size)) {
			w->held = w->left = 0;
			return NULL;
		}
		w->offset += w->held * w->entry_size;
		w->left -= w->held;
	}
	return w->chunk + w->entry_size * w->place++;
}

static void widen_symbol(const struct elf_file *f, const void *entry, Elf64_Sym *symbol)
{
	Elf32_Sym s;

	if (f->is_64) {
		memcpy(symbol, entry, sizeof(*symbol));
		return;
	}
	memcpy(&s, entry, sizeof(s));
	*symbol = (Elf64_Sym){s.st_name, s.st_info, s.st_other, s.st_shndx, s.st_value, s.st_size};
}

bool elf_walk_symbol(struct elf_walk *w, Elf64_Sym *symbol)
{
	const uint8_t *entry = next_entry(w);

	if (entry)
		widen_symbol(w->file, entry, symbol);
	return entry != NULL;
}

bool elf_walk_relocation(struct elf_walk *w, Elf64_Rela *relocation)
{
	const uint8_t *entry = next_entry(w);

	if (entry)
		memcpy(relocation, entry, sizeof(*relocation));
	return entry != NULL;
}

bool elf_file_symbol(const struct elf_file *f, const struct elf_section *section, uint64_t number,
		     Elf64_Sym *symbol)
{
	size_t entry_size = f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint8_t entry[sizeof(Elf64_Sym)];

	if (section->entry_size != entry_size || !has_contents(section) ||
	    number >= section->size / entry_size ||
	    !elf_file_read(f, section->offset + number * entry_size, entry, entry_size))
		return false;
	widen_symbol(f, entry, symbol);
	return true;
}

const struct elf_section *elf_file_code_of(const struct elf_file *f, const Elf64_Sym *symbol)
{
	const struct elf_section *section;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= f->section_count ||
	    !symbol->st_name)
		return NULL;
	section = &f->sections[symbol->st_shndx];
	if (!(section->flags & SHF_EXECINSTR) || !(section->flags & SHF_ALLOC) ||
	    symbol->st_value < section->address ||
	    symbol->st_value - section->address >= section->size)
		return NULL;
	return section;
}

uint8_t elf_symbol_binding(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

void elf_strings_begin(struct elf_strings *s, const struct elf_file *f,
		       const struct elf_section *strings)
{
	s->file = f;
	s->offset = strings->offset;
	s->size = strings->type == SHT_STRTAB ? strings->size : 0;
	s->at = s->held = s->reads = 0;
}

/* Moves the window to at, with count bytes at most. */
static bool move_window(struct elf_strings *s, uint64_t at, size_t count)
{
	s->at = at;
	s->held = count < s->size - at ? count : (size_t)(s->size - at);
	s->reads++;
	if (!elf_file_read(s->file, s->offset + at, s->window, s->held))
		s->held = 0;
	s->window[s->held] = 0;
	return s->held != 0;
}

const char *elf_strings_get(struct elf_strings *s, uint64_t at)
{
	if (at >= s->size)
		return "";
	if (at >= s->at && at - s->at < s->held) {
		char *string = s->window + (at - s->at);

		if (memchr(string, 0, s->held - (at - s->at)))
			return string;
	}
	if (!move_window(s, at, STRING_USUAL))
		return "";
	if (!memchr(s->window, 0, s->held) && !move_window(s, at, ELF_STRING_MAX))
		return "";
	return s->window;
}

int elf_each_symbol(const struct elf_file *f, uint32_t type, uint64_t most,
		    bool (*emit)(void *context, const Elf64_Sym *symbol, struct elf_strings *names),
		    void *context)
{
	const struct elf_section *table = elf_file_section_of_type(f, type);
	struct elf_strings *names;
	struct elf_walk *walk;
	Elf64_Sym symbol;
	int err = 0;

	if (!table || table->link >= f->section_count)
		return 0;
	names = malloc(sizeof(*names));
	walk = malloc(sizeof(*walk));
	if (names && walk) {
		elf_strings_begin(names, f, &f->sections[table->link]);
		elf_walk_begin(walk, f, table);
		while (most-- > 0 && elf_walk_symbol(walk, &symbol) &&
		       emit(context, &symbol, names))
			;
	} else {
		err = -ENOMEM;
	}
	free(names);
	free(walk);
	return err;
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset)
{
	Elf64_Phdr segment;

	for (uint32_t i = 0; elf_file_segment(file, i, &segment); i++) {
		if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return true;
	}
	return false;
}

bool elf_file_bias(const struct elf_file *file, uint64_t start, uint64_t offset, uint64_t *bias)
{
	Elf64_Phdr segment;

	for (uint32_t i = 0; i < 64 && elf_file_segment(file, i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    (segment.p_offset & ~4095ul) <= offset &&
		    offset < segment.p_offset + segment.p_filesz) {
			*bias = start - offset + segment.p_offset - segment.p_vaddr;
			return true;
		}
	return false;
}
