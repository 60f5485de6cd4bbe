// SPDX-License-Identifier: Apache-2.0
/* Lines of the source: a probe at each place where their code begins, which shows the variables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "sources/inspect/state.h"
#include "elf/image.h"
#include "symbol/symbols.h"

/* Places of variables that steps have no words for are put into those that they have. */
static void place_variable(const struct values *values, const struct value_site *site,
			   struct value_param *variable)
{
	const struct value_type *type = values_type(values, variable->type);
	bool is_address = type && (type->kind == VALUE_POINTER || type->kind == VALUE_REFERENCE);
	int64_t distance = (int64_t)((uint64_t)variable->displacement - site->address);
	bool needs_cfa = variable->place == VALUE_MEMORY ||
			 ((variable->place == VALUE_BEHIND || variable->place == VALUE_SUM) &&
			  variable->reg == VALUE_REGISTER_CFA);

	/* clang's DWARF has sums of the stack pointer that are no value of anything */
	if (variable->place == VALUE_SUM && !is_address &&
	    (variable->reg == ARCH_REG_SP || variable->reg >= VALUE_REGISTER_CFA))
		variable->place = VALUE_NOT_KNOWN;
	if (needs_cfa && !site->has_cfa)
		variable->place = VALUE_NOT_KNOWN;
	if (variable->place != VALUE_STATIC)
		return;
	/* the image is as far away from the probe as in its file */
	variable->place =
		distance >= INT32_MIN && distance <= INT32_MAX ? VALUE_AT_POINTER : VALUE_NOT_KNOWN;
	variable->reg = VALUE_REGISTER_IP;
	variable->displacement = distance;
}

/* Where an address of the image is in its file. False: no code is there. */
static bool find_offset(const struct elf_image *elf, uint64_t address, uint64_t *offset)
{
	for (unsigned int i = 0; i < elf->codes; i++) {
		const struct elf_range *range = &elf->code[i];

		if (address < range->start || address - range->start >= range->in_file)
			continue;
		*offset = range->offset + (address - range->start);
		return true;
	}
	return false;
}

/* To be freed; null: no memory. */
static char *name_of(const struct value_site *site)
{
	char *name =
		site->language == VALUE_LANGUAGE_GO ? NULL : symbol_demangle_short(site->function);

	return name ? name : strdup(site->function);
}

static int make_plan(struct inspect *inspect, struct inspect_image *image,
		     struct inspect_function *f, uint32_t number, struct inspect_plan *plan,
		     struct fail *why)
{
	const struct inspect_options *options = &inspect->options;
	struct inspect_builder builder = {&image->values, options->limits, &options->redaction,
					  plan};
	int err = 0;

	*plan = (struct inspect_plan){
		.function = number,
		.site = INSPECT_SITE_ALONE,
		.is_go = f->site->language == VALUE_LANGUAGE_GO && image->goid_at &&
			 image->go_minor >= GO_REGISTERS,
		.cfa_register = f->site->cfa_register,
		.cfa_offset = f->site->cfa_offset,
		.goid_at = image->goid_at,
		.interval = inspect_interval(inspect),
	};
	if (options->condition)
		err = inspect_add_condition(&builder, options->condition, f->params,
					    f->value.params, why);
	return err ? err : inspect_add_shown(inspect, &builder, f, why);
}

static int add_place(struct inspect *inspect, struct inspect_image *image,
		     const struct elf_image *elf, struct inspect_function *f, struct fail *why)
{
	uint32_t number = (uint32_t)inspect->functions.count;
	struct inspect_plan plan;
	uint64_t offset = 0;
	int err;

	if (f->site->is_refused || !find_offset(elf, f->site->address, &offset)) {
		inspect->statistics.refused++;
	} else {
		err = make_plan(inspect, image, f, number, &plan, why);
		if (err)
			return err;
		f->entry_plan = (uint32_t)inspect->plans.count;
		f->plans = 1;
		if (!inspect_add_plan(inspect, &plan, number, f->site->address))
			return inspect_too_many(why);
		if (!inspect_add_probe(inspect, image, offset, UPROBE_ENTRY, number))
			return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
		inspect->found_lines[f->site->line] = true;
	}
	if (!vec_push(&inspect->functions, *f))
		return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	return 0;
}

/* Places where the condition cannot be decided are left out, if there are others. */
static void say_left_out(const struct inspect *inspect, size_t left_out, size_t all,
			 const struct fail *why)
{
	char *words;

	if (!left_out || !inspect->options.warn ||
	    asprintf(&words, "at %zu of %zu places, the condition cannot be decided: %s", left_out,
		     all, why->what) < 0)
		return;
	inspect->options.warn(words);
	free(words);
}

static int add_site(struct inspect *inspect, struct inspect_image *image,
		    const struct elf_image *elf, uint32_t number, const struct value_site *site,
		    struct fail *why)
{
	struct inspect_function f = {
		.image = number,
		.value = {.is_known = true,
			  .language = site->language,
			  .first_param = site->first_param,
			  .params = site->params},
		.params = site->params ? image->values.params.at + site->first_param : NULL,
		.site = site,
		.place = &inspect->options.places[site->line],
	};
	int err;

	for (uint32_t i = 0; i < site->params; i++)
		place_variable(&image->values, site, &f.params[i]);
	f.owned_name = name_of(site);
	f.name = f.owned_name ? f.owned_name : "";
	err = add_place(inspect, image, elf, &f, why);
	if (err) {
		free(f.owned_name);
		free(f.parts);
	}
	return err;
}

int inspect_add_lines(struct inspect *inspect, struct inspect_image *image,
		      const struct plan_image *file, uint32_t number, struct fail *why)
{
	const struct value_site *before = NULL;
	struct fail first = {0}, one;
	size_t left_out = 0, all = 0;
	struct elf_image elf;
	int err;

	if (!image->values.sites.count)
		return 0;
	err = elf_image_open_bare(&elf, file->fd, NULL, 0, why);
	vec_foreach (&image->values.sites, site) {
		int site_err;

		if (err ||
		    (before && before->line == site->line && before->address == site->address))
			continue;
		before = site;
		all++;
		one = (struct fail){0};
		site_err = add_site(inspect, image, &elf, number, site, &one);
		if (site_err && !first.what[0])
			first = one;
		if (site_err == -EINVAL)
			left_out++;
		else
			err = site_err;
	}
	elf_image_close(&elf);
	if (!err && left_out && left_out == all)
		err = -EINVAL;
	if (!err)
		say_left_out(inspect, left_out, all, &first);
	else if (why && first.what[0])
		*why = first;
	return err;
}

int inspect_check_lines(const struct inspect *inspect, struct fail *why)
{
	for (size_t i = 0; i < inspect->options.place_count; i++) {
		const struct inspect_place *place = &inspect->options.places[i];
		struct value_near near = {0};

		if (inspect->found_lines[i])
			continue;
		vec_foreach (&inspect->images, image)
			vec_foreach (&image->values.near, one)
				if (one->line == i && one->has_file)
					near = *one;
		if (!near.has_file)
			return fail(why, -ENOENT,
				    "name it by the end of its path; a library needs --inside, and "
				    "any file debug information (-g)",
				    "no code comes from a file '%s'", place->line.file);
		if (near.before && near.after)
			return fail(why, -ENODATA, NULL,
				    "%s has no code; the nearest lines that have are %u and %u",
				    place->text, near.before, near.after);
		return fail(why, -ENODATA, NULL, "%s has no code; the nearest line that has is %u",
			    place->text, near.before ? near.before : near.after);
	}
	return 0;
}
