// SPDX-License-Identifier: Apache-2.0
/* What the page does is checked in a browser, by tests/e2e/page; here, what is written into it. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/film.h"
#include "flame_build.h"
#include "show/show.h"

#define DATA_TAG "<script type=\"application/json\" id=\"data\">"

struct written {
	char *text;
	char *data; /* the JSON in it, or null where it was not cut out */
};

/* Frees the flame. */
static struct written write_page(struct flame *flame)
{
	struct written page = {0};
	size_t size;
	FILE *out = open_memstream(&page.text, &size);
	char *end;

	assert_non_null(out);
	if (!show_has_page()) {
		assert_int_equal(show_html(flame, out), -ENOTSUP);
		skip();
	}
	assert_int_equal(show_html(flame, out), 0);
	assert_int_equal(fclose(out), 0);
	flame_build_free(flame);
	assert_int_equal(strlen(page.text), size);
	page.data = strstr(page.text, DATA_TAG);
	assert_non_null(page.data);
	page.data += strlen(DATA_TAG);
	/* with any bytes in the names, the first tag after the data is the one that ends it */
	end = strchr(page.data, '<');
	assert_non_null(end);
	assert_memory_equal(end, "</script><script type=\"module\">", 31);
	*end = 0;
	return page;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("\"%s\" is missing in\n%s\n", part, text);
	assert_non_null(strstr(text, part));
}

static void test_no_root(void **state)
{
	struct flame flame = {0};

	(void)state;
	assert_int_equal(show_html(&flame, stdout), -EINVAL);
}

static void test_empty(void **state)
{
	struct flame flame;
	struct written page;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "nothing at all");
	page = write_page(&flame);
	assert_has(page.text, "<title>nothing at all</title>");
	assert_has(page.data,
		   "\"levels\":[{\"frame\":[0],\"self\":[0],\"children\":[0],\"guess\":[]}]");
	free(page.text);
}

static void test_levels_and_frames(void **state)
{
	struct flame flame;
	struct written page;
	uint32_t a, b;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "t");
	a = flame_build_add(&flame, 0,
			    (struct flame_node){.name = "a", .image = "/x", .kind = 1, .self = 1});
	b = flame_build_add(&flame, 0,
			    (struct flame_node){.name = "b", .image = "/w", .kind = 1, .self = 2});
	/* the same frame below both, and one that differs by its line */
	flame_build_add(&flame, a,
			(struct flame_node){.name = "c", .image = "/x", .kind = 1, .self = 3});
	flame_build_add(&flame, b,
			(struct flame_node){
				.name = "c", .image = "/x", .kind = 1, .self = 40, .guess = true});
	flame_build_add(&flame, b,
			(struct flame_node){.name = "c",
					    .image = "/x",
					    .kind = 1,
					    .self = 5,
					    .file = "c.c",
					    .line = 7,
					    .inlined = true});
	flame_build_finish(&flame);
	page = write_page(&flame);
	assert_has(page.data, "\"images\":[\"\",\"/w\",\"/x\"],\"files\":[\"\",\"c.c\"]");
	assert_has(page.data, "\"frames\":{\"name\":[\"\",\"b\",\"a\",\"c\",\"c\"],"
			      "\"image\":[0,1,2,2,2],\"file\":[0,0,0,0,1],\"kind\":[0,1,1,1,1],"
			      "\"line\":[0,0,0,0,7],\"inlined\":[0,0,0,0,1]}");
	/* b is wider than a, so it stands before it, and its children before those of a */
	assert_has(page.data,
		   "\"levels\":[{\"frame\":[0],\"self\":[0],\"children\":[2],\"guess\":[]},"
		   "{\"frame\":[1,2],\"self\":[2,1],\"children\":[2,1],\"guess\":[]},"
		   "{\"frame\":[3,4,3],\"self\":[40,5,3],\"children\":[0,0,0],\"guess\":[0]}]");
	free(page.text);
}

static void test_diff(void **state)
{
	struct flame flame;
	struct written page;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "t");
	flame.is_diff = true;
	flame_build_add(&flame, 0, (struct flame_node){.name = "a", .self = 6, .before_self = 1});
	flame_build_add(&flame, 0, (struct flame_node){.name = "b", .before_self = 5});
	flame_build_finish(&flame);
	page = write_page(&flame);
	assert_has(page.data, "\"self\":[6,0],\"children\":[0,0],\"guess\":[],\"before\":[1,5]}");
	free(page.text);
}

static void test_hostile_names(void **state)
{
	struct flame flame;
	struct written page;
	uint32_t i;
	const unsigned char *c;

	(void)state;
	flame_build_start(&flame, "</script>", "<", "</title><script>window.hacked = 1</script>");
	for (i = 0; i < flame_hostile_count; i++)
		flame_build_add(&flame, 0,
				(struct flame_node){.name = flame_hostile_names[i],
						    .image = flame_hostile_names[i],
						    .file = flame_hostile_names[i],
						    .kind = 4000000000u,
						    .line = UINT32_MAX,
						    .self = 10});
	flame_build_finish(&flame);
	page = write_page(&flame); /* asserts that no '<' is in the data */
	assert_has(page.text,
		   "<title>&lt;/title&gt;&lt;script&gt;window.hacked = 1&lt;/script&gt;</title>");
	for (c = (const unsigned char *)page.data; *c; c++)
		assert_true(*c >= 0x20);
	assert_null(strstr(page.data, "\xff"));
	assert_null(strstr(page.data, "\xe2\x80\xa8"));
	free(page.text);
}

static void test_large_ones(void **state)
{
	struct flame flame;
	struct written page;

	(void)state;
	flame_build_deep(&flame, 1000);
	page = write_page(&flame);
	/* the tower is one frame again and again */
	assert_has(page.data, "\"name\":[\"\",\"visit(Tree const*, int)\"]");
	free(page.text);

	flame_build_wide(&flame, 100000);
	page = write_page(&flame);
	assert_has(page.data, "\"children\":[100000]");
	free(page.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_root),		  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_levels_and_frames), cmocka_unit_test(test_diff),
		cmocka_unit_test(test_hostile_names),	  cmocka_unit_test(test_large_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
