// SPDX-License-Identifier: Apache-2.0
/* What is made of a flame alone: pruned, and seen from one function. */
#include "../prelude.h"

#include "query/flame_prune.h"
#include "query/frame_search.h"
#include "query/report.h"
#include "query/sandwich.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct film_event event = {.name = "on-cpu", .unit = "ns"};

struct made {
	struct tree tree;
	struct flame flame;
};

/* A stack, root first, in a film now and one before. */
static void add(struct made *m, const char *stack, uint64_t now, uint64_t before)
{
	uint32_t node = 0;

	for (const char *at = stack; *at; at++) {
		char name[2] = {*at, 0};

		node = tree_child(&m->tree, node,
				  label_intern_name(&m->tree.labels, name, FILM_FRAME_NATIVE),
				  false);
		assert_int_not_equal(node, 0);
	}
	m->tree.nodes.at[node].self[TREE_NOW] += now;
	m->tree.nodes.at[node].self[TREE_BEFORE] += before;
}

static void start(struct made *m)
{
	static const struct shape shape;

	assert_int_equal(tree_init(&m->tree, &shape, false), 0);
}

static void finish(struct made *m, bool is_diff)
{
	const struct view view = {.event = &event};

	assert_int_equal(tree_sum(&m->tree), 0);
	assert_int_equal(flame_of_tree(&m->tree, &view, is_diff, &m->flame), 0);
}

static void free_made(struct made *m)
{
	flame_free(&m->flame);
	tree_free(&m->tree);
}

/* "a2(b1 c3)": names with their totals, depth first. */
static void describe(const struct flame *flame, uint32_t node, char *to, size_t size)
{
	size_t used;

	snprintf(to, size, "%s%lu", flame->nodes[node].name,
		 (unsigned long)flame->nodes[node].total);
	used = strlen(to);
	for (uint32_t i = flame->nodes[node].first_child; i; i = flame->nodes[i].next_sibling) {
		snprintf(to + used, size - used, i == flame->nodes[node].first_child ? "(" : " ");
		used += strlen(to + used);
		describe(flame, i, to + used, size - used);
		used += strlen(to + used);
	}
	if (flame->nodes[node].first_child)
		snprintf(to + used, size - used, ")");
}

static void is(const struct flame *flame, const char *wanted)
{
	char text[1000];

	describe(flame, 0, text, sizeof(text));
	assert_string_equal(text, wanted);
}

/* Totals add up, parents come before their children, siblings stand in order with marks last. */
static void check(const struct flame *flame, uint32_t most)
{
	assert_in_range(flame->count, 1, most);
	for (uint32_t i = 0; i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];
		uint64_t total = node->self, before = node->before_self;

		assert_true(!i || node->parent < i);
		for (uint32_t k = node->first_child; k; k = flame->nodes[k].next_sibling) {
			const struct flame_node *child = &flame->nodes[k];
			uint32_t next = child->next_sibling;

			assert_int_equal(child->parent, i);
			total += child->total;
			before += child->before_total;
			assert_true(!next || child->total >= flame->nodes[next].total ||
				    !strcmp(flame->nodes[next].name, FLAME_SMALLER));
			assert_true(!next || strcmp(child->name, FLAME_SMALLER));
		}
		assert_int_equal(total, node->total);
		assert_int_equal(before, node->before_total);
	}
}

static void test_pruned(void **state)
{
	struct made m = {0};
	struct flame pruned;
	uint32_t hidden;

	(void)state;
	start(&m);
	add(&m, "ab", 50, 0);
	add(&m, "ac", 30, 0);
	add(&m, "ad", 5, 0);
	add(&m, "ae", 4, 0);
	add(&m, "aef", 3, 0);
	add(&m, "g", 2, 0);
	finish(&m, false);
	assert_int_equal(flame_prune(&m.flame, 100, &pruned, &hidden), 0);
	assert_int_equal(hidden, 0);
	is(&pruned, "all94(a92(b50 c30 e7(f3) d5) g2)");
	flame_free(&pruned);
	assert_int_equal(flame_prune(&m.flame, 6, &pruned, &hidden), 0);
	is(&pruned, "all94(a92(b50 c30 [smaller]12) [smaller]2)");
	assert_int_equal(hidden, 4);
	flame_free(&pruned);
	assert_int_equal(flame_prune(&m.flame, FLAME_PRUNE_MIN, &pruned, &hidden), 0);
	is(&pruned, "all94(a92([smaller]92) [smaller]2)");
	assert_int_equal(hidden, 6);
	flame_free(&pruned);
	free_made(&m);
}

static void fill_at_random(struct made *m, uint32_t seed, bool same)
{
	start(m);
	for (int i = 0; i < 3000; i++) {
		char stack[9] = "";

		for (int k = 0; k < 8; k++) {
			seed = seed * 1664525 + 1013904223;
			stack[k] = (char)('a' + (seed >> 28));
			if (seed >> 24 & 1)
				break;
		}
		add(m, stack, same ? 1 : seed >> 16 & 63, same ? 0 : seed >> 10 & 63);
	}
	finish(m, true);
}

