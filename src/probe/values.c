// SPDX-License-Identifier: Apache-2.0
#include "probe/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/shapes.h"
#include "symbol/sandbox_child.h"

/* What the child may take: DWARF of large programs is 1 GB, of which libdw maps what it needs. */
static const struct sandbox_limits limits = {(size_t)2 << 30, 60};

#define MEMBERS_MAX (1u << 20)
#define PARAMS_MAX  (1u << 20)
/* Of one template. */
#define ARGUMENTS_MAX 64u

static bool read_member(struct values *values, struct bytes *b)
{
	struct value_member member = {.name = bytes_text(b)};
	uint64_t type;

	member.offset = (uint64_t)bytes_svarint(b);
	type = bytes_varint(b);
	member.bits = bytes_u8(b);
	member.bit_at = bytes_u8(b);
	member.is_base = bytes_u8(b);
	if (type > VALUES_TYPES_MAX || member.bits > 64 || member.bit_at > 64)
		return false;
	member.type = type ? (uint32_t)type - 1 : VALUE_NO_TYPE;
	return !b->failed && values->members.count < MEMBERS_MAX &&
	       vec_push(&values->members, member);
}

static bool read_argument(struct values *values, struct bytes *b)
{
	uint64_t type = bytes_varint(b);
	struct value_argument argument = {.number = bytes_svarint(b)};

	if (b->failed || type > VALUES_TYPES_MAX || values->arguments.count >= MEMBERS_MAX)
		return false;
	argument.type = type ? (uint32_t)type - 1 : VALUE_NO_TYPE;
	return vec_push(&values->arguments, argument);
}

static bool read_type(struct values *values, struct bytes *b)
{
	struct value_type type = {0};
	uint64_t kind = bytes_varint(b), target, flags, members, arguments;

	type.size = bytes_varint(b);
	target = bytes_varint(b);
	type.count = bytes_varint(b);
	flags = bytes_varint(b);
	type.runtime_type = bytes_varint(b);
	type.name = bytes_text(b);
	type.bare = bytes_text(b);
	type.brief = bytes_text(b);
	members = bytes_varint(b);
	if (b->failed || kind >= VALUE_KINDS || target > VALUES_TYPES_MAX || flags > UINT32_MAX ||
	    members > MEMBERS_MAX || values->types.count >= VALUES_TYPES_MAX)
		return false;
	type.kind = (enum value_kind)kind;
	type.flags = (uint32_t)flags;
	type.target = target ? (uint32_t)target - 1 : VALUE_NO_TYPE;
	type.first_member = (uint32_t)values->members.count;
	type.members = (uint32_t)members;
	for (uint64_t i = 0; i < members; i++)
		if (!read_member(values, b))
			return false;
	arguments = bytes_varint(b);
	if (b->failed || arguments > ARGUMENTS_MAX)
		return false;
	type.first_argument = (uint32_t)values->arguments.count;
	type.arguments = (uint32_t)arguments;
	for (uint64_t i = 0; i < arguments; i++)
		if (!read_argument(values, b))
			return false;
	return vec_push(&values->types, type);
}

/* Can a place be relative to that register? */
static bool is_base(uint64_t place, uint8_t reg)
{
	switch (place) {
	case VALUE_AT_POINTER:
		return reg <= 15;
	case VALUE_BEHIND:
		return reg <= VALUE_REGISTER_CFA;
	case VALUE_SUM:
		return reg <= VALUE_REGISTER_IMAGE;
	default:
		return true;
	}
}

/* Steps have displacements of 32 bits. */
static bool is_displacement(uint64_t place, int64_t displacement)
{
	return place == VALUE_STATIC || place == VALUE_CONSTANT || place == VALUE_SUM ||
	       (displacement >= INT32_MIN && displacement <= INT32_MAX);
}

