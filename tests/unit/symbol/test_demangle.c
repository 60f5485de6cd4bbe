// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void names(void **state)
{
	static const struct {
		const char *mangled, *expected;
	} cases[] = {
		{"main", "main"},
		{"", ""},
		{"_", "_"},
		{"_Z", "_Z"},
		{"_R", "_R"},
		{"_Zebra", "_Zebra"},
		{"_ZN2ns1fIiEEvc", "ns::f<int>(char)"},
		{"_ZNK3foo3barEv", "foo::bar() const"},
		{"_ZN3fooC2ERKS_", "foo::foo(foo const&)"},
		{"_ZSt4sortIPiEvT_S1_", "std::sort<int*>(int*, int*)"},
		{"_ZTV3foo", "vtable for foo"},
		/* D: back references are written out; what only looks like it stays */
		{"_Dmain", "D main"},
		{"_D1d__T3BoxTiZQh3mixMFNaNbNiNfmZm", "d.Box!(int).Box.mix(ulong)"},
		{"_D4core8internal2gc4impl12conservativeQw3Gcx__"
		 "T4markVbi0Vbi0Vbi0ZQsMFNbNiNlSQCwQCuQCoQCoQCmQCxQCc"
		 "__T9ScanRangeVbi0ZQpZv",
		 "core.internal.gc.impl.conservative.gc.Gcx.mark!(false, false, false)"
		 ".mark(core.internal.gc.impl.conservative.gc.Gcx.ScanRange!(false).ScanRange)"},
		{"_Dfoo", "_Dfoo"},
		{"_D", "_D"},
		{"_D3foo", "_D3foo"},
		/* names of Ada and Swift stay as they are: in C, my__name is not a package */
		{"ada__text_io__put_line", "ada__text_io__put_line"},
		{"$s4main3fooyyF", "$s4main3fooyyF"},
		{"_ZThn8_N3foo3barEv", "non-virtual thunk to foo::bar()"},
		{"_GLOBAL__I__ZN3fooE", "global constructors keyed to foo"},
		{"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
		/* clones keep what they are */
		{"_ZN3foo3barEv.isra.0", "foo::bar() [clone .isra.0]"},
		{"_ZN3foo3barEv.part.1.cold", "foo::bar() [clone .part.1] [clone .cold]"},
		{"parse.constprop.0", "parse.constprop.0"},
		/* versions and stubs */
		{"_ZN3foo3barEv@V1", "foo::bar()@V1"},
		{"_ZN3foo3barEv@plt", "foo::bar()@plt"},
		{"read@plt", "read@plt"},
		/* Rust as it was: without the hash */
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		 "17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.12345678",
		 "core::fmt::Formatter::pad"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h46f52f3300121197E."
		 "llvm.11605848484641009682",
		 "std::rt::lang_start::{{closure}}"},
		{"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$"
		 "17h46e057bda65bf551E",
		 "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
		{"_ZN4rust6shapes17Pair$LT$A$C$B$GT$5visit17h9ef869ea2735e6ceE",
		 "rust::shapes::Pair<A,B>::visit"},
		/* and as it is: v0 */
		{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
		{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
		{"_RNCNvCs1234_7mycrate4main0B3_", "mycrate::main::{closure#0}"},
		{"_RNvMCs1234_7mycrateINtB2_3FoopE3bar", "<mycrate::Foo<_>>::bar"},
		{"_RNvC4rust3foo.llvm.12005663671013304385", "rust::foo"},
		{"_RNvCs1234_7mycrateu8gdel_5qa", "mycrate::g\xc3\xb6"
						  "del"},
		{"_RNSNvYNCINvNtCsdyIG5SqMl5y_3std2rt10lang_startuE0INtNtNtCs6IL9ONYDOZW_"
		 "4core3ops8function"
		 "6FnOnceuE9call_once6vtableCsf3wKYa3P19e_4rust",
		 "<std::rt::lang_start<()>::{closure#0} as "
		 "core::ops::function::FnOnce<()>>::call_once::"
		 "{shim:vtable#0}"},
		{"_RINvMs0_NtCsd2986VS0pFC_4rust6shapesINtB6_4PairNtB6_6SquarehE5visitNCNvB8_"
		 "10all_shapess0_0EB8_",
		 "<rust::shapes::Pair<rust::shapes::Square, "
		 "u8>>::visit::<rust::all_shapes::{closure#2}>"},
		{"_RNvXs_NvNtCs6IL9ONYDOZW_4core6future14from_generatorINtB4_"
		 "9GenFutureNCNvC4rust6middle0"
		 "ENtNtB6_6future6Future4poll",
		 "<core::future::from_generator::GenFuture<rust::middle::{closure#0}> as "
		 "core::future::future::Future>::poll"},
		/* no names of anything, despite their looks */
		{"_ZN3fooE\xff\xfe", "_ZN3fooE\xff\xfe"},
		{"java.lang.String::hashCode", "java.lang.String::hashCode"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = symbol_demangle(cases[i].mangled);

		assert_non_null(text);
		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each parameter is a pair of the one before: 60 of them would be 2^60 words. */
static void explosion(void **state)
{
	double begin = seconds();
	char name[2048] = "_Z1fSt4pairIiiE", *text;
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	for (size_t i = 1; i < 30; i++) {
		char part[32], s[8];

		/* S_ is "std::pair", S0_ "std::pair<int, int>", each one adds one */
		s[0] = 'S';
		s[1] = digits[i - 1];
		s[2] = '_';
		s[3] = 0;
		strcpy(part, "S_I");
		strcat(part, s);
		strcat(part, s);
		strcat(part, "E");
		strcat(name, part);
	}
	text = symbol_demangle(name);
	assert_non_null(text);
	assert_int_equal(strlen(text), 4096 + 3);
	assert_string_equal(text + 4096, "...");
	assert_memory_equal(text, "f(std::pair<int, int>, std::pair<std::pair<int, int>", 52);
	free(text);
	assert_true(seconds() - begin < 1);
}

/* The same in D: each parameter is an array of the one before by the one before. */
static void explosion_of_d(void **state)
{
	double begin = seconds();
	char name[2048] = "_D1fFHii", *text;

	(void)state;
	strcat(name, "HQeQg");
	for (size_t i = 0; i < 60; i++)
		strcat(name, "HQgQi");
	strcat(name, "Zv");
	text = symbol_demangle(name);
	assert_non_null(text);
	assert_string_equal(text, name);
	free(text);
	text = symbol_demangle("_D1fFHiiHQeQgHQgQiZv");
	assert_non_null(text);
	assert_string_equal(text, "f(int[int], int[int][int[int]], "
				  "int[int][int[int]][int[int][int[int]]])");
	free(text);
	text = symbol_demangle_short("_D1d__T3BoxTiZQh3mixMFNaNbNiNfmZm");
	assert_non_null(text);
	assert_string_equal(text, "d.Box!(int).Box.mix");
	free(text);
	assert_true(seconds() - begin < 1);
}

/* Names of many kilobytes, and nested as deep as they are long. */
static void long_names(void **state)
{
	static const char *const nests[] = {"P", "K",	 "1aI",	 "N1a", "Dp",
					    "F", "XnxL", "DTnt", "A_"};
	static const char *const nests_of_d[] = {"P", "A", "xG1", "Hi", "DFM", "__T1aT", "Qb"};
	char *name = malloc(70000), *text;
	size_t length;

	(void)state;
	assert_non_null(name);
	/* a template name as boost makes them: 3 KB, demangled whole */
	strcpy(name, "_Z1fI");
	for (int i = 0; i < 300; i++)
		strcat(name, "8iterator");
	strcat(name, "EvT_");
	text = symbol_demangle(name);
	assert_non_null(text);
	assert_memory_equal(text, "f<iterator, iterator", 20);
	assert_true(strlen(text) > 3000);
	free(text);

	for (size_t i = 0; i < sizeof(nests) / sizeof(nests[0]); i++) {
		for (size_t size = 1000; size < 60000; size = size * 3 / 2) {
			strcpy(name, "_Z1f");
			for (length = 4; length < size; length += strlen(nests[i]))
				strcpy(name + length, nests[i]);
			strcpy(name + length, "i");
			text = symbol_demangle(name);
			assert_non_null(text);
			assert_true(strlen(text) <= 4096 + 3);
			free(text);
		}
	}
	for (size_t i = 0; i < sizeof(nests_of_d) / sizeof(nests_of_d[0]); i++) {
		for (size_t size = 500; size < 60000; size = size * 3 / 2) {
			strcpy(name, "_D1f");
			for (length = 4; length < size; length += strlen(nests_of_d[i]))
				strcpy(name + length, nests_of_d[i]);
			strcpy(name + length, "i");
			text = symbol_demangle(name);
			assert_non_null(text);
			assert_true(strlen(text) <= 4096 + 3);
			free(text);
		}
	}
	/* a long name that is not mangled is cut */
	memset(name, 'x', 69999);
	name[69999] = 0;
	text = symbol_demangle(name);
	assert_non_null(text);
	assert_int_equal(strlen(text), 4096 + 3);
	free(text);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(explosion),
		cmocka_unit_test(explosion_of_d),
		cmocka_unit_test(long_names),
	};

	return cmocka_run_group_tests_name("symbol-demangle", tests, NULL, NULL);
}
