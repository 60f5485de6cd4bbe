// SPDX-License-Identifier: Apache-2.0
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "arch/elf.h"
#include "base/buf.h"
#include "base/file.h"
#include "elf/pointer.h"

#define PROGRAM_HEADERS_MAX 4096u
#define SECTION_HEADERS_MAX 65536u
#define NAMES_MAX	    (1u << 20)
/* Of unwind information whose end only its contents tell. */
#define OPEN_END_MAX (48 * BUDGET_MIB)
/* Those that are looked for are short. */
#define NAME_MAX_ 32
/* A million symbols; they only help. */
#define SYMBOLS_MAX (24u << 20)
/* Entries of 16 bytes; programs have some 30 of them. */
#define DYNAMIC_MAX (64u << 10)
/* Large position-independent programs have a million; at 24 bytes each. */
#define RELOCATIONS_MAX	  (16u << 20)
#define RELOCATIONS_CHUNK 4096u
/* zlib's best is 1:1032; a section that claims more is not what it says. */
#define INFLATION_MAX 1040u

/* Reads exactly size bytes at offset. */
static int read_at(const struct elf_image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return -ENODATA;
	if (image->fd < 0) {
		memcpy(to, image->memory + offset, size);
		return 0;
	}
	/* a file that shrinks meanwhile, or cannot be read, has no such bytes */
	return file_read_at(image->fd, offset, to, size) ? 0 : -ENODATA;
}

/* Memory that lives as long as the image. *err: -E2BIG or -ENOMEM where there is none. */
static void *own(struct elf_image *image, size_t size, int *err)
{
	void *memory;

	*err = -E2BIG;
	if (image->owns == sizeof(image->owned) / sizeof(*image->owned))
		return NULL;
	memory = budget_malloc(&image->budget, size);
	if (!memory) {
		*err = image->budget.spent ? -E2BIG : -ENOMEM;
		return NULL;
	}
	image->owned[image->owns].at = memory;
	image->owned[image->owns++].size = size;
	*err = 0;
	return memory;
}

void elf_image_disown(struct elf_image *image, unsigned int owns)
{
	while (image->owns > owns) {
		image->owns--;
		budget_free(&image->budget, image->owned[image->owns].at,
			    image->owned[image->owns].size);
	}
}

/* A piece of the file that lives as long as the image; at most one per slot of owned. */
static int piece(struct elf_image *image, uint64_t offset, uint64_t size, const uint8_t **at)
{
	void *memory;
	int err;

	if (offset > image->size || size > image->size - offset)
		return -ENODATA;
	if (image->fd < 0) {
		*at = image->memory + offset;
		return 0;
	}
	if (!budget_read(&image->budget, size))
		return -E2BIG;
	memory = own(image, size, &err);
	if (!memory)
		return err;
	*at = memory;
	return read_at(image, offset, memory, size);
}

/* A section whose first bytes say how it is compressed (SHF_COMPRESSED of the gABI). */
static int unpack(struct elf_image *image, const uint8_t *at, size_t size, struct elf_part *part)
{
	Elf64_Chdr header;
	uint8_t *to;
	bool good = false;
	int err;

	if (size < sizeof(header))
		return -ENODATA;
	memcpy(&header, at, sizeof(header));
	at += sizeof(header);
	size -= sizeof(header);
	if (!header.ch_size || header.ch_size / INFLATION_MAX > size)
		return -ENODATA;
	if (!budget_read(&image->budget, header.ch_size))
		return -E2BIG;
	to = own(image, header.ch_size, &err);
	if (!to)
		return err;
	if (header.ch_type == ELFCOMPRESS_ZLIB) {
		uLongf length = header.ch_size;

		good = uncompress(to, &length, at, size) == Z_OK && length == header.ch_size;
	} else if (header.ch_type == 2) { /* ELFCOMPRESS_ZSTD, newer than some elf.h */
		good = ZSTD_decompress(to, header.ch_size, at, size) == header.ch_size;
	}
	if (!good)
		return -ENODATA;
	part->at = to;
	part->size = header.ch_size;
	return 0;
}