static bool read_param(struct values *values, struct bytes *b)
{
	struct value_param param = {.name = bytes_text(b)};
	uint64_t type = bytes_varint(b), place, count;

	param.is_result = bytes_u8(b);
	place = bytes_varint(b);
	param.reg = bytes_u8(b);
	param.displacement = bytes_svarint(b);
	count = bytes_varint(b);
	param.behind = bytes_svarint(b);
	param.may_be_old = bytes_u8(b);
	param.is_address = bytes_u8(b);
	if (b->failed || type > VALUES_TYPES_MAX || place >= VALUE_PLACES ||
	    count > VALUES_PIECES_MAX || !is_base(place, param.reg) ||
	    !is_displacement(place, param.displacement) || !is_displacement(place, param.behind))
		return false;
	param.type = type ? (uint32_t)type - 1 : VALUE_NO_TYPE;
	param.place = (enum value_place)place;
	for (; param.count < count; param.count++) {
		uint64_t offset = bytes_varint(b), size = bytes_varint(b);
		uint8_t reg = bytes_u8(b);

		if (b->failed || offset > 4096 || size > 4096 ||
		    (reg > 15 && reg != VALUE_REGISTER_FLOAT))
			return false;
		param.piece[param.count] =
			(struct value_piece){(uint16_t)offset, (uint16_t)size, reg};
	}
	return values->params.count < PARAMS_MAX && vec_push(&values->params, param);
}

static bool read_function(struct values *values, struct bytes *b)
{
	uint64_t index = bytes_varint(b), language = bytes_varint(b), params;
	struct value_function function = {.is_known = true};
	uint8_t flags;
	int64_t offset;

	flags = bytes_u8(b);
	function.is_external = flags & VALUES_EXTERNAL;
	function.is_optimised = flags & VALUES_OPTIMISED;
	function.is_changed = flags & VALUES_CHANGED;
	function.is_mangled = flags & VALUES_MANGLED;
	function.keeps_result = flags & VALUES_KEEPS_RESULT;
	function.rust = (uint32_t)bytes_varint(b);
	function.attach = bytes_varint(b);
	function.cfa_register = bytes_u8(b);
	offset = bytes_svarint(b);
	params = bytes_varint(b);
	if (b->failed || index >= values->function_count || language >= VALUE_LANGUAGES ||
	    function.cfa_register > 15 || offset < -(1 << 20) || offset > 1 << 20 ||
	    params > PARAMS_MAX)
		return false;
	function.language = (enum value_language)language;
	function.cfa_offset = (int32_t)offset;
	function.first_param = (uint32_t)values->params.count;
	function.params = (uint32_t)params;
	for (uint64_t i = 0; i < params; i++)
		if (!read_param(values, b))
			return false;
	values->functions[index] = function;
	return true;
}

static bool read_site(struct values *values, size_t lines, struct bytes *b)
{
	uint64_t line = bytes_varint(b), language = bytes_varint(b), params;
	struct value_site site = {0};
	uint8_t flags = bytes_u8(b);
	int64_t offset;

	site.is_refused = flags & VALUES_SITE_REFUSED;
	site.has_cfa = flags & VALUES_SITE_HAS_CFA;
	site.is_optimised = flags & VALUES_SITE_OPTIMISED;
	site.file = bytes_text(b);
	site.function = bytes_text(b);
	site.into = bytes_text(b);
	site.address = bytes_varint(b);
	site.cfa_register = bytes_u8(b);
	offset = bytes_svarint(b);
	params = bytes_varint(b);
	if (b->failed || line >= lines || language >= VALUE_LANGUAGES || site.cfa_register > 15 ||
	    offset < -(1 << 20) || offset > 1 << 20 || params > PARAMS_MAX ||
	    values->sites.count >= VALUES_SITES_MAX)
		return false;
	site.line = (uint32_t)line;
	site.language = (enum value_language)language;
	site.cfa_offset = (int32_t)offset;
	site.first_param = (uint32_t)values->params.count;
	site.params = (uint32_t)params;
	for (uint64_t i = 0; i < params; i++)
		if (!read_param(values, b))
			return false;
	return vec_push(&values->sites, site);
}

