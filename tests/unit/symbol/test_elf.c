// SPDX-License-Identifier: Apache-2.0
/* Names from symbol tables of files that the system's compiler makes. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/vec.h"

static const char plain_source[] =
	"#include <stdio.h>\n"
	"__attribute__((noinline)) static int hidden(int x) { __asm__ volatile(\"\"); return x * "
	"3; }\n"
	"__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
	"int main(int c, char **v) { (void)v; return printf(\"%d\\n\", shown(c)) < 0; }\n";

static void static_and_global(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.c", plain_source);
	bench_run(b, "cc -O1 -o a a.c");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "hidden")), "hidden");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "shown")), "shown");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "main") + 3), "main");
	/* the last byte belongs to the function, the next one does not */
	assert_string_equal(
		bench_ask(b, "a", NULL,
			  bench_address(b, "a", "shown") + bench_size(b, "a", "shown") - 1),
		"shown");
	assert_string_equal(bench_ask(b, "a", NULL, 1), "");
	assert_string_equal(bench_ask(b, "a", NULL, UINT64_MAX), "");
	/* data is not code */
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "__data_start")), "");
}

/* Functions with free space between them, which no name covers. */
static void gaps(void **state)
{
	struct bench *b = *state;
	uint64_t end;

	bench_write(b, "a.s",
		    ".text\n.globl first,second\n.type first,@function\n.type second,@function\n"
		    "first: nop\n ret\n.size first,.-first\n .skip 100, 0x90\n"
		    "second: nop\n ret\n.size second,.-second\n .skip 50, 0x90\n");
	bench_run(b, "cc -shared -nostdlib -o a.so a.s");
	end = bench_address(b, "a.so", "first") + 2;
	assert_string_equal(bench_ask(b, "a.so", NULL, end - 1), "first");
	assert_string_equal(bench_ask(b, "a.so", NULL, end), "");
	assert_string_equal(bench_ask(b, "a.so", NULL, end + 99), "");
	assert_string_equal(bench_ask(b, "a.so", NULL, end + 100), "second");
	assert_string_equal(bench_ask(b, "a.so", NULL, end + 102), "");
	/* the same without .symtab */
	bench_run(b, "strip -o b.so a.so");
	assert_string_equal(bench_ask(b, "b.so", NULL, end - 1), "first");
	assert_string_equal(bench_ask(b, "b.so", NULL, end), "");
}

/*
 * Assembly without sizes: where it is, and in a function that begins there, up to the next symbol
 * of any kind.
 */
static void sizeless(void **state)
{
	struct bench *b = *state;
	uint64_t label, typed, sized, object;

	bench_write(b, "a.s",
		    ".text\n.globl label,typed,object\n"
		    "label: .skip 40, 0x90\n"
		    ".type typed,@function\ntyped: .skip 24, 0x90\n"
		    ".type sized,@function\nsized: .skip 16, 0x90\n.size sized,.-sized\n"
		    " .skip 32, 0x90\n"
		    ".type object,@object\nobject: .skip 0x18000, 0x90\n");
	bench_run(b, "cc -shared -nostdlib -o a.so a.s");
	label = bench_address(b, "a.so", "label");
	typed = bench_address(b, "a.so", "typed");
	sized = bench_address(b, "a.so", "sized");
	object = bench_address(b, "a.so", "object");
	assert_string_equal(bench_ask(b, "a.so", NULL, label), "label");
	assert_string_equal(bench_ask(b, "a.so", NULL, label + 39), "");
	assert_string_equal(bench_ask(b, "a.so", NULL, label + 40), "typed");
	assert_string_equal(bench_ask(b, "a.so", NULL, sized + 15), "sized");
	assert_string_equal(bench_ask(b, "a.so", NULL, sized + 16), "");
	assert_string_equal(bench_ask(b, "a.so", NULL, object), "object");
	assert_string_equal(bench_ask_start(b, "a.so", label + 39, label), "label");
	assert_string_equal(bench_ask_start(b, "a.so", label + 39, label + 1), "");
	assert_string_equal(bench_ask_start(b, "a.so", label + 39, 0), "");
	assert_string_equal(bench_ask_start(b, "a.so", label + 40, label), "");
	assert_string_equal(bench_ask_start(b, "a.so", sized - 1, typed), "typed");
	assert_string_equal(bench_ask_start(b, "a.so", sized + 17, typed), "");
	/* the size of a symbol counts */
	assert_string_equal(bench_ask_start(b, "a.so", sized + 16, sized), "");
	assert_string_equal(bench_ask_start(b, "a.so", object + 0x17fff, object), "object");
	bench_run(b, "strip -o b.so a.so");
	assert_string_equal(bench_ask(b, "b.so", NULL, label), "label");
	assert_string_equal(bench_ask_start(b, "b.so", label + 1, label), "label");
}

