// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/call_lines.h"

#define HEADING "   TID     DURATION     ON-CPU | FUNCTION CALLS\n"

/* The sink of a test: lines are fed to it, then its text is compared. */
struct sheet {
	struct call_lines *lines;
	char *text;
	size_t size;
	FILE *out;
	uint32_t tid;
	uint64_t now;
};

static void begin_sheet(struct sheet *s, const struct call_lines_options *options)
{
	*s = (struct sheet){.tid = 37811, .now = 1000};
	s->out = open_memstream(&s->text, &s->size);
	assert_non_null(s->out);
	assert_int_equal(call_lines_new(s->out, options, &s->lines), 0);
}

static void feed(struct sheet *s, struct call_line line)
{
	line.time = s->now;
	line.pid = 37000;
	line.tid = line.tid ? line.tid : s->tid;
	line.comm = "server";
	line.cpu = 3;
	assert_int_equal(call_lines_add(s->lines, &line), 0);
	s->now += 1000;
}

static void begins(struct sheet *s, unsigned int depth, const char *name)
{
	feed(s, (struct call_line){.kind = CALL_BEGINS, .depth = (uint16_t)depth, .name = name});
}

static void ends(struct sheet *s, unsigned int depth, const char *name, uint64_t duration)
{
	feed(s, (struct call_line){.kind = CALL_ENDS,
				   .depth = (uint16_t)depth,
				   .name = name,
				   .duration = duration});
}

static void leaf(struct sheet *s, unsigned int depth, const char *name, uint64_t duration)
{
	begins(s, depth, name);
	ends(s, depth, name, duration);
}

static void end_sheet(struct sheet *s, const char *wanted)
{
	assert_int_equal(call_lines_end(s->lines), 0);
	assert_int_equal(fclose(s->out), 0);
	assert_string_equal(s->text, wanted);
	free(s->text);
}

static const struct call_lines_options plain;

static void test_tree(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	begins(&s, 0, "main");
	leaf(&s, 1, "malloc@libc.so.6", 93887);
	begins(&s, 1, "pthread_join@libc.so.6");
	feed(&s, (struct call_line){.kind = CALL_ENDS,
				    .depth = 1,
				    .name = "pthread_join@libc.so.6",
				    .duration = 117002,
				    .waited = 107902});
	feed(&s, (struct call_line){.kind = CALL_ENDS,
				    .depth = 0,
				    .name = "main",
				    .duration = 1402000,
				    .waited = 1221980});
	end_sheet(&s, HEADING " 37811                         | main() {\n"
			      " 37811    93.887 us            |   malloc@libc.so.6();\n"
			      " 37811   117.002 us   9.100 us |   pthread_join@libc.so.6();\n"
			      " 37811     1.402 ms 180.020 us | } /* main */\n");
}

/* What waited for 1 % or less of its time did not wait. */
static void test_on_cpu_only_where_it_says_more(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	for (uint64_t waited = 1000; waited <= 1001; waited++) {
		begins(&s, 0, "f");
		feed(&s,
		     (struct call_line){
			     .kind = CALL_ENDS, .name = "f", .duration = 100000, .waited = waited});
	}
	begins(&s, 0, "f");
	/* no more than the whole time can have been waited */
	feed(&s,
	     (struct call_line){.kind = CALL_ENDS, .name = "f", .duration = 1000, .waited = 2000});
	end_sheet(&s, HEADING " 37811   100.000 us            | f();\n"
			      " 37811   100.000 us  98.999 us | f();\n"
			      " 37811     1.000 us   0.000 us | f();\n");
}

static void test_recursion(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	begins(&s, 0, "fib");
	begins(&s, 1, "fib");
	leaf(&s, 2, "fib", 1);
	leaf(&s, 2, "fib", 2);
	ends(&s, 1, "fib", 3);
	leaf(&s, 1, "fib", 4);
	ends(&s, 0, "fib", 5);
	end_sheet(&s, HEADING " 37811                         | fib() {\n"
			      " 37811                         |   fib() {\n"
			      " 37811     0.001 us            |     fib();\n"
			      " 37811     0.002 us            |     fib();\n"
			      " 37811     0.003 us            |   } /* fib */\n"
			      " 37811     0.004 us            |   fib();\n"
			      " 37811     0.005 us            | } /* fib */\n");
}

