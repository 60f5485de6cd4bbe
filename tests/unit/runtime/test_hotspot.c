// SPDX-License-Identifier: Apache-2.0
/* HotSpot: numbers as it codes them, and names from memory that may hold anything. */
// clang-format off
// clang-format on

#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "runtime/hotspot/hotspot.h"

/* Memory in which everything is the same few bytes, or what a generator says. */
struct noise {
	uint64_t seed;
	size_t reads;
};

static int read_noise(void *context, void *to, size_t size, uint64_t address)
{
	struct noise *noise = context;
	uint8_t *out = to;
	size_t i;

	noise->reads++;
	if (address < 4096)
		return -EFAULT;
	for (i = 0; i < size; i++) {
		uint64_t x = (address + i) * 0x9e3779b97f4a7c15ull ^ noise->seed;

		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9ull;
		out[i] = noise->seed < 4 ? (uint8_t)noise->seed : (uint8_t)(x >> 56);
	}
	return 0;
}

/* All fields at small offsets, as in a real one. */
static void lay_out(struct hotspot *jvm, unsigned int version)
{
	size_t i;

	memset(jvm, 0, sizeof(*jvm));
	jvm->version = version;
	for (i = 0; i < HOTSPOT_FACT_COUNT; i++)
		jvm->facts[i] = 8 * (i % 32);
	jvm->facts[HOTSPOT_SIZE_PC_DESC] = 16;
	jvm->facts[HOTSPOT_HAS_LINES] = 1;
	if (version < 23)
		jvm->facts[HOTSPOT_NMETHOD_IMMUTABLE] = HOTSPOT_ABSENT;
	jvm->data.code_is_offset = version == 8 || version > 22;
}

static void names_of_noise_end(void **state)
{
	static const unsigned int versions[] = {8, 17, 25};
	static struct runtime_names names;
	struct hotspot jvm;
	size_t v, variant;
	uint64_t seed;

	(void)state;
	for (v = 0; v < 3; v++)
		for (seed = 0; seed < 2000; seed++)
			for (variant = 0; variant < 6; variant++) {
				struct noise noise = {seed, 0};
				struct runtime_at at = {.memory = {read_noise, &noise}};
				uint64_t words[2] = {
					UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_HOTSPOT, variant,
							    seed << 20 | 0x7f0000001000),
					seed < 4 ? 0 : seed * 0x9e3779b97f4a7c15ull};

				lay_out(&jvm, versions[v]);
				names.count = names.used = 0;
				hotspot_name(&at, &jvm, words, &names);
				assert_true(names.count <= RUNTIME_NAMES_MAX);
				assert_true(names.used <= sizeof(names.text));
				/* 64 functions, each with a table of lines of 64 KiB */
				assert_true(noise.reads < 64 * 600);
			}
}

static void numbers(void **state)
{
	static const uint8_t old_one[] = {191}, old_two[] = {192, 0},
			     old_five[] = {255, 255, 255, 255, 255}, new_one[] = {1},
			     new_two[] = {192, 1}, zero[] = {0};
	const uint8_t *s;
	uint32_t n;

	(void)state;
	s = old_one;
	assert_true(hotspot_unsigned5(&s, old_one + 1, 0, &n));
	assert_int_equal(n, 191);
	s = old_two;
	assert_true(hotspot_unsigned5(&s, old_two + 2, 0, &n));
	assert_int_equal(n, 192);
	assert_ptr_equal(s, old_two + 2);
	/* five bytes at most, however large */
	s = old_five;
	assert_true(hotspot_unsigned5(&s, old_five + 5, 0, &n));
	assert_ptr_equal(s, old_five + 5);
	s = new_one;
	assert_true(hotspot_unsigned5(&s, new_one + 1, 1, &n));
	assert_int_equal(n, 0);
	s = new_two;
	assert_true(hotspot_unsigned5(&s, new_two + 2, 1, &n));
	assert_int_equal(n, 191);
	/* zero is not a number since JDK 20; and what has no end is none */
	s = zero;
	assert_false(hotspot_unsigned5(&s, zero + 1, 1, &n));
	s = old_two;
	assert_false(hotspot_unsigned5(&s, old_two + 1, 0, &n));
}

/* A method's checksum must not stay the same when it is another one. */
static void checksums(void **state)
{
	uint64_t sum = hotspot_checksum(0x7f0000001000, 0x7f0000002000, 100, 7, 1);

	(void)state;
	assert_int_not_equal(sum, hotspot_checksum(0x7f0000001008, 0x7f0000002000, 100, 7, 1));
	assert_int_not_equal(sum, hotspot_checksum(0x7f0000001000, 0x7f0000002008, 100, 7, 1));
	assert_int_not_equal(sum, hotspot_checksum(0x7f0000001000, 0x7f0000002000, 101, 7, 1));
	assert_int_not_equal(sum, hotspot_checksum(0x7f0000001000, 0x7f0000002000, 100, 8, 1));
	assert_int_not_equal(sum, hotspot_checksum(0x7f0000001000, 0x7f0000002000, 100, 7, 2));
	assert_int_equal(sum >> 48, 0);
}

/*
 * A Symbol with its text at 6 or 8: what stands behind the text does not count, its last byte does.
 */
static void checksums_of_symbols(void **state)
{
	static const struct {
		unsigned int length_at, body_at;
	} versions[] = {{4, 6}, {0, 8}};
	size_t v;
	unsigned int length;

	(void)state;
	for (v = 0; v < 2; v++)
		for (length = 1; length <= HOTSPOT_TEXT; length++) {
			unsigned int length_at = versions[v].length_at, body = versions[v].body_at;
			struct hotspot_symbol s;
			uint8_t *bytes = (uint8_t *)s.words;
			uint64_t sum;

			memset(&s, 'a', sizeof(s));
			bytes[length_at] = (uint8_t)length;
			bytes[length_at + 1] = 0;
			sum = hotspot_add_symbol(1, &s, length_at, body);
			if (body + length < sizeof(s)) {
				bytes[body + length] = 'b';
				assert_true(sum == hotspot_add_symbol(1, &s, length_at, body));
			}
			bytes[body + length - 1] = 'b';
			assert_true(sum != hotspot_add_symbol(1, &s, length_at, body));
		}
}

/*
 * The tables of a process whose memory is noise are refused, or it is asked again later; never
 * believed.
 */
static void attaching_to_noise(void **state)
{
	const struct runtime_type *type = &runtime_hotspot;
	struct mapping mapping = {.start = 0x7f0000000000, .end = 0x7f0010000000};
	struct hotspot_image image = {.structs = 8, .types = 16, .int_constants = 24};
	uint64_t data[UNWIND_DATA_BYTES / 8];
	uint64_t seed;

	(void)state;
	mapping.bias = mapping.start;
	for (seed = 0; seed < 500; seed++) {
		struct noise noise = {seed, 0};
		struct runtime_at at = {
			.mapping = &mapping, .facts = &image, .memory = {read_noise, &noise}};
		struct fail why = {0};
		void *jvm = NULL;

		assert_int_not_equal(type->attach(&at, data, &jvm, &why), 0);
		assert_null(jvm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_noise_end), cmocka_unit_test(numbers),
		cmocka_unit_test(checksums),	      cmocka_unit_test(checksums_of_symbols),
		cmocka_unit_test(attaching_to_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