/* Sections that only Go's linker makes; position-independent programs have another name for one. */
static void note_go_section(struct elf_image *image, const Elf64_Shdr *section, const char *name)
{
	struct elf_range range = {
		.start = section->sh_addr,
		.end = section->sh_addr + section->sh_size,
		.offset = section->sh_offset,
		.in_file = section->sh_size,
	};

	if (!(section->sh_flags & SHF_ALLOC) || section->sh_type == SHT_NOBITS ||
	    range.end < range.start)
		return;
	if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab"))
		image->go_pclntab = range;
	else if (!strcmp(name, ".go.buildinfo"))
		image->go_buildinfo = range;
}

static int load_section(struct elf_image *image, const Elf64_Shdr *header, struct elf_part *part)
{
	const unsigned int owns = image->owns;
	const uint8_t *at;
	int err;

	if (part->at || header->sh_type == SHT_NOBITS || !header->sh_size)
		return 0;
	err = piece(image, header->sh_offset, header->sh_size, &at);
	if (!err && header->sh_flags & SHF_COMPRESSED) {
		err = unpack(image, at, header->sh_size, part);
	} else if (!err) {
		part->at = at;
		part->size = header->sh_size;
		part->address = header->sh_flags & SHF_ALLOC ? header->sh_addr : 0;
	}
	/* a file can have many sections of that name, none of which is any good */
	if (err)
		elf_image_disown(image, owns);
	return err;
}

/* What a section's header says besides its name. */
static void note_section(struct elf_image *image, const Elf64_Shdr *section)
{
	const uint64_t executable = SHF_ALLOC | SHF_EXECINSTR;

	if ((section->sh_flags & executable) == executable && section->sh_type != SHT_NOBITS &&
	    image->texts < ELF_IMAGE_CODE_MAX && section->sh_size <= UINT64_MAX - section->sh_addr)
		image->text[image->texts++] = (struct elf_range){
			.start = section->sh_addr,
			.end = section->sh_addr + section->sh_size,
			.offset = section->sh_offset,
			.in_file = section->sh_size,
		};
	if (section->sh_type == SHT_SYMTAB ||
	    (section->sh_type == SHT_DYNSYM && !image->symbols.in_file))
		image->symbols = (struct elf_range){
			.offset = section->sh_offset,
			.in_file = section->sh_size,
		};
}

/* The sections by name. A file without section headers, or with damaged ones, just has none. */
static int find_sections(struct elf_image *image, const Elf64_Ehdr *header, bool *has_eh_frame)
{
	const uint8_t *headers, *names = NULL;
	uint64_t count = header->e_shnum, names_size = 0;
	uint32_t names_index = header->e_shstrndx;
	Elf64_Shdr section;
	uint64_t i;
	int err;

	*has_eh_frame = false;
	if (!header->e_shoff || header->e_shentsize != sizeof(section) ||
	    read_at(image, header->e_shoff, &section, sizeof(section)))
		return 0;
	if (!count)
		count = section.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = section.sh_link;
	if (count > SECTION_HEADERS_MAX || names_index >= count)
		return 0;
	err = piece(image, header->e_shoff, count * sizeof(section), &headers);
	if (err)
		return err == -ENOMEM ? err : 0;
	memcpy(&section, headers + names_index * sizeof(section), sizeof(section));
	names_size = section.sh_size;
	if (section.sh_type == SHT_NOBITS || names_size > NAMES_MAX)
		return 0;
	err = piece(image, section.sh_offset, names_size, &names);
	if (err)
		return err == -ENOMEM ? err : 0;
	image->has_sections = true;
	for (i = 1; i < count; i++) {
		struct bytes name;
		const char *text;
		struct elf_part *part;

		memcpy(&section, headers + i * sizeof(section), sizeof(section));
		note_section(image, &section);
		if (section.sh_name >= names_size)
			continue;
		name = (struct bytes){names + section.sh_name, names + names_size, false};
		if (bytes_left(&name) > NAME_MAX_)
			name.end = name.at + NAME_MAX_;
		text = bytes_text(&name);
		note_go_section(image, &section, text);
		if (!strcmp(text, ".eh_frame"))
			part = &image->eh_frame;
		else if (!strcmp(text, ".debug_frame"))
			part = &image->debug_frame;
		else
			continue;
		if (image->bare)
			continue;
		*has_eh_frame |= part == &image->eh_frame;
		err = load_section(image, &section, part);
		if (err == -ENOMEM)
			return err;
		image->unreadable += err != 0;
	}
	return 0;
}

