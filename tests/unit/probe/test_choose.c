// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "probe/choose.h"
#include "probe/refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbols.h"

/* A choice of patterns in the order of the command line; "!": excludes, "@": a library. */
static struct choice *make(const char *const *patterns)
{
	struct choice *choice;
	struct fail why;

	assert_int_equal(choice_new(&choice), 0);
	for (; *patterns; patterns++) {
		const char *p = *patterns;
		bool include = p[0] != '!';

		p += !include;
		if (p[0] == '@')
			assert_int_equal(choice_add_library(choice, include, p + 1, &why), 0);
		else
			assert_int_equal(choice_add_function(choice, include, p, &why), 0);
	}
	return choice;
}

#define CHOICE(...) make((const char *const[]){__VA_ARGS__, NULL})

static bool has(const struct choice *choice, const char *name)
{
	return choice_has(choice, name, name, NULL);
}

static void test_empty(void **state)
{
	struct choice *c = CHOICE(NULL);

	(void)state;
	assert_true(has(c, "f"));
	assert_true(choice_has(c, "f", "f", "libc.so.6"));
	choice_free(c);
	choice_free(NULL);
}

static void test_order(void **state)
{
	struct choice *c = CHOICE("parse_*", "!parse_line", "parse_line_end");

	(void)state;
	assert_true(has(c, "parse_order"));
	assert_false(has(c, "parse_line"));
	assert_true(has(c, "parse_line_end"));
	assert_false(has(c, "other"));
	choice_free(c);

	/* the first one excludes: all others are meant */
	c = CHOICE("!parse_*", "parse_order");
	assert_true(has(c, "other"));
	assert_false(has(c, "parse_line"));
	assert_true(has(c, "parse_order"));
	choice_free(c);

	/* the last one decides, regardless of those before */
	c = CHOICE("!f", "f");
	assert_true(has(c, "f"));
	choice_free(c);
	c = CHOICE("f", "!*");
	assert_false(has(c, "f"));
	choice_free(c);
}

static void test_names(void **state)
{
	struct choice *c = CHOICE("ns::map<int, ns::list<int> >::get");
	const char *symbol = "_ZN2ns3mapIiNS_4listIiEEE3getEv";

	(void)state;
	assert_true(choice_has(c, "ns::map<int, ns::list<int> >::get", symbol, NULL));
	assert_true(choice_has(c, "ns::map<int,ns::list<int>>::get", symbol, NULL));
	assert_false(choice_has(c, "ns::map<int, ns::list<int> >::got", symbol, NULL));
	choice_free(c);

	c = CHOICE("_ZN2ns3map*", "operator new");
	assert_true(choice_has(c, "ns::map<int>::get", symbol, NULL));
	assert_true(has(c, "operator new"));
	assert_false(has(c, "operatornew"));
	choice_free(c);

	/* longer than what is kept on the stack */
	char name[2000];

	memset(name, 'x', sizeof(name));
	memcpy(name + 500, ", ", 2);
	name[sizeof(name) - 1] = 0;
	c = CHOICE("x*,x*x");
	assert_true(has(c, name));
	choice_free(c);
}

static void test_regex(void **state)
{
	struct choice *c = CHOICE("re:^(read|write)_[0-9]+$");

	(void)state;
	assert_true(has(c, "read_12"));
	assert_false(has(c, "read_"));
	assert_false(has(c, "xread_1"));
	choice_free(c);
}

static void test_libraries(void **state)
{
	struct choice *c = CHOICE("malloc@libc*");

	(void)state;
	assert_true(choice_has(c, "malloc", "malloc", "libc.so.6"));
	assert_false(choice_has(c, "malloc", "malloc", "libjemalloc.so.2"));
	assert_false(choice_has(c, "malloc", "malloc", ""));
	assert_false(has(c, "malloc"));
	assert_false(choice_has(c, "free", "free", "libc.so.6"));
	choice_free(c);

	c = CHOICE("work", "@libz*", "!inflate*");
	assert_true(has(c, "work"));
	assert_false(has(c, "play"));
	assert_true(choice_has(c, "crc32", "crc32", "libz.so.1"));
	assert_false(choice_has(c, "inflateInit_", "inflateInit_", "libz.so.1"));
	assert_false(choice_has(c, "read", "read", "libc.so.6"));
	choice_free(c);

	c = CHOICE("!@libc*");
	assert_true(has(c, "work"));
	assert_false(choice_has(c, "read", "read", "libc.so.6"));
	choice_free(c);
}

static void test_wrong(void **state)
{
	static const char *const wrong[] = {"", "re:", "re:(", "@libc", "f@", "re:a{99999}"};
	struct choice *c;
	struct fail why;

	(void)state;
	assert_int_equal(choice_new(&c), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		why.what[0] = 0;
		assert_int_equal(choice_add_function(c, true, wrong[i], &why), -EINVAL);
		assert_true(why.what[0]);
	}
	assert_int_equal(choice_add_library(c, true, "", &why), -EINVAL);
	choice_free(c);
}

