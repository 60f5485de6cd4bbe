// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "elf/pointer.h"
#include "unwind/cfi_internal.h"

/* The number of the column that stands for the return address on x86-64. */
#define RETURN_COLUMN 16

/*
 * Bytes of a CIE's instructions; real ones have less than 200. Without a bound, many FDEs that
 * refer to many long CIEs would take the square of the section's size.
 */
#define INITIAL_MAX 1024

struct entry {
	uint64_t offset, next; /* in the section */
	bool is_cie, is_end;
	uint64_t cie; /* offset of its CIE, if it is an FDE */
	struct bytes body;
};

/* The header that CIEs and FDEs share. */
static int read_entry(const struct cfi_section *section, uint64_t offset, struct entry *entry)
{
	struct bytes in = {section->at, section->at + section->size, false};
	uint64_t length, id, id_offset, cie_id;
	bool wide;

	if (offset > section->size)
		return -EINVAL;
	in.at += offset;
	*entry = (struct entry){.offset = offset};
	length = bytes_u32(&in);
	wide = length == 0xffffffff;
	if (wide)
		length = bytes_u64(&in);
	if (in.failed || length > bytes_left(&in))
		return -EINVAL;
	entry->next = (uint64_t)(in.at - section->at) + length;
	entry->is_end = !length;
	if (!length)
		return 0;
	in.end = in.at + length;
	id_offset = (uint64_t)(in.at - section->at);
	id = wide ? bytes_u64(&in) : bytes_u32(&in);
	cie_id = !section->debug_frame ? 0 : wide ? UINT64_MAX : UINT32_MAX;
	entry->is_cie = id == cie_id;
	if (!entry->is_cie)
		entry->cie = section->debug_frame ? id : id_offset - id;
	entry->body = in;
	return 0;
}

int cfi_next(const struct cfi_section *section, uint64_t *offset, uint64_t *fde_offset)
{
	struct entry entry;

	/* less than a length is padding */
	while (*offset < section->size && section->size - *offset >= 4) {
		if (read_entry(section, *offset, &entry))
			return -EINVAL;
		if (entry.is_end && section->to_the_end)
			return 0;
		*fde_offset = *offset;
		*offset = entry.next;
		if (!entry.is_end && !entry.is_cie && !entry.body.failed)
			return 1;
	}
	return 0;
}

/* The letters of the augmentation, and the data that belongs to them. */
static bool read_augmentation(struct cfi_cie *cie, const char *letters, struct bytes *in)
{
	struct bytes data;
	uint64_t length, unused;

	if (!*letters)
		return true;
	if (*letters != 'z')
		return false;
	cie->augmented = true;
	length = cfi_uleb(in);
	data.at = bytes_read(in, length);
	if (!data.at)
		return false;
	data = (struct bytes){data.at, data.at + length, false};
	while (*++letters) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = bytes_u8(&data);
			break;
		case 'P':
			/* where the personality routine is: only its length matters */
			encoding = bytes_u8(&data);
			if (!elf_read_pointer(&data, encoding & 0x0f, 0, &unused))
				return false;
			break;
		case 'L':
			bytes_u8(&data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* pointer authentication, on other machines */
			break;
		default:
			/*
			 * the rest cannot be understood, but can be skipped, as its length is known
			 */
			return !data.failed;
		}
	}
	return !data.failed;
}

static bool read_cie(const struct cfi_section *section, uint64_t offset, struct cfi_cie *cie)
{
	struct entry entry;
	struct bytes in;
	const char *letters;
	uint8_t version;
	uint64_t column;

	if (read_entry(section, offset, &entry) || !entry.is_cie)
		return false;
	in = entry.body;
	*cie = (struct cfi_cie){.offset = offset, .encoding = DW_EH_PE_absptr};
	version = bytes_u8(&in);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = bytes_text(&in);
	if (!strcmp(letters, "eh")) { /* of gcc 2: a pointer to its own tables */
		bytes_u64(&in);
		letters += 2;
	}
	if (version == 4 && (bytes_u8(&in) != 8 || bytes_u8(&in) != 0))
		return false;
	cie->code_align = cfi_uleb(&in);
	cie->data_align = cfi_sleb(&in);
	column = version == 1 ? bytes_u8(&in) : cfi_uleb(&in);
	if (in.failed || column != RETURN_COLUMN)
		return false;
	if (!read_augmentation(cie, letters, &in))
		return false;
	return bytes_left(&in) <= INITIAL_MAX && cfi_run_initial(cie, in) == 0;
}

static const struct cfi_cie *get_cie(const struct cfi_section *section, struct cfi_cies *cies,
				     uint64_t offset)
{
	/* CIEs are multiples of 4 apart, and mostly close together */
	size_t slot = (offset / 4 ^ offset / 256) % CFI_CIES;
	struct cfi_cie *cie = &cies->cie[slot];

	if (!cies->state[slot] || cie->offset != offset) {
		cies->state[slot] = read_cie(section, offset, cie) ? 1 : 2;
		cie->offset = offset;
	}
	return cies->state[slot] == 1 ? cie : NULL;
}

int cfi_read_fde(const struct cfi_section *section, struct cfi_cies *cies, uint64_t offset,
		 struct cfi_fde *fde)
{
	struct entry entry;
	struct bytes *in = &entry.body;
	uint64_t address;
	int err;

	err = read_entry(section, offset, &entry);
	if (err || entry.is_end || entry.is_cie)
		return -EINVAL;
	fde->cie = get_cie(section, cies, entry.cie);
	if (!fde->cie)
		return -EINVAL;
	address = section->address + (uint64_t)(in->at - section->at);
	if (!elf_read_pointer(in, fde->cie->encoding, address, &fde->start) ||
	    !elf_read_pointer(in, fde->cie->encoding & 0x0f, 0, &fde->size))
		return -EINVAL;
	if (fde->cie->augmented && !bytes_read(in, cfi_uleb(in)))
		return -EINVAL;
	fde->instructions = *in;
	fde->instructions_address = section->address + (uint64_t)(in->at - section->at);
	return in->failed ? -EINVAL : 0;
}