/* Others' lines come before a begin that is held back; each thread's own lines stay in order. */
static void test_threads_and_lanes(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	begins(&s, 0, "main");
	s.tid = 37812;
	begins(&s, 0, "work");
	leaf(&s, 1, "step", 10);
	s.tid = 37811;
	leaf(&s, 1, "f", 20);
	feed(&s, (struct call_line){.kind = CALL_BEGINS, .lane = 1, .name = "on_signal"});
	feed(&s,
	     (struct call_line){.kind = CALL_ENDS, .lane = 1, .name = "on_signal", .duration = 30});
	s.tid = 37812;
	ends(&s, 0, "work", 40);
	s.tid = 37811;
	ends(&s, 0, "main", 50);
	end_sheet(&s, HEADING " 37812                         | work() {\n"
			      " 37812     0.010 us            |   step();\n"
			      " 37811                         | main() {\n"
			      " 37811     0.020 us            |   f();\n"
			      "37811/1     0.030 us            | on_signal();\n"
			      "  37812     0.040 us            | } /* work */\n"
			      "  37811     0.050 us            | } /* main */\n");
}

/* All calls that end in one jump end at one time. */
static void test_tail_calls(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	begins(&s, 0, "f");
	begins(&s, 1, "g");
	begins(&s, 2, "h");
	s.now = 9000;
	ends(&s, 2, "h", 5000);
	s.now = 9000;
	ends(&s, 1, "g", 6000);
	s.now = 9000;
	ends(&s, 0, "f", 7000);
	end_sheet(&s, HEADING " 37811                         | f() {\n"
			      " 37811                         |   g() {\n"
			      " 37811     5.000 us            |     h();\n"
			      " 37811     6.000 us            |   } /* g */\n"
			      " 37811     7.000 us            | } /* f */\n");
}

static void test_open_and_inferred(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	begins(&s, 0, "main");
	begins(&s, 1, "a");
	feed(&s, (struct call_line){.kind = CALL_ENDS,
				    .depth = 1,
				    .name = "a",
				    .duration = 93887,
				    .inferred = true});
	begins(&s, 1, "b");
	feed(&s, (struct call_line){
			 .kind = CALL_ENDS, .depth = 1, .name = "b", .duration = 5, .open = true});
	begins(&s, 1, "c");
	leaf(&s, 2, "d", 7);
	feed(&s, (struct call_line){
			 .kind = CALL_ENDS, .depth = 1, .name = "c", .duration = 6, .open = true});
	begins(&s, 1, "e");
	end_sheet(&s, HEADING " 37811                         | main() {\n"
			      " 37811   ~93.887 us            |   a();\n"
			      " 37811     0.005 us            |   b(); /* still running */\n"
			      " 37811                         |   c() {\n"
			      " 37811     0.007 us            |     d();\n"
			      " 37811     0.006 us            |   } /* c: still running */\n"
			      " 37811                         |   e() {\n"
			      " 37811                         |   } /* e: still running */\n"
			      " 37811                         | } /* main: still running */\n");
}

/* If anything is missing, the depth of what comes later stays what it is. */
static void test_gaps(void **state)
{
	struct sheet s;

	(void)state;
	begin_sheet(&s, &plain);
	ends(&s, 3, "began_before", 10);
	ends(&s, 2, "too", 20);
	begins(&s, 2, "a");
	begins(&s, 3, "b");
	feed(&s, (struct call_line){.kind = CALL_GAP, .depth = 3});
	begins(&s, 1, "c");
	ends(&s, 1, "other", 30);
	leaf(&s, 1, "d", 40);
	ends(&s, 0, "main", 50);
	end_sheet(&s, HEADING " 37811     0.010 us            |       } /* began_before */\n"
			      " 37811     0.020 us            |     } /* too */\n"
			      " 37811                         |     a() {\n"
			      " 37811                         |       b() {\n"
			      " 37811                         |       … calls lost here …\n"
			      " 37811                         |       } /* b: its end was lost */\n"
			      " 37811                         |     } /* a: its end was lost */\n"
			      " 37811                         |   c() {\n"
			      " 37811                         |   } /* c: its end was lost */\n"
			      " 37811     0.030 us            |   } /* other */\n"
			      " 37811     0.040 us            |   d();\n"
			      " 37811     0.050 us            | } /* main */\n");
}