static void test_any_number_of_nodes(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 4; seed++) {
		struct made m = {0};

		fill_at_random(&m, seed, seed == 3);
		for (uint32_t most = FLAME_PRUNE_MIN; most < m.flame.count + 10;
		     most += 1 + most / 7) {
			struct flame pruned;
			uint32_t hidden, marks = 0;

			assert_int_equal(flame_prune(&m.flame, most, &pruned, &hidden), 0);
			check(&pruned, most);
			for (uint32_t i = 0; i < pruned.count; i++)
				marks += !strcmp(pruned.nodes[i].name, FLAME_SMALLER);
			assert_int_equal(pruned.count - marks + hidden, m.flame.count);
			assert_int_equal(pruned.nodes[0].total, m.flame.nodes[0].total);
			assert_int_equal(pruned.nodes[0].before_total,
					 m.flame.nodes[0].before_total);
			flame_free(&pruned);
		}
		free_made(&m);
	}
}

static void test_an_empty_one(void **state)
{
	struct made m = {0};
	struct sandwich sandwich;
	struct flame pruned;
	uint32_t hidden;

	(void)state;
	start(&m);
	finish(&m, false);
	assert_int_equal(flame_prune(&m.flame, 5, &pruned, &hidden), 0);
	is(&pruned, "all0");
	flame_free(&pruned);
	assert_int_equal(sandwich_make(&m.flame, "f", NULL, &sandwich), 0);
	is(&sandwich.callers, "f0");
	is(&sandwich.callees, "f0");
	sandwich_free(&sandwich);
	free_made(&m);
}

static void test_sandwich(void **state)
{
	struct made m = {0};
	struct sandwich s;

	(void)state;
	start(&m);
	add(&m, "maf", 1, 0);
	add(&m, "mafx", 2, 0);
	add(&m, "mafaf", 4, 0); /* it calls itself by another */
	add(&m, "mafafx", 8, 0);
	add(&m, "mbf", 16, 0);
	add(&m, "mbfx", 32, 0);
	add(&m, "fy", 64, 0); /* no function calls it */
	add(&m, "mff", 128, 0);
	add(&m, "ma", 256, 0);
	finish(&m, false);
	assert_int_equal(sandwich_make(&m.flame, "f", NULL, &s), 0);
	assert_int_equal(s.self, 1 + 4 + 16 + 128);
	assert_int_equal(s.total, 255);
	is(&s.callees, "f255(f128 y64 x34 a12(f12(x8)))");
	is(&s.callers, "f255(m128 b48(m48) a15(m15))");
	assert_int_equal(s.callers.nodes[0].self, 64);
	sandwich_free(&s);
	assert_int_equal(sandwich_make(&m.flame, "f", "", &s), 0);
	assert_int_equal(s.total, 255);
	sandwich_free(&s);
	assert_int_equal(sandwich_make(&m.flame, "f", "/other", &s), 0);
	assert_int_equal(s.total + s.self, 0);
	sandwich_free(&s);
	free_made(&m);
}

static const char *const searched_names[] = {
	"all",	      "json::parse(char const*)", "JSON_free", "malloc", "[unknown]", "a*b",
	"tcp_sendmsg"};
enum {
	SEARCHED = sizeof(searched_names) / sizeof(searched_names[0]),
};

static uint32_t below(struct made *m, uint32_t parent, const char *name)
{
	const struct label label = {
		.name = name,
		.image = !strcmp(name, "malloc") ? "/usr/lib/libc.so.6" : "/srv/api",
		.kind = FILM_FRAME_NATIVE,
		.file = !strcmp(name, "JSON_free") ? "src/json.c" : "",
		.line = !strcmp(name, "JSON_free") ? 120 : 0,
	};
	uint32_t node = tree_child(&m->tree, parent, label_intern(&m->tree.labels, &label), false);

	assert_int_not_equal(node, 0);
	return node;
}

static void search(const struct made *m, const struct functions *functions, const char *text,
		   const char *hide, struct frame_matches *matches)
{
	struct frame_search *search;
	struct fail why;

	assert_int_equal(frame_search_new(text, false, hide, &search, &why), 0);
	assert_int_equal(frame_search_run(search, &m->tree, &m->flame, functions, matches, &why),
			 0);
	frame_search_free(search);
}

/* "3 frames 30: malloc JSON_free" */
static void finds_without(const struct made *m, const char *text, const char *hide,
			  const char *wanted)
{
	struct functions functions;
	struct frame_matches matches;
	char found[500];
	size_t used;

	assert_int_equal(functions_of(&m->tree, &m->flame, &functions), 0);
	functions_sort(&functions);
	search(m, &functions, text, hide, &matches);
	used = (size_t)snprintf(found, sizeof(found),
				"%lu in %lu:", (unsigned long)matches.total[TREE_NOW],
				(unsigned long)matches.frames);
	for (size_t i = 0; i < matches.of.count; i++)
		used += (size_t)snprintf(found + used, sizeof(found) - used, " %s",
					 matches.of.at[i].label->name);
	assert_string_equal(found, wanted);
	functions_free(&matches.of);
	functions_free(&functions);
}

