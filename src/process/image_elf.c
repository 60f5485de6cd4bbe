// SPDX-License-Identifier: Apache-2.0
#include "process/image_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

/* Far beyond what linkers make; the kernel itself takes no more than 64 KiB of program headers. */
#define SEGMENTS_MAX   1024
#define NOTE_BYTES_MAX (64 * 1024)

/* Copies size bytes at offset; false: the image does not hold them. */
static bool read_at(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (image->memory) {
		if (offset > image->memory_size || size > image->memory_size - offset)
			return false;
		memcpy(to, (const uint8_t *)image->memory + offset, size);
		return true;
	}
	return file_read_at(image->fd, offset, to, size);
}

/* Where the program headers lie. False: not an ELF file of this machine's byte order. */
static bool read_header(const struct image *image, bool *is_64, uint64_t *offset, size_t *count)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (!read_at(image, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return false;
	*is_64 = ident[EI_CLASS] == ELFCLASS64;
	*offset = 0;
	*count = 0;
	if (*is_64 && read_at(image, 0, &wide, sizeof(wide)) &&
	    wide.e_phentsize == sizeof(Elf64_Phdr)) {
		*offset = wide.e_phoff;
		*count = wide.e_phnum;
	} else if (ident[EI_CLASS] == ELFCLASS32 && read_at(image, 0, &narrow, sizeof(narrow)) &&
		   narrow.e_phentsize == sizeof(Elf32_Phdr)) {
		*offset = narrow.e_phoff;
		*count = narrow.e_phnum;
	}
	if (*count > SEGMENTS_MAX)
		*count = SEGMENTS_MAX;
	return true;
}

static bool read_segment(const struct image *image, bool is_64, uint64_t table, size_t i,
			 Elf64_Phdr *segment)
{
	size_t size = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	Elf32_Phdr narrow;

	if (table > UINT64_MAX - i * size)
		return false;
	if (is_64)
		return read_at(image, table + i * size, segment, size);
	if (!read_at(image, table + i * size, &narrow, size))
		return false;
	*segment = (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_align = narrow.p_align,
	};
	return true;
}

/* Looks for the build id among the notes; they are aligned to 4 bytes, or to 8 where p_align says so. */
static bool find_build_id(struct image *image, const uint8_t *notes, size_t size, size_t align)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, description, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		description = (name + note.n_namesz + align - 1) & ~(uint64_t)(align - 1);
		next = (description + note.n_descsz + align - 1) & ~(uint64_t)(align - 1);
		if (description + note.n_descsz > size)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU")) && note.n_descsz &&
		    note.n_descsz <= IMAGE_BUILD_ID_MAX) {
			memcpy(image->build_id, notes + description, note.n_descsz);
			image->build_id_size = note.n_descsz;
			return true;
		}
		if (next > size)
			return false;
		at = next;
	}
	return false;
}

static int read_notes(struct image *image, const Elf64_Phdr *segment)
{
	size_t size = segment->p_filesz < NOTE_BYTES_MAX ? segment->p_filesz : NOTE_BYTES_MAX;
	uint8_t *notes;

	if (image->build_id_size || !size)
		return 0;
	notes = malloc(size);
	if (!notes)
		return -ENOMEM;
	if (read_at(image, segment->p_offset, notes, size))
		find_build_id(image, notes, size, segment->p_align == 8 ? 8 : 4);
	free(notes);
	return 0;
}

int image_read_elf(struct image *image)
{
	vec(struct image_segment) segments = {0};
	size_t count, i;
	uint64_t table;
	bool is_64;
	int err = 0;

	image->is_elf = read_header(image, &is_64, &table, &count);
	for (i = 0; image->is_elf && i < count && !err; i++) {
		Elf64_Phdr segment;

		if (!read_segment(image, is_64, table, i, &segment))
			break;
		if (segment.p_type == PT_NOTE)
			err = read_notes(image, &segment);
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    segment.p_offset > UINT64_MAX - segment.p_filesz)
			continue;
		if (!vec_push(&segments, (struct image_segment){segment.p_offset, segment.p_vaddr,
								segment.p_filesz}))
			err = -ENOMEM;
	}
	image->segments = segments.at;
	image->segment_count = (uint32_t)segments.count;
	return err;
}

bool image_bias(const struct image *image, uint64_t start, uint64_t offset, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct image_segment *found = NULL;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *s = &image->segments[i];
		uint64_t first = s->offset & ~(page - 1);

		/* a segment is mapped from the start of its first page, where another may end */
		if (offset < first || offset >= s->offset + s->size)
			continue;
		if (!found || offset == first)
			found = s;
	}
	*bias = start - offset;
	if (!found)
		return false;
	*bias += found->offset - found->address;
	return true;
}
