// SPDX-License-Identifier: Apache-2.0
/*
 * What the child that reads DWARF says, and what its types make of that: steps, shapes, places by
 * the conventions. A hostile file can make the child say anything.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "probe/go_map.h"
#include "probe/shapes.h"
#include "probe/values.h"

/* A method of a generic type, which has a dictionary. */
static const struct abi_go go = {
	.name = "main.(*T[go.shape.int]).M",
	.minor = 19,
	.has_registers = true,
	.width = -1,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_variants(const struct values *values, const struct value_type *type)
{
	const struct value_member *members;
	struct value_variant variant;
	uint32_t count = 0;

	if (type->kind != VALUE_VARIANT || !type->members)
		return;
	members = &values->members.at[type->first_member];
	for (uint32_t i = 0; values_variant(values, type, &i, &variant); count++)
		check(variant.member >= members && variant.member < members + type->members &&
		      i <= type->members);
	check(count <= type->members);
}

static void check_types(const struct values *values)
{
	for (size_t i = 0; i < values->types.count; i++) {
		const struct value_type *type = &values->types.at[i];
		const struct value_shape *shape = value_shape_of(values, type);
		struct go_map map;

		check(type->kind < VALUE_KINDS && type->name && type->bare);
		check((uint64_t)type->first_member + type->members <= values->members.count);
		check(type->target == VALUE_NO_TYPE || type->target < values->types.count);
		check_variants(values, type);
		if (go_map_of(values, type, &map))
			check(values_type(values, map.key) && values_type(values, map.value) &&
			      map.size && map.size <= 4096);
		check(shape->element == VALUE_NO_TYPE || shape->element < values->types.count);
		check((uint64_t)shape->first_part + shape->parts <= values->parts.count);
		check((uint64_t)type->first_argument + type->arguments <= values->arguments.count);
	}
}

static void check_places(const struct value_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		check(params[i].count <= VALUES_PIECES_MAX);
		for (unsigned int k = 0; k < params[i].count; k++)
			check(params[i].piece[k].reg < 16 ||
			      params[i].piece[k].reg == VALUE_REGISTER_FLOAT);
		check(params[i].place < VALUE_PLACES);
	}
}

static void check_sites(const struct values *values)
{
	for (size_t i = 0; i < values->sites.count; i++) {
		const struct value_site *site = &values->sites.at[i];

		check(site->line < 4 && site->cfa_register < 16 && site->file && site->function &&
		      site->into);
		check((uint64_t)site->first_param + site->params <= values->params.count);
		check_places(values->params.at + site->first_param, site->params);
	}
	for (size_t i = 0; i < values->near.count; i++)
		check(values->near.at[i].line < 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t functions = 8;
	struct values values = {0};

	buf_put(&values.text, data, size);
	values_parse(&values, functions, 4, NULL);
	check_sites(&values);
	check_types(&values);
	for (size_t i = 0; values.functions && i < functions; i++) {
		struct value_function *f = &values.functions[i];
		struct value_param *params;

		check((uint64_t)f->first_param + f->params <= values.params.count);
		if (!f->params)
			continue;
		params = values.params.at + f->first_param;
		abi_sysv_params(&values, f, params, f->params);
		check_places(params, f->params);
		for (uint32_t k = 0; k < f->params; k++)
			abi_sysv_result(&values, f, &params[k]);
		for (uint32_t k = 0; k < f->params; k++)
			abi_rust_result(&values, f, &params[k]);
		check_places(params, f->params);
		abi_go_params(&values, params, f->params, &go);
		check_places(params, f->params);
	}
	values_free(&values);
	return 0;
}
