// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a made-up flame as a page or a picture, for tests in a browser and for looking at:
 *
 *	flame_sample html|svg server|diff|hostile|deep|wide|empty NODES FILE
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "flame_build.h"
#include "show/show.h"

static int build(struct flame *flame, const char *shape, uint32_t nodes)
{
	struct flame_sample sample = {.nodes = nodes};

	if (strcmp(shape, "deep") == 0) {
		flame_build_deep(flame, nodes);
	} else if (strcmp(shape, "wide") == 0) {
		flame_build_wide(flame, nodes);
	} else if (strcmp(shape, "empty") == 0) {
		flame_build_start(flame, "on-cpu", "ns", "nothing at all");
	} else {
		sample.is_diff = strcmp(shape, "diff") == 0;
		sample.is_hostile = strcmp(shape, "hostile") == 0;
		if (!sample.is_diff && !sample.is_hostile && strcmp(shape, "server") != 0)
			return -EINVAL;
		flame_build_server(flame, &sample);
	}
	return 0;
}

/* The status where this build has no page. */
#define NO_PAGE 77

int main(int argc, char **argv)
{
	struct flame flame;
	uint64_t nodes;
	FILE *out;
	int err;

	if (argc != 5 || text_parse_u64(argv[3], 1, 10000000, &nodes) != 0 ||
	    build(&flame, argv[2], (uint32_t)nodes) != 0) {
		fprintf(stderr, "usage: flame_sample html|svg SHAPE NODES FILE\n");
		return 2;
	}
	out = fopen(argv[4], "w");
	if (!out) {
		perror(argv[4]);
		return 1;
	}
	err = strcmp(argv[1], "svg") == 0 ? show_svg(&flame, out) : show_html(&flame, out);
	if (fclose(out) != 0)
		err = -EIO;
	flame_build_free(&flame);
	if (err == -ENOTSUP)
		return NO_PAGE;
	return err ? 1 : 0;
}
