// SPDX-License-Identifier: Apache-2.0
#include "sources/inspect/shapes/shapes.h"

const struct shape_way *shape_way_of(const struct value_shape *shape)
{
	static const struct shape_way *const ways[SHAPE_KINDS] = {
		[SHAPE_TEXT] = &shape_text,	  [SHAPE_LIST] = &shape_list,
		[SHAPE_POINTER] = &shape_pointer, [SHAPE_OPTIONAL] = &shape_optional,
		[SHAPE_VALUE] = &shape_value,	  [SHAPE_CHOICE] = &shape_choice,
		[SHAPE_WEAK] = &shape_weak,	  [SHAPE_TUPLE] = &shape_tuple,
		[SHAPE_BITS] = &shape_bits,	  [SHAPE_FUNCTION] = &shape_function,
		[SHAPE_CHAIN] = &shape_nodes,	  [SHAPE_TREE] = &shape_nodes,
		[SHAPE_BLOCKS] = &shape_blocks,	  [SHAPE_RING] = &shape_ring,
		[SHAPE_TABLE] = &shape_table,	  [SHAPE_BTREE] = &shape_btree,
	};

	return ways[shape->kind];
}