static bool loads(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_memsz &&
	       segment->p_memsz <= UINT64_MAX - segment->p_vaddr &&
	       segment->p_filesz <= segment->p_memsz;
}

/* The part of a segment from address on, as far as the file holds it. */
static bool rest_of(const struct elf_image *image, const Elf64_Phdr *segment, uint64_t address,
		    uint64_t *offset, uint64_t *size)
{
	uint64_t inside = address - segment->p_vaddr;

	if (!loads(segment) || address < segment->p_vaddr || inside >= segment->p_filesz ||
	    segment->p_offset > image->size || inside >= image->size - segment->p_offset)
		return false;
	*offset = segment->p_offset + inside;
	*size = segment->p_filesz - inside;
	if (*size > image->size - *offset)
		*size = image->size - *offset;
	return true;
}

/* Without section headers: .eh_frame_hdr has a segment of its own, and points to .eh_frame. */
static int find_eh_frame(struct elf_image *image, const Elf64_Phdr *segments, unsigned int count,
			 const Elf64_Phdr *eh_frame_hdr)
{
	uint8_t start[16] = {0};
	size_t wanted =
		eh_frame_hdr->p_filesz < sizeof(start) ? eh_frame_hdr->p_filesz : sizeof(start);
	struct bytes in = {start + 4, start + sizeof(start), false};
	uint64_t address, offset, size;
	unsigned int i;
	int err;

	/* version 1, the encodings of three fields, and the first of those */
	err = read_at(image, eh_frame_hdr->p_offset, start, wanted);
	if (err || start[0] != 1 ||
	    !elf_read_pointer(&in, start[1], eh_frame_hdr->p_vaddr + 4, &address))
		return -ENODATA;
	for (i = 0; i < count; i++) {
		const uint8_t *at;

		if (!rest_of(image, &segments[i], address, &offset, &size))
			continue;
		if (size > OPEN_END_MAX) /* the segment is only a bound */
			size = OPEN_END_MAX;
		err = piece(image, offset, size, &at);
		if (!err)
			image->eh_frame = (struct elf_part){at, size, address, .to_the_end = true};
		return err;
	}
	return -ENODATA;
}

static int find_segments(struct elf_image *image, const Elf64_Ehdr *header, Elf64_Phdr **segments,
			 unsigned int *count)
{
	unsigned int i;
	int err;

	*segments = NULL;
	*count = header->e_phnum;
	if (!*count || *count > PROGRAM_HEADERS_MAX || header->e_phentsize != sizeof(**segments))
		return -ENODATA;
	*segments = malloc(*count * sizeof(**segments));
	if (!*segments)
		return -ENOMEM;
	err = read_at(image, header->e_phoff, *segments, *count * sizeof(**segments));
	if (err)
		return err;
	for (i = 0; i < *count; i++) {
		const Elf64_Phdr *s = &(*segments)[i];
		struct elf_range range = {
			.start = s->p_vaddr,
			.end = s->p_vaddr + s->p_memsz,
			.offset = s->p_offset,
			.in_file = s->p_filesz,
		};

		if (s->p_type == PT_DYNAMIC)
			image->dynamic = range;
		if (!loads(s))
			continue;
		if (image->loads < ELF_IMAGE_CODE_MAX)
			image->load[image->loads++] = range;
		if (s->p_flags & PF_X && image->codes < ELF_IMAGE_CODE_MAX)
			image->code[image->codes++] = range;
	}
	return 0;
}

static void begin_budget(struct elf_image *image)
{
	budget_begin(&image->budget, ELF_IMAGE_MEMORY, ELF_IMAGE_BYTES, ELF_IMAGE_STEPS,
		     ELF_IMAGE_CPU_NS);
}