static bool read_near(struct values *values, size_t lines, struct bytes *b)
{
	uint64_t line = bytes_varint(b);
	struct value_near near = {.line = (uint32_t)line, .has_file = bytes_u8(b)};

	near.before = (uint32_t)bytes_varint(b);
	near.after = (uint32_t)bytes_varint(b);
	return !b->failed && line < lines && values->near.count < lines &&
	       vec_push(&values->near, near);
}

/* Parts that a value can have, with those of its parts; what has more is not looked into. */
#define PARTS_MAX 4096u
/* Of an array, at most this many elements count: no more are shown. */
#define ELEMENTS_MAX 64u
#define NESTED_MAX   32

/* A type that contains itself is none that a compiler has made. */
#define IN_THE_WORKS UINT32_MAX

/* How many parts a value of the type has, itself among them; 0 in *parts: not known yet. */
static uint32_t count_parts(struct values *values, uint32_t number, uint32_t *parts, int depth)
{
	struct value_type *type;
	uint32_t arguments;
	uint64_t sum = 1;

	if (number >= values->types.count)
		return 1;
	type = &values->types.at[number];
	if (parts[number] == IN_THE_WORKS || depth == NESTED_MAX)
		return PARTS_MAX + 1;
	if (parts[number])
		return parts[number];
	parts[number] = IN_THE_WORKS;
	arguments = shape_holds_arguments(type) ? type->arguments : 0;
	if (type->kind == VALUE_STRUCT || type->kind == VALUE_UNION ||
	    type->kind == VALUE_VARIANT) {
		for (uint32_t i = 0; i < type->members && sum <= PARTS_MAX; i++)
			sum += count_parts(values, values->members.at[type->first_member + i].type,
					   parts, depth + 1);
		/* values of these types are in it that are not its members */
		for (uint32_t i = 0; sum <= PARTS_MAX && i < arguments; i++)
			sum += count_parts(values,
					   values->arguments.at[type->first_argument + i].type,
					   parts, depth + 1);
	} else if (type->kind == VALUE_ARRAY) {
		uint64_t count = type->count < ELEMENTS_MAX ? type->count : ELEMENTS_MAX;

		sum += count * count_parts(values, type->target, parts, depth + 1);
	}
	if (sum > PARTS_MAX) {
		type->kind = VALUE_UNKNOWN;
		type->members = 0;
		sum = 1;
	}
	return parts[number] = (uint32_t)sum;
}

/* So that every loop over all parts of a value comes to an end soon. */
static int bound_types(struct values *values)
{
	uint32_t *parts = calloc(values->types.count + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < values->types.count; i++)
		count_parts(values, i, parts, 0);
	free(parts);
	return 0;
}

/* Numbers of types were taken on trust so far. */
static void check_types(struct values *values)
{
	size_t count = values->types.count;

	vec_foreach (&values->types, type)
		if (type->target >= count)
			type->target = VALUE_NO_TYPE;
	vec_foreach (&values->members, member)
		if (member->type >= count)
			member->type = VALUE_NO_TYPE;
	vec_foreach (&values->params, param)
		if (param->type >= count)
			param->type = VALUE_NO_TYPE;
	vec_foreach (&values->arguments, argument)
		if (argument->type >= count)
			argument->type = VALUE_NO_TYPE;
}

static int index_types(struct values *values)
{
	for (uint32_t i = 0; i < values->types.count; i++) {
		uint64_t address = values->types.at[i].runtime_type;

		if (address && !map_get(&values->runtime_types, address) &&
		    !map_put(&values->runtime_types, address, i))
			return -ENOMEM;
	}
	return 0;
}

uint32_t values_by_runtime_type(const struct values *values, uint64_t address)
{
	const uint64_t *number = address ? map_get(&values->runtime_types, address) : NULL;

	return number ? (uint32_t)*number : VALUE_NO_TYPE;
}

