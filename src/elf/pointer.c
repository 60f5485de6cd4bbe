// SPDX-License-Identifier: Apache-2.0
#include "elf/pointer.h"

#include <dwarf.h>

bool elf_read_pointer(struct bytes *in, uint8_t encoding, uint64_t address, uint64_t *pointer)
{
	uint64_t value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = bytes_u64(in);
		break;
	case DW_EH_PE_udata2:
		value = bytes_u16(in);
		break;
	case DW_EH_PE_udata4:
		value = bytes_u32(in);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int16_t)bytes_u16(in);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int32_t)bytes_u32(in);
		break;
	case DW_EH_PE_uleb128:
		value = bytes_varint(in);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)bytes_svarint(in);
		break;
	default:
		return false;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += address;
		break;
	default:
		return false;
	}
	*pointer = value;
	return !in->failed;
}