static int open_image(struct elf_image *image, struct fail *why)
{
	Elf64_Ehdr header;
	Elf64_Phdr *segments = NULL;
	unsigned int count, i;
	bool has_eh_frame;
	int err;

	err = read_at(image, 0, &header, sizeof(header));
	if (err == -ENODATA || (!err && memcmp(header.e_ident, ELFMAG, SELFMAG)))
		return fail(why, -ENOEXEC, NULL, "not an ELF file");
	if (err)
		return fail_errno(why, err, NULL, "cannot read the ELF header");
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != ARCH_ELF_MACHINE ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return fail(why, -ENOEXEC, NULL, "not an " ARCH_ELF_NAME " program or library");
	begin_budget(image);
	image->entry = header.e_entry;
	err = find_segments(image, &header, &segments, &count);
	if (err == -ENODATA) {
		err = fail(why, -ENOEXEC, NULL, "the program headers are damaged");
		goto out;
	}
	if (!err)
		err = find_sections(image, &header, &has_eh_frame);
	for (i = 0; !err && !image->bare && !has_eh_frame && i < count; i++) {
		if (segments[i].p_type != PT_GNU_EH_FRAME)
			continue;
		err = find_eh_frame(image, segments, count, &segments[i]);
		if (err && err != -ENOMEM) {
			image->unreadable++;
			err = 0;
		}
		break;
	}
	if (err)
		err = fail_errno(why, err, NULL, "cannot read the unwind information");
out:
	free(segments);
	return err;
}

static int open_file(struct elf_image *image, struct fail *why)
{
	struct stat file;

	int err = file_stat(image->fd, &file);

	if (err)
		return fail_errno(why, err, NULL, "cannot look at the file");
	if (!S_ISREG(file.st_mode))
		return fail(why, -ENOEXEC, NULL, "not a regular file");
	image->size = (uint64_t)file.st_size;
	return open_image(image, why);
}

int elf_image_open_file(struct elf_image *image, int fd, struct fail *why)
{
	*image = (struct elf_image){.fd = fd};
	return open_file(image, why);
}

int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size,
			  struct fail *why)
{
	*image = (struct elf_image){.fd = -1, .memory = memory, .size = size};
	return open_image(image, why);
}

int elf_image_open_bare(struct elf_image *image, int fd, const void *memory, size_t size,
			struct fail *why)
{
	*image = (struct elf_image){.fd = fd, .memory = memory, .size = size, .bare = true};
	return fd < 0 ? open_image(image, why) : open_file(image, why);
}

int elf_image_load_symbols(struct elf_image *image, struct elf_part *symbols)
{
	uint64_t size = image->symbols.in_file;
	int err;

	*symbols = (struct elf_part){0};
	if (!size || size > SYMBOLS_MAX)
		return -ENODATA;
	err = piece(image, image->symbols.offset, size, &symbols->at);
	if (!err)
		symbols->size = size;
	return err == -ENOMEM ? err : err ? -ENODATA : 0;
}

void elf_image_close(struct elf_image *image)
{
	elf_image_disown(image, 0);
}

bool elf_image_code_offset(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	for (unsigned int i = 0; i < image->codes; i++) {
		const struct elf_range *code = &image->code[i];

		if (address - code->start >= code->end - code->start)
			continue;
		*offset = code->offset + (address - code->start);
		return true;
	}
	return false;
}

bool elf_image_is_code(const struct elf_image *image, uint64_t address, uint64_t size)
{
	unsigned int i;

	for (i = 0; i < image->codes; i++) {
		const struct elf_range *c = &image->code[i];

		if (address >= c->start && address < c->end && size <= c->end - address)
			return true;
	}
	return false;
}

/*
 * Where address lies in the file, and how many bytes of its segment follow there; false: nowhere.
 */
static bool place_of(const struct elf_image *image, uint64_t address, uint64_t *offset,
		     uint64_t *left)
{
	unsigned int i;

	for (i = 0; i < image->loads; i++) {
		const struct elf_range *l = &image->load[i];
		uint64_t inside = address - l->start;

		if (address < l->start || inside >= l->in_file || l->offset > image->size ||
		    inside >= image->size - l->offset)
			continue;
		*offset = l->offset + inside;
		*left = l->in_file - inside;
		if (*left > image->size - *offset)
			*left = image->size - *offset;
		return true;
	}
	return false;
}

uint64_t elf_image_left(const struct elf_image *image, uint64_t address)
{
	uint64_t offset, left;

	return place_of(image, address, &offset, &left) ? left : 0;
}

bool elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t size)
{
	uint64_t offset, left;

	return place_of(image, address, &offset, &left) && left >= size &&
	       !read_at(image, offset, to, size);
}

