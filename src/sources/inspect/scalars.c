// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "sources/inspect/decoder.h"

uint64_t inspect_extend(uint64_t value, uint64_t size, bool is_signed)
{
	unsigned int shift = size < 8 ? (unsigned int)(64 - 8 * size) : 0;

	value <<= shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static void name_of_number(const struct decoder *d, const struct value_type *type,
			   struct shown *node)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *m =
			&d->taken->values->members.at[type->first_member + i];

		if (inspect_extend(m->offset, type->size, false) !=
		    inspect_extend(node->number, type->size, false))
			continue;
		node->kind = SHOWN_NAME;
		node->text = m->name;
		node->size = strlen(m->name);
		return;
	}
}

static void show_real(const uint8_t *bytes, uint64_t size, struct shown *node)
{
	float single;
	long double extended;

	node->kind = SHOWN_REAL;
	if (size == 4) {
		memcpy(&single, bytes, 4);
		node->real = (double)single;
	} else if (size == 8) {
		memcpy(&node->real, bytes, 8);
	} else if (size == 16) {
		memcpy(&extended, bytes, sizeof(extended));
		node->real = (double)extended;
	} else {
		node->kind = SHOWN_NOTHING;
		node->status = SHOWN_OF_NO_KIND;
	}
}

void inspect_show_scalar(struct decoder *d, const struct view *view, const struct value_type *type,
			 uint64_t at, struct shown *node)
{
	uint8_t bytes[16] = {0};
	bool is_signed = type->flags & VALUE_FLAG_SIGNED || type->kind == VALUE_ENUM;

	if (type->kind == VALUE_UINT && !type->size) {
		node->kind = SHOWN_LIST; /* Rust: () */
		return;
	}
	if (!type->size || type->size > (type->kind == VALUE_FLOAT ? 16 : 8)) {
		node->status = SHOWN_OF_NO_KIND;
		return;
	}
	node->status = inspect_read(d, view, at, bytes, type->size);
	if (node->status != SHOWN_VALUE)
		return;
	if (type->kind == VALUE_FLOAT) {
		show_real(bytes, type->size, node);
		return;
	}
	memcpy(&node->number, bytes, 8);
	node->number = inspect_extend(node->number, type->size, is_signed);
	switch (type->kind) {
	case VALUE_BOOL:
		node->kind = SHOWN_BOOL;
		break;
	case VALUE_CHAR:
		node->kind = type->size == 4   ? SHOWN_CHAR
			     : !is_signed      ? SHOWN_UNSIGNED
			     : type->size == 1 ? SHOWN_CHAR
					       : SHOWN_SIGNED;
		break;
	case VALUE_POINTER:
	case VALUE_REFERENCE:
	case VALUE_FUNCTION:
	case VALUE_GO_CHAN:
	case VALUE_GO_MAP:
		node->kind = SHOWN_ADDRESS;
		if (!node->number)
			node->status = SHOWN_NIL;
		break;
	default:
		node->kind = is_signed ? SHOWN_SIGNED : SHOWN_UNSIGNED;
	}
	if (type->kind == VALUE_ENUM)
		name_of_number(d, type, node);
}

void inspect_show_bits(struct decoder *d, const struct view *view, const struct value_type *type,
		       const struct value_member *m, uint64_t at)
{
	size_t place = inspect_add_node(d, m->name, type);
	uint64_t word = 0;
	struct shown *node;

	if (place == SIZE_MAX)
		return;
	node = node_at(d, place);
	/* of the word, only those bytes are in the structure that the field reaches into */
	node->status = inspect_read(d, view, at, &word, (m->bit_at + m->bits + 7u) / 8);
	if (node->status != SHOWN_VALUE)
		return;
	word = word >> m->bit_at << (64 - m->bits);
	node->kind = type->kind == VALUE_BOOL	       ? SHOWN_BOOL
		     : type->flags & VALUE_FLAG_SIGNED ? SHOWN_SIGNED
						       : SHOWN_UNSIGNED;
	node->number = type->flags & VALUE_FLAG_SIGNED ? (uint64_t)((int64_t)word >> (64 - m->bits))
						       : word >> (64 - m->bits);
	if (type->kind == VALUE_ENUM)
		name_of_number(d, type, node);
}