static void test_fold(void **state)
{
	const struct call_lines_options options = {.fold = true};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	begins(&s, 0, "main");
	for (int i = 0; i < 1000; i++)
		leaf(&s, 1, "work", 2100 + (uint64_t)i % 2);
	leaf(&s, 1, "once", 5);
	leaf(&s, 1, "work", 7);
	begins(&s, 1, "deeper");
	/* not of the same parent: begins anew */
	leaf(&s, 2, "work", 2000000000);
	leaf(&s, 2, "work", 2000000000);
	ends(&s, 1, "deeper", 30);
	leaf(&s, 1, "work", 8);
	ends(&s, 0, "main", 40);
	leaf(&s, 0, "last", 9);
	leaf(&s, 0, "last", 10);
	end_sheet(&s, HEADING " 37811                         | main() {\n"
			      " 37811     2.100 ms            |   work() x 1,000 avg 2.1 us\n"
			      " 37811     0.005 us            |   once();\n"
			      " 37811     0.007 us            |   work();\n"
			      " 37811                         |   deeper() {\n"
			      " 37811     4.000  s            |     work() x 2 avg 2.0 s\n"
			      " 37811     0.030 us            |   } /* deeper */\n"
			      " 37811     0.008 us            |   work();\n"
			      " 37811     0.040 us            | } /* main */\n"
			      " 37811     0.019 us            | last() x 2 avg 0.0 us\n");
}

static void test_flat(void **state)
{
	const struct call_lines_options options = {.flat = true};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	begins(&s, 0, "main");
	begins(&s, 1, "f");
	feed(&s, (struct call_line){.kind = CALL_ENDS,
				    .depth = 1,
				    .name = "f",
				    .duration = 2000,
				    .waited = 500,
				    .inferred = true});
	feed(&s, (struct call_line){.kind = CALL_GAP, .depth = 1});
	feed(&s, (struct call_line){
			 .kind = CALL_ENDS, .name = "main", .duration = 1402000, .open = true});
	end_sheet(&s, "   TID | FUNCTION CALLS\n"
		      " 37811 | > main\n"
		      " 37811 | > f\n"
		      " 37811 | < f ~2.000 us, on CPU 1.500 us\n"
		      " 37811 | … calls lost here …\n"
		      " 37811 | < main 1.402 ms /* still running */\n");
}

static void test_max_depth(void **state)
{
	const struct call_lines_options options = {.max_depth = 2, .no_on_cpu = true};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	begins(&s, 0, "main");
	begins(&s, 1, "f");
	leaf(&s, 2, "g", 1);
	ends(&s, 1, "f", 2);
	ends(&s, 0, "main", 3);
	end_sheet(&s, "   TID     DURATION | FUNCTION CALLS\n"
		      " 37811              | main() {\n"
		      " 37811     0.002 us |   f();\n"
		      " 37811     0.003 us | } /* main */\n");
}

/* A film may claim any depth; no reader gets a line of 64,000 columns. */
static void test_depth_has_a_limit(void **state)
{
	const struct call_lines_options options = {
		.no_tid = true, .no_duration = true, .no_on_cpu = true};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	leaf(&s, 65535, "f", 1);
	leaf(&s, 0, "g", 1);
	end_sheet(&s, "FUNCTION CALLS\n"
		      "g();\n"
		      "… calls more than 1024 levels deep are not shown: 1 …\n");
}

static void test_columns(void **state)
{
	const struct call_lines_options options = {.timestamps = true,
						   .cpu = true,
						   .process = true,
						   .no_duration = true,
						   .start = 2000};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	begins(&s, 0, "main");
	leaf(&s, 1, "f", 10);
	ends(&s, 0, "main", 10);
	end_sheet(&s,
		  "        TIMESTAMP  CPU     PID PROCESS            TID     ON-CPU | FUNCTION "
		  "CALLS\n"
		  "        -1.000 us    3   37000 server           37811            | main() {\n"
		  "         0.000 us    3   37000 server           37811            |   f();\n"
		  "         2.000 us    3   37000 server           37811            | } /* main "
		  "*/\n");
}