static void best_of_several(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.s",
		    ".text\n"
		    ".macro function name\n.type \\name,@function\n\\name:\n.endm\n"
		    ".globl wide,_wide\n.weak weak,a_weak\n"
		    "function local\nfunction weak\nfunction wide\nfunction _wide\nnop\nret\n"
		    ".size local,2\n.size weak,2\n.size wide,2\n.size _wide,2\n"
		    "function b_local\nfunction a_weak\nnop\nret\n.size b_local,2\n.size a_weak,2\n"
		    "function long_name\nfunction name\nlabel: nop\nret\n"
		    ".size long_name,2\n.size name,2\n"
		    "function big\n nop\nfunction inner\n nop\n nop\n.size inner,2\n nop\n"
		    ".size big,4\n");
	bench_run(b, "cc -shared -nostdlib -o a.so a.s");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "local")), "wide");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "b_local")),
			    "a_weak");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "long_name")),
			    "name");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "big")), "big");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "inner") + 1),
			    "inner");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "inner") + 2),
			    "big");
}

static void indirect_functions(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.c",
		    "static int fast(int x) { return x + 1; }\n"
		    "static int (*choose(void))(int) { return fast; }\n"
		    "int chosen(int) __attribute__((ifunc(\"choose\")));\n"
		    "int alone(int);\n"
		    "__asm__(\".globl alone\\n.type alone,@gnu_indirect_function\\n\"\n"
		    "        \"alone: ret\\n.size alone,1\");\n");
	bench_run(b, "cc -O1 -shared -fPIC -o a.so a.c");
	/* the symbol's value is the resolver, whose own name is more exact */
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "chosen")),
			    "choose");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "fast")), "fast");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "alone")), "alone");
}

/* All stubs of a file, as objdump names them. */
static void compare_stubs(struct bench *b, const char *file)
{
	char command[512], line[256], name[200];
	uint64_t address;
	int stubs = 0;
	FILE *objdump;

	snprintf(command, sizeof(command), "objdump -d '%s'", bench_path(b, file));
	objdump = popen(command, "r");
	assert_non_null(objdump);
	while (fgets(line, sizeof(line), objdump)) {
		/* "puts@plt-0x10" is how objdump calls the stub that all lazy ones end in */
		if (sscanf(line, "%" SCNx64 " <%199[^>]>:", &address, name) != 2 ||
		    !strstr(name, "@plt") || strcmp(strstr(name, "@plt"), "@plt"))
			continue;
		assert_string_equal(bench_ask(b, file, NULL, address), name);
		assert_string_equal(bench_ask(b, file, NULL, address + 7), name);
		stubs++;
	}
	pclose(objdump);
	assert_true(stubs >= 2);
}

static void stubs(void **state)
{
#if defined(__x86_64__)
	static const char *const options[] = {
		"",
		"-fcf-protection=full -Wl,-z,ibtplt",
		"-Wl,-z,now",
		"-static-pie -nostdlib",
		"-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt",
		"-fuse-ld=gold",
		"-fuse-ld=lld",
	};
	struct bench *b = *state;

	bench_write(b, "a.c",
		    "#include <stdio.h>\n#include <stdlib.h>\n"
		    "int main(void) { puts(\"\"); printf(\"%d\\n\", rand());\n"
		    "__cxa_finalize(0); return 0; }\n");
	bench_run(b, "sed -i '1i void __cxa_finalize(void *);' a.c");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		/* no such linker, or nothing to link against */
		if (!bench_try(b, "cc -O1 %s -o a a.c", options[i]))
			continue;
		compare_stubs(b, "a");
		bench_run(b, "strip -o a2 a && mv a2 a");
		compare_stubs(b, "a");
	}
