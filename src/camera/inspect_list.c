// SPDX-License-Identifier: Apache-2.0
/* --list: functions, their parameters, types, and how each would be read. */
#include <string.h>

#include "base/text.h"
#include "camera/inspect_state.h"

static const char *const registers[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
					"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static void print_place(FILE *out, const struct value_param *param)
{
	switch (param->place) {
	case VALUE_REGISTERS:
		for (unsigned int i = 0; i < param->count; i++) {
			uint8_t reg = param->piece[i].reg;

			fprintf(out, "%s%s", i ? ":" : "",
				reg == VALUE_REGISTER_FLOAT ? "float register, unavailable"
							    : registers[reg & 15]);
		}
		break;
	case VALUE_MEMORY:
		fprintf(out, "stack +%lld", (long long)param->displacement);
		break;
	case VALUE_AT_POINTER:
		fprintf(out, "memory at %s",
			param->reg == VALUE_REGISTER_RESULT ? "rdi of the call's beginning"
							    : registers[param->reg & 15]);
		break;
	case VALUE_NOWHERE:
	case VALUE_HOME:
	case VALUE_ODD:
		fputs("optimised out", out);
		break;
	default:
		fputs("place not known", out);
	}
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

static void print_function(const struct inspect *inspect, const struct inspect_function *f,
			   FILE *out)
{
	const struct values *values = &inspect->images.at[f->image].values;
	const struct inspect_plan *plan = &inspect->plans.at[f->entry_plan];

	fputs("  ", out);
	text_print_safe(out, f->name);
	if (!f->value.is_known)
		fputs("  (no debug information: raw words)", out);
	if (plan->site == INSPECT_SITE_ALONE)
		fputs("  (its end is not seen)", out);
	putc('\n', out);
	for (uint32_t i = 0; i < f->value.params; i++)
		if (f->value.is_known || !i)
			print_param(out, values, &f->params[i]);
}

int inspect_list(const struct inspect_options *options, FILE *out, struct fail *why)
{
	const struct plan_image *files;
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
	fprintf(out, "%zu function%s with %zu probes\n", inspect->functions.count,
		text_plural(inspect->functions.count), inspect->plans.count);
	inspect_free(inspect);
	return 0;
}
