// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/words.h"

static void becomes(const char *name, size_t columns, const char *wanted)
{
	char *shorter = words_shorten(name, columns);

	assert_string_equal(shorter, wanted);
	free(shorter);
}

static void test_parameters_go_first(void **state)
{
	(void)state;
	becomes("f(int, char const*)", 19, "f(int, char const*)");
	becomes("f(int, char const*)", 18, "f(…)");
	becomes("a::f(std::map<int, int>) const", 20, "a::f(…) const");
	becomes("a::f(void (*)(int)) [clone .cold]", 30, "a::f(…) [clone .cold]");
	becomes("main::{lambda(int)#1}::operator()(int) const", 43,
		"main::{lambda(int)#1}::operator()(…) const");
	becomes("std::function<void (int)>::operator()(int) const", 47,
		"std::function<void (int)>::operator()(…) const");
	/* what looks like parameters and is none */
	becomes("(anonymous namespace)", 20, "(anony…us namespace)");
	becomes("a_long_name_and::operator()()", 28, "a_long_name_a…::operator()()");
}

static void test_then_arguments_of_templates(void **state)
{
	(void)state;
	becomes("std::vector<std::pair<int, int> >::at(unsigned long)", 38,
		"std::vector<…>::at(…)");
	becomes("ns::operator<< <char>(std::ostream&)", 26, "ns::operator<< <char>(…)");
	becomes("a::operator-><int>(int)", 21, "a::operator-><int>(…)");
	becomes("core::iter::map::<u8, u16, u32>::next", 30, "core::iter::map::<…>::next");
	/* in Rust, a type without a name before it is not dropped as a whole */
	becomes("<core::Range<u8> as core::Iter>::next", 36,
		"<core::Range<…> as core::Iter>::next");
	/* brackets that do not close */
	becomes("a<b::cccccccccccccccc", 20, "a<b::…ccccccccccccc");
}

static void test_then_the_middle(void **state)
{
	(void)state;
	becomes("std::__detail::_Map_base::at(…)", 24, "std::…_Map_base::at(…)");
	becomes("std::__detail::_Map_base::a_long_name", 30, "std::__detail::…::a_long_name");
	becomes("abcdefghijklmnopqrstuvwxyz", 16, "abcde…qrstuvwxyz");
	becomes("aäöüaäöüaäöüaäöüaäöü", 16, "aäöüa…öüaäöüaäöü");
	becomes("abcdefghijklmnopqrstuvwxyz", 8, "abcdefg…");
	becomes("abc", 1, "…");
	becomes("", 1, "");
}

/* Any name fits and stays UTF-8. */
static void test_any_name_fits(void **state)
{
	static const char *const pieces[] = {"<",      ">", "(", ")", "::", "operator",
					     " const", "ü", "a", "-", "[",  "x_y"};
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char name[256] = "";
		size_t columns = 1 + (size_t)round % 40, length, point_length;
		uint32_t point;
		char *shorter;

		for (int i = 0; i < round % 30; i++) {
			random = random * 1664525 + 1013904223;
			strcat(name, pieces[(random >> 16) % 12]);
		}
		shorter = words_shorten(name, columns);
		assert_true(words_width(shorter) <= columns);
		length = strlen(shorter);
		for (size_t at = 0; at < length; at += point_length) {
			point_length = text_utf8(shorter + at, length - at, &point);
			assert_true(point_length > 0);
		}
		free(shorter);
	}
}

static void function_is(const char *name, const char *file, size_t columns, const char *wanted)
{
	char *text = words_function(name, file, 12, " ?", columns);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_functions_with_lines(void **state)
{
	(void)state;
	function_is("f(int)", "", 0, "f(int) ?");
	function_is("f(int)", "/a/b/c.cc", 0, "f(int) /a/b/c.cc:12 ?");
	function_is("f(int)", "/a/b/c.cc", 21, "f(int) /a/b/c.cc:12 ?");
	function_is("f(int)", "/a/b/c.cc", 20, "f(int) c.cc:12 ?");
	function_is("ns::f(int, int, int, int)", "/a/b/c.cc", 30, "ns::f(…) c.cc:12 ?");
	/* a name keeps 16 columns */
	function_is("abcdefghijklmnopqrstuvwxyz", "/a/bbbbbbbbbbbb.cc", 10,
		    "abcde…qrstuvwxyz bbbbbbbbbbbb.cc:12 ?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters_go_first),
		cmocka_unit_test(test_then_arguments_of_templates),
		cmocka_unit_test(test_then_the_middle),
		cmocka_unit_test(test_any_name_fits),
		cmocka_unit_test(test_functions_with_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