#else
	(void)state;
	skip();
#endif
}

/*
 * What exported functions jump to through a word has their names; what they do otherwise names
 * nothing.
 */
static void jumps(void **state)
{
#if defined(__x86_64__)
	static const char *const options[] = {"-g", "-fcf-protection=full -g"};
	struct bench *b = *state;

	bench_write(
		b, "a.c",
		"static int one(void) { __asm__ volatile(\"nop\"); return 1; }\n"
		"static int two(void) { __asm__ volatile(\"nop; nop\"); return 2; }\n"
		"static int three(void) { __asm__ volatile(\"nop; nop; nop\"); return 3; }\n"
		"static int late(void) { __asm__ volatile(\"nop; nop; nop; nop\"); return 4; }\n"
		"#define HIDDEN __attribute__((used, visibility(\"hidden\")))\n"
		"HIDDEN int (*to_one)(void) = one;\n"
		"HIDDEN int (*to_two)(void) = two;\n"
		"HIDDEN int (*to_three)(void) = three;\n"
		"HIDDEN int (*to_four)(void) = late, (*to_five)(void) = late;\n"
		"HIDDEN int on;\n"
		"#define FUNCTION(f, ...) __asm__(\".globl \" #f \"; .type \" #f \", "
		"@function; \" \\\n"
		"	#f \": \" __VA_ARGS__ \"; .size \" #f \", . - \" #f)\n"
		"FUNCTION(api_one, \"cmpl $7, on(%rip); je 1f; jmp *to_one(%rip); 1: ret\");\n"
		"FUNCTION(api_two, \"movzbl %sil, %esi; jmp *to_two(%rip)\");\n"
		"FUNCTION(api_three, \"call *to_three(%rip); ret\");\n"
		"FUNCTION(api_four, \"jmp *to_four(%rip)\");\n"
		"FUNCTION(api_five, \"jmp *to_five(%rip)\");\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		uint64_t one, two, three, late;

		bench_run(b, "cc -O1 -shared -fPIC %s -o a.so a.c", options[i]);
		one = bench_address(b, "a.so", "one");
		two = bench_address(b, "a.so", "two");
		three = bench_address(b, "a.so", "three");
		late = bench_address(b, "a.so", "late");
		/* its own names are better */
		assert_string_equal(bench_ask(b, "a.so", NULL, one), "one");
		bench_run(b, "strip -o b.so a.so");
		assert_string_equal(bench_ask(b, "b.so", NULL, one), "");
		assert_string_equal(bench_ask_start(b, "b.so", one, one), "api_one");
		assert_string_equal(bench_ask_start(b, "b.so", two + 2, two), "api_two");
		assert_string_equal(bench_ask_start(b, "b.so", three + 1, three), "");
		assert_string_equal(bench_ask_start(b, "b.so", two + 2, two + 1), "");
		/* which of them was called only the caller's frame says */
		assert_string_equal(bench_ask_start(b, "b.so", late + 1, late), "");
	}
#else
	(void)state;
	skip();
#endif
}

static void versions(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.c",
		    "int old(void) { __asm__ volatile(\"nop\"); return 1; }\n"
		    "int new(void) { __asm__ volatile(\"nop; nop\"); return 2; }\n"
		    "__asm__(\".symver old,f@V1\\n.symver new,f@@V2\");\n");
	bench_write(b, "a.map", "V1 { global: f; local: *; };\nV2 { global: f; } V1;\n");
	bench_run(b, "cc -O1 -shared -fPIC -Wl,--version-script=a.map -o a.so a.c");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "new")), "f");
	assert_string_equal(bench_ask(b, "a.so", NULL, bench_address(b, "a.so", "old")), "f@V1");
	bench_run(b, "strip -o b.so a.so");
	assert_string_equal(bench_ask(b, "b.so", NULL, bench_address(b, "a.so", "new")), "f");
}

