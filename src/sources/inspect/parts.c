// SPDX-License-Identifier: Apache-2.0
/* --show: parts of arguments and variables, and nothing else of them. */
#include <string.h>

#include "sources/inspect/decoder.h"
#include "sources/inspect/operand.h"

/* What shows that a part is not there, when the others are. */
static enum shown_status status_of(enum operand_error error, const struct operand *operand)
{
	static const struct inspect_contents nothing;

	switch (error) {
	case OPERAND_NO_NAME:
		return SHOWN_NO_MEMBER;
	case OPERAND_REDACTED:
		return SHOWN_REDACTED;
	case OPERAND_NO_PLACE:
		/* of the variable, the place is known; of what it leads to, it is not */
		if (operand->param && !operand->type)
			return inspect_place_status(&nothing, operand->param);
		return SHOWN_OPTIMISED_OUT;
	default:
		return SHOWN_VALUE;
	}
}

static int add_part(struct inspect_builder *builder, const char *text,
		    const struct value_param *params, size_t count, struct inspect_part *part,
		    struct fail *why)
{
	struct operand_parser p = {
		.builder = builder,
		.params = params,
		.count = count,
		.option = "--show",
		.text = text,
		.at = text,
		.why = why,
	};
	struct operand operand;
	int err = operand_parse(&p, &operand);

	*part = (struct inspect_part){.name = text, .type = VALUE_NO_TYPE};
	if (err) {
		part->status = status_of(p.error, &operand);
		return part->status == SHOWN_VALUE ? err : 0;
	}
	operand_skip_spaces(&p);
	if (*p.at)
		return operand_refuse(&p, "this is not understood");
	part->type = operand.number;
	part->holder = operand.holder;
	part->at = operand.at;
	part->needs = operand.needs;
	part->may_be_old = operand.param->may_be_old;
	inspect_add_value(builder, &part->holder, part->type, part->at, 0, 0);
	return 0;
}

int inspect_add_parts(struct inspect_builder *builder, const char *const *texts, size_t count,
		      const struct value_param *params, size_t param_count,
		      struct inspect_part *parts, struct fail *why)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = add_part(builder, texts[i], params, param_count, &parts[i], why);
	return err;
}

/* Why the bytes of a part's holder are not there. */
static enum shown_status why_not(const struct decoder *d, const struct inspect_part *part, int item)
{
	const struct inspect_item *head = item < 0 ? NULL : &d->items[item].head;

	if (!head && d->taken->size + sizeof(struct inspect_item) + 8 > INSPECT_BYTES_MAX)
		return SHOWN_NO_ROOM;
	/* nil on the way says nothing about the value of the part */
	if (!head || head->status == INSPECT_NIL || head->status == INSPECT_NOT_RESIDENT)
		return SHOWN_NOT_RESIDENT;
	if (part->needs > head->length)
		return SHOWN_NO_ELEMENT;
	return head->status == INSPECT_FULL ? SHOWN_NO_ROOM : SHOWN_VALUE;
}

static void show_part(struct decoder *d, const struct inspect_part *part)
{
	struct view view = {.holder = part->holder};
	enum shown_status status = part->status;
	size_t place = d->tree->nodes.count;

	if (status == SHOWN_VALUE && part->holder.from != INSPECT_FROM_REGISTERS &&
	    part->holder.from != INSPECT_FROM_NOTHING) {
		int item = inspect_item_number(d, part->holder.from, 0);

		status = why_not(d, part, item);
		view.item = item + 1;
	}
	if (status != SHOWN_VALUE) {
		inspect_add_status(d, part->name, values_type(d->taken->values, part->type),
				   status);
		return;
	}
	inspect_show_value(d, &view, part->type, part->at, part->name);
	if (part->may_be_old)
		inspect_mark_old(d, place);
}

void inspect_decode_parts(const struct inspect_contents *taken, const struct inspect_part *parts,
			  size_t count, struct shown_tree *tree)
{
	struct decoder d; /* its items are many, and most of them unused */

	if (!inspect_open(&d, taken, tree))
		return;
	for (size_t i = 0; i < count; i++)
		show_part(&d, &parts[i]);
}