static void test_refusals(void **state)
{
	(void)state;
	assert_int_equal(refusal_by_name("_start", false), PROBE_REFUSED_START);
	assert_int_equal(refusal_by_name("vfork", false), PROBE_REFUSED_TWICE);
	assert_int_equal(refusal_by_name("_dl_runtime_resolve", false), PROBE_REFUSED_LOADER);
	assert_int_equal(refusal_by_name("f.cold", false), PROBE_REFUSED_PART);
	assert_int_equal(refusal_by_name("f.cold.3", false), PROBE_REFUSED_PART);
	assert_int_equal(refusal_by_name("f.colder", false), PROBE_ALLOWED);
	assert_int_equal(refusal_by_name("f.part.0", false), PROBE_ALLOWED);
	assert_int_equal(refusal_by_name("runtime.gogo", false), PROBE_ALLOWED);
	assert_int_equal(refusal_by_name("runtime.gogo", true), PROBE_REFUSED_TWICE);
	assert_int_equal(refusal_by_name("__cxa_atexit", false), PROBE_ALLOWED);
	assert_int_equal(refusal_by_name("__cxa_throw", false), PROBE_REFUSED_UNWINDER);
	assert_int_equal(refusal_base_length("f.isra.0.part.1"), 1);
	assert_int_equal(refusal_base_length("f"), 1);
	assert_true(refusal_is_loader("/lib64/ld-linux-x86-64.so.2"));
	assert_false(refusal_is_loader("/usr/bin/ld"));
	assert_false(refusal_is_loader(NULL));
	for (int i = 0; i <= PROBE_REFUSED_BORDER; i++)
		assert_true(probe_refusal_words((enum probe_refusal)i)[0]);
}

static void test_what_is_pure(void **state)
{
	(void)state;
	assert_true(call_is_pure("libc.so.6", "memcpy"));
	assert_true(call_is_pure("libc.so.6", "strlen"));
	assert_true(call_is_pure("libm.so.6", "sin"));
	assert_false(call_is_pure("libc.so.6", "malloc"));
	assert_false(call_is_pure("libc.so.6", "qsort"));
	assert_false(call_is_pure("libc.so.6", "read"));
	assert_false(call_is_pure("libc.so.6", "setcontext"));
	assert_false(call_is_pure("libc.so.6", "siglongjmp"));
	assert_false(call_is_pure("libc.so.6", "sigaction"));
	assert_false(call_is_pure("libc.so.6", "memcpy_of_mine"));
	assert_false(call_is_pure("libstdc++.so.6", "_Znwm"));
	assert_false(call_is_pure("", "memcpy"));
}

/* What a choice has, it may have: by the symbol alone. */
static void check_may(const char *pattern, const char *symbol, bool may)
{
	struct choice *c = CHOICE(pattern);
	char *name = symbol_demangle_short(symbol);

	assert_non_null(name);
	if (choice_has(c, name, symbol, NULL))
		assert_true(choice_may_have(c, symbol));
	assert_int_equal(choice_may_have(c, symbol), may);
	free(name);
	choice_free(c);
}

static void test_by_symbol(void **state)
{
	struct choice *c;

	(void)state;
	check_may("f", "f", true);
	check_may("f", "g", false);
	check_may("f*", "fg", true);
	check_may("f?", "g", false);
	check_may("?f", "g", true);
	check_may("f", "f.part.0", true);
	check_may("main.f(int,int)", "main.f(int, int)", true);
	check_may("ns::A::get", "_ZN2ns1A3getEv", true);
	check_may("ns::A::get", "_ZN2ns1A3putEv", false);
	check_may("ns::A::get", "_ZN2ns1A3getEv.cold", true);
	check_may("ns::*", "_ZN2ns1A3getEv", true);
	check_may("ns::*", "_ZN2no1A3getEv", false);
	check_may("*::get", "_ZN2ns1A3getEv", true);
	check_may("*get*", "_ZN2no1A3putEv", true);
	check_may("std::string::assign", "_ZNSs6assignERKSs", true);
	check_may("std::string", "_ZNSsC1Ev", true);
	check_may("std::allocator<char>::allocator", "_ZNSaIcEC1Ev", true);
	check_may("*::[abc]::x", "_ZN1a1yEv", true);
	check_may("core::str::len", "_ZN4core3str3len17h0123456789abcdefE", true);
	check_may("core::str::len", "_ZN4core3str3cmp17h0123456789abcdefE", false);
	check_may("_ZN2ns1A3getEv", "_ZN2ns1A3getEv", true);
	check_may("_ZN2ns*", "_ZN2ns1A3getEv", true);
	check_may("re:x", "y", true);
	check_may("*", "y", true);
	c = CHOICE("!f");
	assert_true(choice_may_have(c, "g"));
	choice_free(c);
	c = CHOICE("f", "!g", "h");
	assert_false(choice_may_have(c, "g"));
	assert_true(choice_may_have(c, "h"));
	choice_free(c);
	c = CHOICE("f", "@libc*");
	assert_true(choice_may_have(c, "g"));
	choice_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	  cmocka_unit_test(test_order),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_regex),
		cmocka_unit_test(test_libraries), cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_refusals),  cmocka_unit_test(test_what_is_pure),
		cmocka_unit_test(test_by_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