static void finds(const struct made *m, const char *text, const char *wanted)
{
	finds_without(m, text, NULL, wanted);
}

/* As web/test/search.test.ts tries the page's own. */
static void test_the_language_of_searches(void **state)
{
	struct made m = {0};

	(void)state;
	start(&m);
	for (uint32_t i = 1; i < SEARCHED; i++)
		m.tree.nodes.at[below(&m, 0, searched_names[i])].self[TREE_NOW] = 1u << i;
	finish(&m, false);
	finds(&m, "json", "6 in 2: JSON_free json::parse(char const*)");
	finds(&m, "all", "8 in 1: malloc"); /* the root is not a frame */
	finds(&m, "\"malloc\"", "8 in 1: malloc");
	finds(&m, "\"mallo\"", "0 in 0:");
	finds(&m, "*parse*", "2 in 1: json::parse(char const*)");
	finds(&m, "TCP*s*MSG", "64 in 1: tcp_sendmsg");
	finds(&m, "tcp*sendmsg_*", "0 in 0:");
	finds(&m, "a*b", "32 in 1: a*b");
	finds(&m, "*c*c*", "2 in 1: json::parse(char const*)");
	finds(&m, "*",
	      "126 in 6: tcp_sendmsg a*b [unknown] malloc JSON_free json::parse(char const*)");
	finds(&m, "[un", "16 in 1: [unknown]");
	finds(&m, "/^json/", "2 in 1: json::parse(char const*)");
	finds(&m, "/^json/i", "6 in 2: JSON_free json::parse(char const*)");
	finds(&m, "image:libc*", "8 in 1: malloc");
	finds(&m, "image:/usr", "8 in 1: malloc");
	finds(&m, "file:json.c:12", "4 in 1: JSON_free");
	finds(&m, "file:", "4 in 1: JSON_free");
	finds(&m, "//", "0 in 0:");
	finds_without(&m, "json", "\"JSON_free\"\n/(/", "2 in 1: json::parse(char const*)");
	finds_without(&m, "json", "*free\nimage:api", "0 in 0:");
	free_made(&m);
}

static void test_wrong_searches(void **state)
{
	char many[3 * FRAME_SEARCH_HIDDEN_MAX + 3] = "";
	struct frame_search *search;
	struct fail why;

	(void)state;
	assert_int_equal(frame_search_new("/(/", false, NULL, &search, &why), -EINVAL);
	assert_int_equal(frame_search_new("(", true, NULL, &search, &why), -EINVAL);
	assert_null(search);
	for (int i = 0; i <= FRAME_SEARCH_HIDDEN_MAX; i++)
		strcat(many, "x\n");
	assert_int_equal(frame_search_new("x", false, many, &search, &why), -EINVAL);
	assert_int_equal(frame_search_new("x", false, many + 2, &search, &why), 0);
	frame_search_free(search);
}

/* A pruned copy would have a part of what a search finds. */
static void test_searches_find_what_is_not_sent(void **state)
{
	struct made m = {0};
	struct functions functions;
	struct frame_matches matches;
	uint64_t total = 0, before = 0, frames = 0;

	(void)state;
	fill_at_random(&m, 1, false);
	assert_int_equal(functions_of(&m.tree, &m.flame, &functions), 0);
	for (uint32_t i = 1; i < m.flame.count; i++) {
		uint32_t up = i;

		if (strcmp(m.flame.nodes[i].name, "c") != 0)
			continue;
		frames++;
		do
			up = m.flame.nodes[up].parent;
		while (up && strcmp(m.flame.nodes[up].name, "c") != 0);
		total += up ? 0 : m.flame.nodes[i].total;
		before += up ? 0 : m.flame.nodes[i].before_total;
	}
	search(&m, &functions, "\"c\"", NULL, &matches);
	assert_true(frames > 100);
	assert_int_equal(matches.frames, frames);
	assert_int_equal(matches.total[TREE_NOW], total);
	assert_int_equal(matches.total[TREE_BEFORE], before);
	assert_int_equal(matches.of.count, 1);
	assert_int_equal(matches.of.at[0].total[TREE_NOW], total);
	functions_free(&matches.of);
	functions_free(&functions);
	free_made(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pruned),
		cmocka_unit_test(test_any_number_of_nodes),
		cmocka_unit_test(test_an_empty_one),
		cmocka_unit_test(test_sandwich),
		cmocka_unit_test(test_the_language_of_searches),
		cmocka_unit_test(test_wrong_searches),
		cmocka_unit_test(test_searches_find_what_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
