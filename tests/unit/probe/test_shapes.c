// SPDX-License-Identifier: Apache-2.0
/*
 * Types of C++'s library to their shapes: of a program that two compilers have made, one of which
 * leaves the parameters of templates out of their names.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look.h"
#include "probe/shapes.h"
#include "probe/values_reader.h"

static const char *const programs[] = {"LIBRARIES_GCC", "LIBRARIES_CLANG"};

/* What is known of one function of a program. */
struct known {
	struct look look;
	struct values values;
};

static void know(struct known *k, const char *path, const char *function)
{
	const struct probe_question question = {.own = true};
	struct values_wanted wanted = {.count = 1};
	const struct probe_function *found;
	struct fail why = {0};
	int err;

	look_at(&k->look, path, &question, function);
	found = look_for(&k->look, function);
	assert_non_null(found);
	wanted.addresses = &found->address;
	err = values_of_image(k->look.symbols, &k->look.image, &wanted, &k->values, &why);
	if (err)
		fail_print(&why);
	assert_int_equal(err, 0);
	assert_true(k->values.functions[0].is_known);
}

static void forget(struct known *k)
{
	values_free(&k->values);
	look_away(&k->look);
}

/* The type that a parameter refers to. */
static const struct value_type *type_of(const struct known *k, const char *name)
{
	const struct value_function *f = &k->values.functions[0];

	for (uint32_t i = 0; i < f->params; i++) {
		const struct value_param *param = &k->values.params.at[f->first_param + i];

		if (param->name && !strcmp(param->name, name))
			return values_type(&k->values,
					   values_type(&k->values, param->type)->target);
	}
	fail_msg("no parameter %s", name);
	return NULL;
}

static void check_part(const struct known *k, const struct value_shape *shape, uint32_t i,
		       uint64_t offset, const char *name)
{
	const struct value_part *part = &k->values.parts.at[shape->first_part + i];
	const struct value_type *type = values_type(&k->values, part->type);

	assert_true(i < shape->parts);
	assert_int_equal(part->offset, offset);
	assert_non_null(type);
	assert_string_equal(*type->brief ? type->brief : type->name, name);
}

static void test_one_of_several_and_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const struct value_shape *shape;
		const struct value_type *type;
		struct known k = {0};

		know(&k, getenv(programs[i]), "choices");
		type = type_of(&k, "v");
		shape = value_shape_of(&k.values, type);
		assert_int_equal(shape->kind, SHAPE_CHOICE);
		assert_int_equal(shape->parts, 3);
		assert_int_equal(shape->length_size, 1);
		assert_int_equal(shape->length_at, 32);
		check_part(&k, shape, 0, 0, "int");
		check_part(&k, shape, 1, 0, "string");
		check_part(&k, shape, 2, 0, "both");
		assert_string_equal(type->brief, "variant");
		assert_non_null(strstr(type->name, "variant<int, "));
		assert_non_null(strstr(type->name, ", both>"));

		type = type_of(&k, "t");
		shape = value_shape_of(&k.values, type);
		assert_int_equal(shape->kind, SHAPE_TUPLE);
		assert_int_equal(shape->parts, 3);
		check_part(&k, shape, 0, 16, "char");
		check_part(&k, shape, 1, 8, "double");
		check_part(&k, shape, 2, 0, "int");
		assert_string_equal(type->bare, "tuple<char, double, int>");
		forget(&k);
	}
}

static void test_elements_that_no_member_leads_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const struct value_shape *shape;
		const struct value_type *element;
		struct known k = {0};

		know(&k, getenv(programs[i]), "lists");
		shape = value_shape_of(&k.values, type_of(&k, "l"));
		element = values_type(&k.values, shape->element);
		assert_int_equal(shape->kind, SHAPE_CHAIN);
		assert_true(shape->has_length);
		assert_int_equal(shape->behind, 16);
		assert_non_null(element);
		assert_string_equal(element->name, "both");

		shape = value_shape_of(&k.values, type_of(&k, "m"));
		element = values_type(&k.values, shape->element);
		assert_int_equal(shape->kind, SHAPE_TREE);
		assert_true(shape->is_pairs);
		assert_int_equal(shape->behind, 32);
		assert_non_null(element);
		assert_non_null(values_member(&k.values, element, "second"));

		shape = value_shape_of(&k.values, type_of(&k, "b"));
		assert_int_equal(shape->kind, SHAPE_BITS);
		assert_int_equal(shape->length_size, 4);

		shape = value_shape_of(&k.values, type_of(&k, "s"));
		assert_int_equal(shape->kind, SHAPE_LIST);
		assert_int_equal(shape->count, 7);
		forget(&k);
	}
}

static void test_other_namespaces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct known k = {0};

		know(&k, getenv(programs[i]), "others");
		assert_string_equal(type_of(&k, "v")->bare, "vector<int>");
		assert_int_equal(value_shape_of(&k.values, type_of(&k, "v"))->kind, SHAPE_PLAIN);
		assert_int_equal(value_shape_of(&k.values, type_of(&k, "f"))->kind, SHAPE_FUNCTION);
		forget(&k);
	}
}

/* -- what no compiler says --------------------------------------------------------------------- */

static void say(struct buf *to, enum value_kind kind, uint64_t size, uint32_t flags,
		const char *bare)
{
	const uint64_t numbers[] = {kind, size, 0, 0, flags, 0};

	buf_put_u8(to, VALUES_SAID_TYPE);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf_put_varint(to, numbers[i]);
	buf_put(to, "name", sizeof("name"));
	buf_put(to, bare, strlen(bare) + 1);
	buf_put_u8(to, 0);
}

static void say_member(struct buf *to, const char *name, uint64_t type)
{
	buf_put(to, name, strlen(name) + 1);
	values_say_signed(to, 0);
	buf_put_varint(to, type);
	for (int i = 0; i < 3; i++)
		buf_put_u8(to, 0);
}

/* One that has itself as one of its values: it is not looked into. */
static void test_a_variant_within_itself(void **state)
{
	struct values values = {0};
	struct fail why = {0};

	(void)state;
	say(&values.text, VALUE_STRUCT, 16, VALUE_FLAG_LIBRARY, "variant<x>");
	buf_put_varint(&values.text, 2);
	say_member(&values.text, "_M_u", 2);
	say_member(&values.text, "_M_index", 2);
	buf_put_varint(&values.text, 1);
	buf_put_varint(&values.text, 1);
	values_say_signed(&values.text, 0);
	say(&values.text, VALUE_UINT, 1, 0, "");
	buf_put_varint(&values.text, 0);
	buf_put_varint(&values.text, 0);
	buf_put_u8(&values.text, VALUES_SAID_END);
	buf_put_varint(&values.text, 0);
	buf_put_varint(&values.text, 0);
	assert_int_equal(values_parse(&values, 0, 0, &why), 0);
	assert_int_equal(values.types.count, 2);
	assert_int_equal(values.types.at[0].kind, VALUE_UNKNOWN);
	assert_int_equal(value_shape_of(&values, &values.types.at[0])->kind, SHAPE_PLAIN);
	values_free(&values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_several_and_parts),
		cmocka_unit_test(test_elements_that_no_member_leads_to),
		cmocka_unit_test(test_other_namespaces),
		cmocka_unit_test(test_a_variant_within_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