static int compare_sites(const void *a, const void *b)
{
	const struct value_site *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

int values_parse(struct values *values, size_t count, size_t lines, struct fail *why)
{
	struct bytes b = buf_bytes(&values->text);
	int err = -ECHILD;
	bool good = true;

	values->functions = calloc(count + 1, sizeof(*values->functions));
	if (!values->functions)
		return fail_errno(why, -ENOMEM, NULL, "reading DWARF");
	values->function_count = count;
	while (good && bytes_left(&b)) {
		switch (bytes_u8(&b)) {
		case VALUES_SAID_TYPE:
			good = read_type(values, &b);
			break;
		case VALUES_SAID_FUNCTION:
			good = read_function(values, &b);
			break;
		case VALUES_SAID_SITE:
			good = read_site(values, lines, &b);
			break;
		case VALUES_SAID_NEAR:
			good = read_near(values, lines, &b);
			break;
		case VALUES_SAID_END:
			err = -(int)(bytes_varint(&b) & 4095);
			values->cut = bytes_varint(&b);
			good = false;
			break;
		default:
			good = false;
		}
	}
	if (values->sites.count)
		qsort(values->sites.at, values->sites.count, sizeof(*values->sites.at),
		      compare_sites);
	check_types(values);
	if (bound_types(values) || index_types(values) || values_find_shapes(values))
		return fail_errno(why, -ENOMEM, NULL, "reading DWARF");
	if (err == -ECHILD)
		return fail(why, err, NULL,
			    "the DWARF needs more than %zu MiB of memory or %u s, or is broken",
			    limits.memory >> 20, limits.cpu_seconds);
	if (err == -E2BIG)
		return fail(why, err, "name fewer functions and lines at once",
			    "the DWARF has more than stackcam reads at once of what is asked for");
	return err ? fail_errno(why, err, NULL, "reading DWARF") : 0;
}

int values_of_image(struct symbols *symbols, const struct symbol_image *image,
		    const struct values_wanted *wanted, struct values *values, struct fail *why)
{
	struct values_question question = {.main_fd = image->fd, .wanted = *wanted};
	int keep[3], err;

	*values = (struct values){0};
	err = symbols_debug_info(symbols, image, &question.fd, &question.alternate_fd, why);
	if (err)
		return err;
	keep[0] = question.main_fd;
	keep[1] = question.fd;
	keep[2] = question.alternate_fd;
	err = sandbox_run(keep, 3, &limits, NULL, values_read, &question, &values->text);
	close(question.fd);
	if (question.alternate_fd >= 0)
		close(question.alternate_fd);
	if (err)
		return fail_errno(why, err, NULL, "reading the DWARF of %s",
				  image->path ? image->path : "an image");
	return values_parse(values, wanted->count, wanted->line_count, why);
}

void values_free(struct values *values)
{
	free(values->functions);
	vec_free(&values->sites);
	vec_free(&values->near);
	vec_free(&values->params);
	vec_free(&values->types);
	vec_free(&values->members);
	vec_free(&values->arguments);
	vec_free(&values->parts);
	free(values->shapes);
	buf_free(&values->text);
	map_free(&values->runtime_types);
	*values = (struct values){0};
}

const struct value_member *values_member(const struct values *values, const struct value_type *type,
					 const char *name)
{
	for (uint32_t i = 0; i < type->members; i++) {
		const struct value_member *member = &values->members.at[type->first_member + i];

		if (!strcmp(member->name, name))
			return member;
	}
	return NULL;
}

bool values_is_unnamed(const struct values *values, const struct value_member *member)
{
	const struct value_type *type = values_type(values, member->type);

	return type && !*member->name && !member->is_base && type->members &&
	       (type->kind == VALUE_STRUCT || type->kind == VALUE_UNION) &&
	       !(type->flags & VALUE_FLAG_CUT);
}

bool values_variant(const struct values *values, const struct value_type *type, uint32_t *i,
		    struct value_variant *variant)
{
	const struct value_member *members;

	*variant = (struct value_variant){0};
	if (*i >= type->members)
		return false;
	members = &values->members.at[type->first_member];
	if (members[*i].is_base) {
		variant->has_value = true;
		variant->value = members[(*i)++].offset;
	}
	if (*i >= type->members || members[*i].is_base)
		return false;
	variant->member = &members[(*i)++];
	return true;
}
