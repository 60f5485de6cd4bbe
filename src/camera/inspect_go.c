// SPDX-License-Identifier: Apache-2.0
/* Values that only Go has. */
#include <string.h>

#include "camera/inspect_decoder.h"

void inspect_show_interface(struct decoder *d, const struct view *view,
			    const struct value_type *type, uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	uint64_t word = 0;

	(void)type;
	node->status = inspect_read(d, view, at, &word, 8);
	if (node->status != SHOWN_VALUE)
		return;
	node->status = word ? SHOWN_NOT_KNOWN : SHOWN_NIL;
}

void inspect_show_map(struct decoder *d, const struct view *view, const struct value_type *type,
		      uint64_t at, size_t place)
{
	struct shown *node = node_at(d, place);
	const struct inspect_item *item;
	struct inspect_step step;
	const uint8_t *bytes;
	struct view inner;

	inspect_show_scalar(d, view, type, at, node);
	if (node->status != SHOWN_VALUE ||
	    !inspect_step_of_target(&view->holder, values_type(d->taken->values, type->target), at,
				    &step))
		return;
	item = inspect_item_of(d, view, &step, &inner, &bytes);
	if (!item || item->status != INSPECT_OK || item->size < 8)
		return;
	/* both kinds of maps begin with the number of entries */
	memcpy(&node->length, bytes, 8);
	node->kind = SHOWN_PAIRS;
	node->status = node->length ? SHOWN_TRUNCATED : SHOWN_VALUE;
}
