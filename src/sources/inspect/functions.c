// SPDX-License-Identifier: Apache-2.0
/* What the probes of functions are to read, and where: plans of an image. */
#include "sources/inspect/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "bpf/calls/abi.h"
#include "sources/inspect/code.h"
#include "sources/inspect/state.h"
#include "elf/image.h"
#include "runtime/go/records.h"
#include "unwind/go_pclntab.h"

#define NS_PER_SECOND 1000000000u
#define MOST_PARAMS   64

/* Words that are shown of functions without debug information. */
static const uint8_t sysv_words[] = {5, 4, 1, 2, 8, 9}, go_words[] = {0, 3, 2, 5, 4, 8};
enum {
	WORDS = sizeof(sysv_words)
};

static const char *const word_names[WORDS] = {"word0", "word1", "word2", "word3", "word4", "word5"};

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of C++, only functions with the parameters that were named: spaces do not count. */
static bool same_signature(const char *a, const char *b)
{
	for (;;) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

/* The template arguments of std::string are never written by anybody. */
static char *simplify(char *name)
{
	static const char longer[] =
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
	char *at;

	while ((at = strstr(name, longer))) {
		memmove(at + 11, at + sizeof(longer) - 1, strlen(at + sizeof(longer) - 1) + 1);
		memcpy(at, "std::string", 11);
	}
	return name;
}

static bool is_wanted(const struct inspect *inspect, const struct plan_function *f)
{
	char *name;
	bool same;

	if (f->probe->refusal != PROBE_ALLOWED || f->is_moved || !f->probe->size)
		return false;
	if (inspect->options.traced && f->flags & CALLS_FUNCTION_HIDDEN)
		return false;
	if (!inspect->options.signature)
		return true;
	name = symbol_demangle(f->probe->symbol);
	same = name && (same_signature(name, inspect->options.signature) ||
			same_signature(simplify(name), inspect->options.signature));
	free(name);
	return same;
}

/* What the function at an address has on its caller's stack; -1: Go's table does not say. */
static int64_t width_of(const struct go_table *table, uint64_t address)
{
	struct go_function f;

	return go_table_function(table, go_table_find(table, address), &f) && f.start == address &&
			       f.width <= INT32_MAX
		       ? (int64_t)f.width
		       : -1;
}

/* What is to be known of a Go program's runtime, and of functions; widths: one for each. */
static void learn_go(struct inspect_image *image, int fd, const uint64_t *addresses, size_t count,
		     int64_t *widths)
{
	const struct go_records *records;
	struct elf_image elf;
	struct go_table table;
	struct fail ignored;

	if (elf_image_open_bare(&elf, fd, NULL, 0, &ignored)) {
		elf_image_close(&elf);
		return;
	}
	if (!go_table_open(&table, &elf)) {
		records = go_records_of(table.minor);
		image->go_minor = table.minor;
		image->goid_at = records ? records->goid : 0;
		for (size_t i = 0; i < count; i++)
			widths[i] = width_of(&table, addresses[i]);
	}
	elf_image_close(&elf);
}

static int read_values(struct inspect *inspect, const struct plan_image *image,
		       const uint64_t *addresses, size_t count, bool is_go,
		       struct inspect_image *to)
{
	struct symbol_image file = {
		.fd = image->fd,
		.path = image->path,
		.root = image->root,
		.build_id = image->build_id,
		.build_id_size = image->build_id_size,
	};
	struct fail words = {0};
	char *warning;
	struct values_line lines[VALUES_LINES_MAX];
	struct values_wanted wanted = {
		.is_go = is_go,
		.addresses = addresses,
		.count = count,
		.lines = lines,
		.line_count = inspect->options.place_count,
	};
	const char *instead = !count			? "its lines are not known"
			      : inspect->options.traced ? "its calls are shown without values"
							: "arguments are shown as raw words";
	int err;

	for (size_t i = 0; i < wanted.line_count; i++)
		lines[i] = inspect->options.places[i].line;
	err = values_of_image(inspect->symbols, &file, &wanted, &to->values, &words);
	to->has_dwarf = !err;
	if (err && inspect->options.warn &&
	    asprintf(&warning, "%s: %s", words.what, instead) >= 0) {
		inspect->options.warn(warning);
		free(warning);
	}
	return err == -ENOMEM ? err : 0;
}

/* A function without debug information has words in the registers of its convention. */
static bool add_words(struct inspect_image *image, struct inspect_function *f)
{
	struct values *values = &image->values;
	const uint8_t *registers = f->probe->is_go ? go_words : sysv_words;
	struct value_type word = {
		.kind = VALUE_UINT,
		.name = "word",
		.bare = "",
		.brief = "",
		.size = 8,
		.target = VALUE_NO_TYPE,
	};

	if (!vec_push(&values->types, word))
		return false;
	f->value.first_param = (uint32_t)values->params.count;
	f->value.params = WORDS;
	for (unsigned int i = 0; i < WORDS; i++) {
		struct value_param param = {
			.name = word_names[i],
			.type = (uint32_t)values->types.count - 1,
			.place = VALUE_REGISTERS,
			.count = 1,
			.piece = {{0, 8, registers[i]}},
		};

		if (!vec_push(&values->params, param))
			return false;
	}
	return true;
}

static void place_go(const struct inspect_image *image, struct inspect_function *f,
		     struct value_param *params)
{
	const struct abi_go go = {
		.name = f->name,
		.minor = image->go_minor,
		.has_registers = image->go_minor >= GO_REGISTERS && !strstr(f->name, ".abi0"),
		.width = f->go_width,
	};
	uint32_t kept = 0;

	abi_go_params(&image->values, params, f->value.params, &go);
	/* without optimisation, DWARF has them */
	for (uint32_t i = 0; i < f->value.params; i++)
		if (!params[i].name || strcmp(params[i].name, ".dict") != 0)
			params[kept++] = params[i];
	f->value.params = kept;
}

static bool is_later(const struct value_param *param)
{
	return param->place == VALUE_HOME || param->place == VALUE_LATE;
}

/* An object that is passed by its address, which is in another register than the convention says */
static bool is_elsewhere(const struct values *values, const struct value_param *param,
			 const struct value_param *by_convention)
{
	const struct value_type *type = values_type(values, param->type);

	return param->place == VALUE_AT_POINTER && type && type->flags & VALUE_FLAG_BY_REFERENCE &&
	       (by_convention->place != VALUE_AT_POINTER || by_convention->reg != param->reg);
}

/*
 * Of a function that is not optimised, DWARF says where values are when it has stored them, or
 * moved them to other registers: before, they are where the convention says.
 */
static void place_homes(const struct values *values, const struct inspect_function *f,
			struct value_param *params, const struct value_param *by_convention)
{
	bool is_kept = f->value.is_external || !f->value.is_optimised, has_home = false;

	for (size_t i = 0; i < f->value.params; i++)
		has_home |= is_later(&params[i]);
	for (size_t i = 0; has_home && i < f->value.params; i++) {
		bool is_later_place =
			is_later(&params[i]) || is_elsewhere(values, &params[i], &by_convention[i]);

		if (params[i].is_result)
			continue;
		if (is_kept && (is_later_place || !f->value.is_optimised))
			params[i] = by_convention[i];
		else if (is_later_place)
			params[i].place = VALUE_NOT_KNOWN;
	}
}

static void place_params(const struct inspect_image *image, struct inspect_function *f,
			 struct value_param *params)
{
	const struct values *values = &image->values;
	size_t count = f->value.params;
	struct value_param by_convention[MOST_PARAMS];

	if (f->value.language == VALUE_LANGUAGE_GO) {
		place_go(image, f, params);
		return;
	}
	if (count <= MOST_PARAMS && f->value.language != VALUE_LANGUAGE_RUST) {
		memcpy(by_convention, params, count * sizeof(*params));
		abi_sysv_params(values, &f->value, by_convention, count);
		place_homes(values, f, params, by_convention);
	}
	for (size_t i = 0; i < count; i++)
		if (params[i].is_result && f->value.language == VALUE_LANGUAGE_RUST)
			abi_rust_result(values, &f->value, &params[i]);
		else if (params[i].is_result)
			abi_sysv_result(values, &f->value, &params[i]);
}

/* A plan of a probe at an offset of the file. */
static bool add_plan(struct inspect *inspect, const struct inspect_plan *plan, uint32_t function,
		     const struct probe_function *probe, uint64_t offset)
{
	uint64_t begin = probe->entry.offset - probe->slide;

	return inspect_add_plan(inspect, plan, function, probe->address + (offset - begin));
}

bool inspect_add_plan(struct inspect *inspect, const struct inspect_plan *plan, uint32_t function,
		      uint64_t address)
{
	return inspect->plans.count < INSPECT_PLANS_MAX && vec_push(&inspect->plans, *plan) &&
	       vec_push(&inspect->function_of_plan, function) &&
	       vec_push(&inspect->address_of_plan, address);
}

uint32_t inspect_interval(const struct inspect *inspect)
{
	return inspect->options.rate ? NS_PER_SECOND / inspect->options.rate : 0;
}

bool inspect_add_probe(struct inspect *inspect, struct inspect_image *image, uint64_t offset,
		       enum uprobe_kind kind, uint32_t function)
{
	struct uprobe_place place = {
		.offset = offset,
		.group = function,
		.kind = kind,
		.cookie = inspect->plans.count - 1,
	};

	return vec_push(&image->places, place);
}

int inspect_too_many(struct fail *why)
{
	return fail(why, -E2BIG, "name fewer of them", "the functions need more than %u probes",
		    INSPECT_PLANS_MAX);
}

int inspect_add_shown(struct inspect *inspect, struct inspect_builder *builder,
		      struct inspect_function *f, struct fail *why)
{
	const struct inspect_options *options = &inspect->options;
	int err;

	if (!options->part_count) {
		inspect_add_params(builder, f->params, f->value.params, false);
		return 0;
	}
	f->parts = calloc(options->part_count, sizeof(*f->parts));
	if (!f->parts)
		return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	err = inspect_add_parts(builder, options->parts, options->part_count, f->params,
				f->value.params, f->parts, why);
	for (size_t i = 0; i < options->part_count && !err; i++)
		if (f->parts[i].status != SHOWN_NO_MEMBER)
			inspect->found_parts |= 1ull << i;
	return err;
}

/*
 * For the function whose entry was added last. The result is where the convention puts it, and the
 * stack pointer behind the return address.
 */
static int add_return(struct inspect *inspect, struct inspect_image *image,
		      struct inspect_function *f, uint32_t number, uint64_t entry, bool is_moved,
		      struct fail *why)
{
	const struct probe_function *probe = f->probe;
	uint64_t begin = probe->entry.offset - probe->slide;
	struct uprobe_place *place = vec_last(&image->places);
	struct inspect_plan plan = {
		.function = number,
		.site = INSPECT_SITE_RETURN,
		.cfa_register = ARCH_REG_SP,
	};
	struct inspect_builder builder = {&image->values, inspect->options.limits,
					  &inspect->options.redaction, &plan};

	inspect_add_params(&builder, f->params, f->value.params, true);
	if (!add_plan(inspect, &plan, number, probe, entry))
		return inspect_too_many(why);
	f->plans++;
	/* behind a prologue, the return address is elsewhere */
	if (is_moved)
		return inspect_add_probe(inspect, image, begin, UPROBE_RETURN, number) ? 0
										       : -ENOMEM;
	place->kind = UPROBE_ENTRY_AND_RETURN;
	place->entry_cookie = place->cookie;
	place->return_cookie = place->cookie + 1;
	return 0;
}

static int add_exits(struct inspect *inspect, struct inspect_image *image,
		     const struct plan_image *file, struct inspect_function *f, uint32_t number,
		     struct fail *why)
{
	for (uint32_t i = 0; i < f->probe->exits; i++) {
		const struct probe_site *site = &file->functions.exits[f->probe->first_exit + i];
		struct inspect_plan plan = {
			.function = number,
			.site = INSPECT_SITE_JUMP,
			.is_go = inspect->plans.at[f->entry_plan].is_go,
			.cfa_register = ARCH_REG_SP,
			.cfa_offset = 8 + 8 * site->words,
			.goid_at = image->goid_at,
		};
		struct inspect_builder builder = {&image->values, inspect->options.limits,
						  &inspect->options.redaction, &plan};

		if (!site->leaves) {
			plan.site = INSPECT_SITE_RET;
			inspect_add_params(&builder, f->params, f->value.params, true);
		}
		if (!add_plan(inspect, &plan, number, f->probe, site->offset))
			return inspect_too_many(why);
		if (!inspect_add_probe(inspect, image, site->offset, UPROBE_EXIT_SITE, number))
			return -ENOMEM;
		f->plans++;
	}
	return 0;
}

/* Go: is the goroutine's record in r14, and its number known? */
static bool has_goroutine(const struct inspect_image *image, const struct inspect_function *f)
{
	return image->goid_at && !strstr(f->name, ".abi0") && image->go_minor >= GO_REGISTERS;
}

static bool has_exits(const struct inspect_image *image, const struct plan_image *file,
		      const struct inspect_function *f, uint64_t entry)
{
	if (f->probe->exit == PROBE_EXIT_RETURN)
		return !f->probe->is_go;
	if (f->probe->exit != PROBE_EXIT_RET || !f->probe->exits)
		return false;
	if (f->probe->is_go && !has_goroutine(image, f))
		return false;
	for (uint32_t i = 0; i < f->probe->exits; i++)
		if (file->functions.exits[f->probe->first_exit + i].offset == entry)
			return false;
	return true;
}

static int add_function(struct inspect *inspect, struct inspect_image *image,
			const struct plan_image *file, struct inspect_function *f, struct fail *why)
{
	uint32_t number = (uint32_t)inspect->functions.count;
	const struct probe_function *probe = f->probe;
	uint64_t entry = probe->entry.offset;
	struct inspect_plan plan = {
		.function = number,
		.cfa_register = ARCH_REG_SP,
		.cfa_offset = 8,
		.goid_at = image->goid_at,
		.interval = inspect_interval(inspect),
	};
	struct inspect_builder builder = {&image->values, inspect->options.limits,
					  &inspect->options.redaction, &plan};
	bool ends;
	int err = 0;

	/* where a tracer's probe slides to, registers may hold something else already */
	entry -= probe->slide;
	if (f->value.is_known) {
		entry += f->value.attach - probe->address;
		plan.cfa_register = f->value.cfa_register;
		plan.cfa_offset = f->value.cfa_offset;
	}
	/*
	 * a function of Go begins anew on a larger stack: the probe goes behind the check for that
	 */
	if (probe->is_go && (!f->value.is_known || f->value.attach == probe->address)) {
		entry = probe->entry.offset - probe->slide;
		entry += inspect_code_stack_check(file->fd, entry);
		plan.cfa_offset = 8;
	}
	if (!probe->is_go && entry == probe->entry.offset - probe->slide) {
		if (probe->cost == PROBE_COST_FAST &&
		    inspect_code_only_compares(file->fd, entry, probe->slide))
			entry = probe->entry.offset;
		else
			entry += inspect_code_branch_target_size(file->fd, entry);
	}
	entry += inspect_code_passed_size(file->fd, entry);
	ends = !inspect->options.no_end && has_exits(image, file, f, entry);
	plan.is_go = probe->is_go && has_goroutine(image, f);
	if (inspect->options.traced)
		plan.traced = inspect->options.traced->first + f->in_plan;
	plan.site = ends ? INSPECT_SITE_ENTRY : INSPECT_SITE_ALONE;
	if (inspect->options.condition)
		err = inspect_add_condition(&builder, inspect->options.condition, f->params,
					    f->value.params, why);
	if (!err)
		err = inspect_add_shown(inspect, &builder, f, why);
	if (err)
		return err;
	f->is_empty = !inspect->options.no_end && probe->at_once == PROBE_RETURNS_AT_ONCE &&
		      entry == probe->entry.offset;
	if (f->is_empty)
		inspect_add_params(&builder, f->params, f->value.params, true);
	f->entry_plan = (uint32_t)inspect->plans.count;
	f->plans = 1;
	if (!add_plan(inspect, &plan, number, probe, entry))
		return inspect_too_many(why);
	if (!inspect_add_probe(inspect, image, entry, UPROBE_ENTRY, number))
		return fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	if (ends && probe->exit == PROBE_EXIT_RETURN)
		err = add_return(inspect, image, f, number, entry,
				 plan.cfa_register != ARCH_REG_SP || plan.cfa_offset != 8, why);
	else if (ends)
		err = add_exits(inspect, image, file, f, number, why);
	if (!err && !vec_push(&inspect->functions, *f))
		err = fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	return err;
}

static int add_or_keep(struct inspect *inspect, struct inspect_image *image,
		       const struct plan_image *file, struct inspect_function *f, struct fail *why)
{
	uint32_t number = (uint32_t)inspect->functions.count;
	bool is_added = !inspect->options.traced || inspect_is_worth(inspect, f);
	int err = 0;

	if (is_added)
		err = add_function(inspect, image, file, f, why);
	else if (f->value.is_known && !vec_push(&inspect->functions, *f))
		err = -ENOMEM;
	if (!err && inspect->options.traced && f->value.is_known)
		err = inspect_keep(inspect, image, number, is_added);
	return err;
}

/* The parameters of all functions come to rest before any of them is pointed to. */
static int add_functions(struct inspect *inspect, struct inspect_image *image, uint32_t number,
			 const uint64_t *addresses, const int64_t *widths, size_t count,
			 struct fail *why)
{
	const struct plan_function *all;
	const struct plan_image *file;
	vec(struct inspect_function) found = {0};
	size_t total, images;
	int err = 0;

	all = plan_functions(inspect->plan, &total);
	file = &plan_images(inspect->plan, &images)[number];
	for (size_t i = 0; i < file->functions.count && !err; i++) {
		const struct plan_function *one = &all[file->first + i];
		struct inspect_function f = {
			.probe = one->probe,
			.name = one->probe->name,
			.image = number,
			.in_plan = file->first + (uint32_t)i,
			.go_width = -1,
		};
		const uint64_t *at;

		if (!is_wanted(inspect, one))
			continue;
		at = bsearch(&one->probe->address, addresses, count, sizeof(*addresses),
			     compare_addresses);
		if (at)
			f.go_width = widths[at - addresses];
		if (image->has_dwarf && at && image->values.functions)
			f.value = image->values.functions[at - addresses];
		if (!f.value.is_known && !add_words(image, &f))
			err = -ENOMEM;
		if (!err && !vec_push(&found, f))
			err = -ENOMEM;
	}
	vec_foreach (&found, f) {
		if (err)
			break;
		if (f->value.params)
			f->params = image->values.params.at + f->value.first_param;
		if (f->value.is_known)
			place_params(image, f, f->params);
		err = add_or_keep(inspect, image, file, f, why);
		if (err)
			free(f->parts);
	}
	vec_free(&found);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot inspect") : err;
}

static bool is_go_file(const struct plan_image *file)
{
	const struct symbol_image image = {.fd = file->fd, .path = file->path, .root = file->root};

	return probe_is_go(&image);
}

int inspect_add_image(struct inspect *inspect, uint32_t number, struct fail *why)
{
	const struct plan_function *all;
	const struct plan_image *file;
	struct inspect_image image = {0};
	vec(uint64_t) addresses = {0};
	int64_t *widths = NULL;
	size_t total, images, kept = 0;
	bool is_go = false;
	int err = 0;

	all = plan_functions(inspect->plan, &total);
	file = &plan_images(inspect->plan, &images)[number];
	for (size_t i = 0; i < file->functions.count && !err; i++) {
		if (!is_wanted(inspect, &all[file->first + i]))
			continue;
		is_go |= all[file->first + i].probe->is_go;
		if (!vec_push(&addresses, all[file->first + i].probe->address))
			err = fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	}
	if (addresses.count)
		qsort(addresses.at, addresses.count, sizeof(*addresses.at), compare_addresses);
	for (size_t i = 0; i < addresses.count; i++)
		if (!kept || addresses.at[kept - 1] != addresses.at[i])
			addresses.at[kept++] = addresses.at[i];
	if (inspect->options.place_count)
		is_go |= is_go_file(file);
	widths = malloc((kept + 1) * sizeof(*widths));
	if (!err && !widths)
		err = fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	for (size_t i = 0; i < kept && !err; i++)
		widths[i] = -1;
	if (!err && is_go)
		learn_go(&image, file->fd, addresses.at, kept, widths);
	if (!err && (kept || inspect->options.place_count))
		err = read_values(inspect, file, addresses.at, kept, is_go, &image);
	if (!err && kept)
		err = add_functions(inspect, &image, number, addresses.at, widths, kept, why);
	/* all parameters are at rest */
	if (!err)
		err = inspect_add_lines(inspect, &image, file, number, why);
	if (!err && !vec_push(&inspect->images, image))
		err = fail_errno(why, -ENOMEM, NULL, "cannot inspect");
	if (err)
		values_free(&image.values);
	vec_free(&addresses);
	free(widths);
	return err;
}