static void cplusplus(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.cc",
		    "#include <vector>\n#include <algorithm>\n"
		    "namespace ns { template <class T> __attribute__((noinline)) T twice(T x)\n"
		    "{ return x + x; } struct S { int v; explicit S(int); ~S();\n"
		    "bool operator<(const S &) const; }; S::S(int x) : v(x) {} S::~S() {}\n"
		    "bool S::operator<(const S &o) const { return v < o.v; } }\n"
		    "namespace { __attribute__((noinline)) int quiet(int x)\n"
		    "{ __asm__ volatile(\"\"); return x; } }\n"
		    "int main(int c, char **) { ns::S a(c), d(2);\n"
		    "return ns::twice(quiet(c)) + (a < d); }\n");
	bench_run(b, "c++ -O1 -fno-inline -o a a.cc");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "_ZN2ns5twiceIiEET_S1_")),
			    "ns::twice<int>(int)");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "_ZN2ns1SC1Ei")),
			    "ns::S::S(int)");
	assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "_ZNK2ns1SltERKS0_")),
			    "ns::S::operator<(ns::S const&) const");
	assert_string_equal(
		bench_ask(b, "a", NULL, bench_address(b, "a", "_ZN12_GLOBAL__N_15quietEi")),
		"(anonymous namespace)::quiet(int)");
}

/* Options that move functions about: each function must still answer for its own bytes. */
static void layouts(void **state)
{
	static const char *const options[] = {
		"-O2 -ffunction-sections -Wl,--gc-sections",
		"-O2 -flto",
		"-O3 -static",
		"-O2 -no-pie",
		"-O2 -fuse-ld=gold -ffunction-sections -Wl,--icf=all",
		"-m32 -O2",
	};
	struct bench *b = *state;

	bench_write(b, "a.c", plain_source);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!bench_try(b, "cc %s -o a a.c", options[i]))
			continue;
		assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "shown")),
				    "shown");
		assert_string_equal(bench_ask(b, "a", NULL, bench_address(b, "a", "main")), "main");
	}
}

struct all {
	const uint64_t *addresses;
	size_t found;
};

static void count_found(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	struct all *all = context;

	assert_int_equal(count, 1);
	assert_true(names[0].function[0]);
	/* 0 lies in no symbol, and the first and the last address are the same */
	assert_int_not_equal(all->addresses[index], 0);
	all->found++;
}

