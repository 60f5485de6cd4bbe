// SPDX-License-Identifier: Apache-2.0
#include "process/image_elf.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "elf/file.h"

/* Far beyond what linkers make; the kernel itself takes no more than 64 KiB of program headers. */
#define SEGMENTS_MAX   1024
#define NOTE_BYTES_MAX (64 * 1024)

_Static_assert(IMAGE_BUILD_ID_MAX == ELF_BUILD_ID_MAX, "build ids are copied whole");

static bool is_code(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
	       segment->p_offset <= UINT64_MAX - segment->p_filesz;
}

int image_read_elf(struct image *image)
{
	vec(struct image_segment) segments = {0};
	int err = 0, notes = ELF_NOTES_MAX;
	struct elf_file file;
	Elf64_Phdr s;

	image->is_elf = !elf_file_open_bare(&file, image->memory ? -1 : image->fd, image->memory,
					    image->memory_size);
	for (uint32_t i = 0; image->is_elf && i < SEGMENTS_MAX && !err; i++) {
		if (!elf_file_segment(&file, i, &s))
			break;
		if (s.p_type == PT_NOTE && !file.build_id_size)
			elf_file_take_build_id(&file, s.p_offset,
					       s.p_filesz < NOTE_BYTES_MAX ? s.p_filesz
									   : NOTE_BYTES_MAX,
					       s.p_align, &notes);
		if (is_code(&s) &&
		    !vec_push(&segments, (struct image_segment){s.p_offset, s.p_vaddr, s.p_filesz}))
			err = -ENOMEM;
	}
	if (image->is_elf) {
		memcpy(image->build_id, file.build_id, sizeof(image->build_id));
		image->build_id_size = file.build_id_size;
		elf_file_close(&file);
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
