// SPDX-License-Identifier: Apache-2.0
/* --list: functions, their parameters, types, and how each would be read. */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/names.h"
#include "base/text.h"
#include "sources/inspect/state.h"

static const char *register_name(uint8_t reg)
{
	return reg == VALUE_REGISTER_CFA ? "the frame" : arch_register_name(reg);
}

static void print_distance(FILE *out, int64_t distance)
{
	if (distance)
		fprintf(out, " %c%llu", distance < 0 ? '-' : '+',
			distance < 0 ? -(unsigned long long)distance
				     : (unsigned long long)distance);
}

static void print_memory(FILE *out, const struct value_param *param)
{
	if (param->reg == VALUE_REGISTER_RESULT) {
		fprintf(out, "memory at %s of the call's beginning",
			arch_register_name(ARCH_REG_RESULT_AT));
	} else if (param->reg == VALUE_REGISTER_IP) {
		fputs("static", out);
	} else {
		fprintf(out, "memory at %s", register_name(param->reg));
		print_distance(out, param->displacement);
	}
}

static void print_place(FILE *out, const struct value_param *param)
{
	switch (param->place) {
	case VALUE_REGISTERS:
		for (unsigned int i = 0; i < param->count; i++) {
			uint8_t reg = param->piece[i].reg;

			fprintf(out, "%s%s", i ? ":" : "",
				reg == VALUE_REGISTER_FLOAT ? "float register, unavailable"
							    : arch_register_name(reg));
		}
		break;
	case VALUE_MEMORY:
		fputs("stack", out);
		print_distance(out, param->displacement);
		break;
	case VALUE_AT_POINTER:
		print_memory(out, param);
		break;
	case VALUE_BEHIND:
		fprintf(out, "behind the pointer at %s", register_name(param->reg));
		print_distance(out, param->displacement);
		break;
	case VALUE_CONSTANT:
		fputs("constant", out);
		break;
	case VALUE_SUM:
		fputs(param->reg == VALUE_REGISTER_IMAGE ? "an address" : register_name(param->reg),
		      out);
		if (param->reg != VALUE_REGISTER_IMAGE)
			print_distance(out, param->displacement);
		break;
	case VALUE_NOWHERE:
		fputs(shown_status_words(SHOWN_OPTIMISED_OUT), out);
		break;
	case VALUE_NOT_YET:
		fputs(shown_status_words(SHOWN_NOT_YET), out);
		break;
	default:
		fputs("place not known", out);
	}
	if (param->may_be_old)
		fprintf(out, ", %s", shown_status_words(SHOWN_MAY_BE_OLD));
}

static void print_param(FILE *out, const struct values *values, const struct value_param *param)
{
	const struct value_type *type = values_type(values, param->type);

	fputs(param->is_result ? "    -> " : "       ", out);
	text_print_safe(out, param->name ? param->name : "");
	if (param->name && *param->name)
		putc(' ', out);
	text_print_safe(out, type ? type->name : "?");
	fputs("  (", out);
	print_place(out, param);
	fputs(")\n", out);
}

/* "orders.c:120 in place, inlined into main, at 0x1139" */
static void print_site(FILE *out, const struct inspect_function *f)
{
	text_print_safe(out, f->place->text);
	fputs(" in ", out);
	text_print_safe(out, f->name);
	if (*f->site->into) {
		char *into = symbol_demangle_short(f->site->into);

		fputs(", inlined into ", out);
		text_print_safe(out, into ? into : f->site->into);
		free(into);
	}
	fprintf(out, "%s, at 0x%llx", f->site->is_optimised ? ", optimised" : "",
		(unsigned long long)f->site->address);
	if (!f->plans)
		fputs("  (the instruction cannot be probed)", out);
}

static void print_function(const struct inspect *inspect, const struct inspect_function *f,
			   FILE *out)
{
	const struct values *values = &inspect->images.at[f->image].values;
	const struct inspect_plan *plan = f->plans ? &inspect->plans.at[f->entry_plan] : NULL;

	fputs("  ", out);
	if (f->site)
		print_site(out, f);
	else
		text_print_safe(out, f->name);
	if (!f->value.is_known)
		fputs("  (no debug information: raw words)", out);
	if (plan && !f->site && plan->site == INSPECT_SITE_ALONE)
		fputs("  (its end is not seen)", out);
	putc('\n', out);
	for (uint32_t i = 0; i < f->value.params; i++)
		if (f->value.is_known || !i)
			print_param(out, values, &f->params[i]);
}

int inspect_list(const struct inspect_options *options, FILE *out, struct fail *why)
{
	const struct plan_image *files;
	struct inspect_statistics statistics;
	struct inspect *inspect;
	uint32_t last = UINT32_MAX;
	size_t count;
	int err = inspect_new(options, &inspect, why);

	if (err)
		return err;
	files = plan_images(inspect->plan, &count);
	vec_foreach (&inspect->functions, f) {
		if (f->image != last) {
			text_print_safe(out, files[f->image].path);
			fputs(":\n", out);
		}
		last = f->image;
		print_function(inspect, f, out);
	}
	inspect_statistics(inspect, &statistics);
	if (statistics.places)
		fprintf(out, "%zu place%s of lines, ", statistics.places,
			text_plural(statistics.places));
	fprintf(out, "%zu function%s with %zu probes\n", statistics.functions,
		text_plural(statistics.functions), inspect->plans.count);
	inspect_free(inspect);
	return 0;
}