/* One batch, with all functions of the C library twice, in no order. */
static void large_batch(void **state)
{
	struct symbol_image image = {.path = "/lib/x86_64-linux-gnu/libc.so.6", .root = ""};
	const struct symbol_options none = {0};
	const char *nowhere[] = {"/nonexistent", NULL};
	struct symbol_options options = none;
	vec(uint64_t) addresses = {0};
	struct symbols *symbols;
	struct all all = {0};
	char line[512], type;
	uint64_t address;
	size_t i, count;
	FILE *nm;

	(void)state;
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	if (image.fd < 0)
		skip();
	options.debug_directories = nowhere;
	nm = popen("nm -D --defined-only /lib/x86_64-linux-gnu/libc.so.6", "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm))
		if (sscanf(line, "%" SCNx64 " %c", &address, &type) == 2 && strchr("TWi", type))
			assert_true(vec_push(&addresses, address));
	pclose(nm);
	count = addresses.count;
	assert_true(count > 1000);
	for (i = 0; i < count; i++)
		assert_true(vec_push(&addresses, addresses.at[count - 1 - i]));
	assert_true(vec_push(&addresses, 0));
	all.addresses = addresses.at;
	assert_int_equal(symbols_new(&options, &symbols), 0);
	assert_int_equal(symbols_of_image(symbols, &image, addresses.at, addresses.count,
					  count_found, &all, NULL),
			 0);
	assert_int_equal(all.found, 2 * count);
	symbols_free(symbols);
	vec_free(&addresses);
	close(image.fd);
}

static void vdso(void **state)
{
	struct bench *b = *state;
	const uint8_t *memory = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct symbol_image image = {.fd = -1, .memory = memory, .memory_size = 8192};
	uint64_t address, size;
	char name[64] = "";
	FILE *f, *nm;

	if (!memory)
		skip();
	f = fopen(bench_path(b, "vdso"), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(memory, 1, image.memory_size, f), image.memory_size);
	fclose(f);
	bench_run(b, "nm -D -S vdso | grep __vdso_clock_gettime > symbol");
	nm = fopen(bench_path(b, "symbol"), "r");
	assert_non_null(nm);
	assert_int_equal(fscanf(nm, "%" SCNx64 " %" SCNx64 " %*c %63[^@\n]", &address, &size, name),
			 3);
	fclose(nm);
	assert_string_equal(bench_ask_image(b, &image, NULL, address + size - 1),
			    "__vdso_clock_gettime");
}

static void no_elf(void **state)
{
	struct bench *b = *state;
	struct symbol_image image = {.path = bench_path(b, "text"), .root = ""};
	const uint8_t id[20] = {1};

	bench_write(b, "text", "#!/bin/sh\n");
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_string_equal(bench_ask_image(b, &image, NULL, 1), "");
	assert_int_equal(b->err, -ENOEXEC);
	assert_non_null(strstr(b->error, "not an ELF file"));
	close(image.fd);
	/* nothing is known */
	image = (struct symbol_image){.fd = -1, .path = "/gone", .root = ""};
	assert_string_equal(bench_ask_image(b, &image, NULL, 1), "");
	assert_int_equal(b->err, -ENOENT);
	/* the build id of another file */
	bench_write(b, "a.c", plain_source);
	bench_run(b, "cc -O1 -Wl,--build-id=0x0102 -o a a.c");
	image = (struct symbol_image){.path = bench_path(b, "a"),
				      .root = "",
				      .build_id = id,
				      .build_id_size = sizeof(id)};
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_string_equal(bench_ask_image(b, &image, NULL, bench_address(b, "a", "main")), "");
	assert_int_equal(b->err, -ESTALE);
	close(image.fd);
	assert_int_equal(symbol_image_open("", image.path, id, sizeof(id)), -ESTALE);
	image.fd = symbol_image_open("", image.path, (const uint8_t[]){1, 2}, 2);
	assert_true(image.fd >= 0);
	close(image.fd);
	assert_int_equal(symbol_image_open("", bench_path(b, "text"), NULL, 0), -ENOEXEC);
}

/*
 * A file that ends in the middle of any of its parts names what is there, and nothing bad happens.
 */
static void cut_short(void **state)
{
	struct bench *b = *state;
	uint64_t main_address;
	char text[32];

	bench_write(b, "a.c", plain_source);
	bench_run(b, "cc -O1 -o a a.c");
	main_address = bench_address(b, "a", "main");
	bench_run(b, "stat -c %%s a > size");
	for (int part = 1; part < 64; part++) {
		struct symbol_image image = {.root = ""};

		bench_run(b, "head -c $(( $(cat size) * %d / 64 )) a > cut", part);
		snprintf(text, sizeof(text), "cut");
		image.path = bench_path(b, text);
		image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
		bench_ask_image(b, &image, &(struct symbol_options){.lines = true, .inlines = true},
				main_address);
		close(image.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(static_and_global, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(gaps, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(sizeless, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(best_of_several, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(indirect_functions, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(stubs, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(jumps, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(versions, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(cplusplus, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(layouts, bench_set_up, bench_tear_down),
		cmocka_unit_test(large_batch),
		cmocka_unit_test_setup_teardown(vdso, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(no_elf, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(cut_short, bench_set_up, bench_tear_down),
	};

	return cmocka_run_group_tests_name("symbol-elf", tests, NULL, NULL);
}