static void test_names(void **state)
{
	const struct call_lines_options options = {
		.no_tid = true, .no_duration = true, .no_on_cpu = true};
	static const char *const names[][2] = {
		{"f(int, char*)", "f(int, char*);\n"},
		{"v<int>::at(int) const", "v<int>::at(int) const;\n"},
		{"f(int) [clone .cold]", "f(int) [clone .cold];\n"},
		{"(anonymous namespace)::f", "(anonymous namespace)::f();\n"},
		{"f(int)@lib.so", "f(int)@lib.so;\n"},
		{"\033[2Jf\n", "\\x1b[2Jf\\x0a();\n"},
		{"", "();\n"},
		{"/* } */ naïve \xff\xe2\x80\xae", "/* } */ naïve \\xff\\xe2\\x80\\xae();\n"},
	};
	struct sheet s;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char wanted[128];

		begin_sheet(&s, &options);
		leaf(&s, 0, names[i][0], 1);
		snprintf(wanted, sizeof(wanted), "FUNCTION CALLS\n%s", names[i][1]);
		end_sheet(&s, wanted);
	}
}

static void test_color(void **state)
{
	const struct call_lines_options options = {
		.color = true, .no_tid = true, .no_on_cpu = true};
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	leaf(&s, 0, "f", 5);
	leaf(&s, 0, "f", 2000000);
	begins(&s, 0, "g");
	leaf(&s, 1, "f", 3000000000);
	feed(&s, (struct call_line){.kind = CALL_GAP, .depth = 1});
	ends(&s, 0, "g", 7000);
	end_sheet(&s, "     DURATION | FUNCTION CALLS\n"
		      "     0.005 us | f();\n"
		      "     \033[32m2.000 ms\033[0m | f();\n"
		      "              | g() {\n"
		      "     \033[33m3.000  s\033[0m |   f();\n"
		      "              |   \033[31m… calls lost here …\033[0m\n"
		      "     7.000 us | }\033[2m /* g */\033[0m\n");
}

static void test_time(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{0, "0.000 us"},
		{93887, "93.887 us"},
		{999999, "999.999 us"},
		{1000000, "1.000 ms"},
		{1402999, "1.402 ms"},
		{999999999, "999.999 ms"},
		{2100000000, "2.100  s"},
		{999999999999, "999.999  s"},
		{1000000000000, "16.666  m"},
		{1ull << 63, "292.471  y"},
		{UINT64_MAX, "584.942  y"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		call_lines_time(text, sizeof(text), times[i].ns);
		assert_string_equal(text, times[i].text);
	}
}

/* Threads come and go: what is open stays known, what has ended is forgotten. */
static void test_many_threads(void **state)
{
	const struct call_lines_options options = {
		.no_duration = true, .no_on_cpu = true, .fold = true};
	size_t lines = 0;
	struct sheet s;

	(void)state;
	begin_sheet(&s, &options);
	begins(&s, 0, "main");
	for (uint32_t i = 0; i < 20000; i++) {
		s.tid = 100000 + i;
		leaf(&s, 0, "thread", 1);
	}
	s.tid = 37811;
	leaf(&s, 1, "f", 1);
	ends(&s, 0, "main", 1);
	assert_int_equal(call_lines_end(s.lines), 0);
	assert_int_equal(fclose(s.out), 0);
	for (const char *at = s.text; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 1 + 20000 + 3);
	assert_non_null(strstr(s.text, " 37811 | main() {\n"));
	assert_non_null(strstr(s.text, " 37811 |   f();\n"));
	assert_non_null(strstr(s.text, " 37811 | } /* main */\n"));
	free(s.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_on_cpu_only_where_it_says_more),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_threads_and_lanes),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_open_and_inferred),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_max_depth),
		cmocka_unit_test(test_depth_has_a_limit),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