/* The relocations with addends (DT_RELA, DT_RELASZ), as a place in the file. */
static bool find_relocations(const struct elf_image *image, uint64_t *offset, uint64_t *count)
{
	uint64_t address = 0, size = 0, left, at;
	Elf64_Dyn dynamic;

	for (at = 0; at + sizeof(dynamic) <= image->dynamic.in_file && at < DYNAMIC_MAX;
	     at += sizeof(dynamic)) {
		if (read_at(image, image->dynamic.offset + at, &dynamic, sizeof(dynamic)) ||
		    dynamic.d_tag == DT_NULL)
			break;
		if (dynamic.d_tag == DT_RELA)
			address = dynamic.d_un.d_ptr;
		else if (dynamic.d_tag == DT_RELASZ)
			size = dynamic.d_un.d_val;
	}
	if (!size || !place_of(image, address, offset, &left))
		return false;
	*count = (size < left ? size : left) / sizeof(Elf64_Rela);
	if (*count > RELOCATIONS_MAX)
		*count = RELOCATIONS_MAX;
	return true;
}

/* Calls emit() for each relative relocation until it returns false. */
static int each_relative(const struct elf_image *image,
			 bool (*emit)(void *context, const Elf64_Rela *relocation), void *context)
{
	uint64_t offset, count, n, i;
	Elf64_Rela *chunk;
	bool more = true;

	if (!find_relocations(image, &offset, &count))
		return 0;
	chunk = malloc(RELOCATIONS_CHUNK * sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	for (; more && count; count -= n, offset += n * sizeof(*chunk)) {
		n = count < RELOCATIONS_CHUNK ? count : RELOCATIONS_CHUNK;
		if (read_at(image, offset, chunk, n * sizeof(*chunk)))
			break;
		for (i = 0; more && i < n; i++)
			if (ELF64_R_TYPE(chunk[i].r_info) == ARCH_RELOCATION_RELATIVE)
				more = emit(context, &chunk[i]);
	}
	free(chunk);
	return 0;
}

struct patch {
	uint8_t *at;
	uint64_t address, size;
};

static bool apply(void *context, const Elf64_Rela *relocation)
{
	const struct patch *patch = context;
	uint64_t inside = relocation->r_offset - patch->address;

	if (relocation->r_offset >= patch->address && inside < patch->size &&
	    patch->size - inside >= 8)
		memcpy(patch->at + inside, &relocation->r_addend, 8);
	return true;
}

int elf_image_load(struct elf_image *image, uint64_t address, uint64_t size, struct elf_part *part)
{
	struct patch patch = {.address = address, .size = size};
	uint64_t offset, left;
	int err;

	*part = (struct elf_part){0};
	if (!size || !place_of(image, address, &offset, &left) || left < size)
		return -ENODATA;
	if (!budget_read(&image->budget, size))
		return -E2BIG;
	patch.at = own(image, size, &err);
	if (!patch.at)
		return err;
	if (read_at(image, offset, patch.at, size))
		return -ENODATA;
	*part = (struct elf_part){.at = patch.at, .size = size, .address = address};
	return each_relative(image, apply, &patch);
}

struct wanted {
	uint64_t value, place;
};

static bool compare_value(void *context, const Elf64_Rela *relocation)
{
	struct wanted *wanted = context;

	if ((uint64_t)relocation->r_addend == wanted->value)
		wanted->place = relocation->r_offset;
	return !wanted->place;
}

uint64_t elf_image_relocated_to(const struct elf_image *image, uint64_t value)
{
	struct wanted wanted = {.value = value};

	/* without memory, there is none */
	return each_relative(image, compare_value, &wanted) ? 0 : wanted.place;
}

size_t elf_image_read_code(const struct elf_image *image, uint64_t address, uint8_t *to,
			   size_t size)
{
	unsigned int i;

	for (i = 0; i < image->codes; i++) {
		const struct elf_range *c = &image->code[i];
		uint64_t inside = address - c->start;

		if (address < c->start || inside >= c->in_file)
			continue;
		if (size > c->in_file - inside)
			size = c->in_file - inside;
		if (inside > UINT64_MAX - c->offset || read_at(image, c->offset + inside, to, size))
			return 0;
		return size;
	}
	return 0;
}
