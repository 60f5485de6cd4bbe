// SPDX-License-Identifier: Apache-2.0

/*
 * Rows in RowBinary that a ClickHouse answers with, behind its HTTP: an answer is an error, or its
 * rows are within the view's dictionary, and a tree can be made of them. The first byte: which sums
 * are selected, and whether names are searched. Then each answer with its size in two bytes.
 */
#include <errno.h>
#include <stdint.h>

#include "../check.h"
#include "store/ask_private.h"
#include "store/fleet/answer.h"
#include "store/fleet/client.h"
#include "store/room.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_fleet_connect(struct fleet *fleet, const atomic_bool *stop, struct fleet_client *client,
			 struct fail *why);
int __wrap_fleet_run(struct fleet_client *client, const char *sql, struct buf *answer,
		     struct fail *why);

static struct bytes answers;

int __wrap_fleet_connect(struct fleet *fleet, const atomic_bool *stop, struct fleet_client *client,
			 struct fail *why)
{
	(void)stop;
	(void)why;
	*client = (struct fleet_client){.fleet = fleet};
	return 0;
}

int __wrap_fleet_run(struct fleet_client *client, const char *sql, struct buf *answer,
		     struct fail *why)
{
	size_t size = bytes_u16(&answers);

	(void)client;
	(void)sql;
	(void)why;
	size = size < bytes_left(&answers) ? size : bytes_left(&answers);
	buf_put(answer, bytes_read(&answers, size), size);
	return answer->failed ? -ENOMEM : 0;
}

static int check_row(void *context, const struct sums_row *row)
{
	const struct sums_view *view = context;

	check(row->series < dictionary_readable(&view->dictionary->series));
	for (size_t i = 0; i < row->count; i++)
		check(row->path[i] && row->path[i] < view->paths);
	return 0;
}

static int make_tree(const struct asked *asked, struct sums_view *view, struct fail *why)
{
	struct store_sum sum = {0};
	struct tree tree;
	int err = tree_init(&tree, &(struct shape){0}, true);

	if (!err)
		err = paths_add(asked, view, TREE_NOW, &sum, why);
	if (!err)
		err = paths_tree(view, &tree);
	if (!err) {
		tree_total(&tree);
		check(tree.nodes.at[0].total[TREE_NOW] == sum.total);
		vec_foreach (&tree.nodes, node)
			check(node->depth <= TREE_DEPTH_MAX);
	}
	tree_free(&tree);
	return err;
}

static void select_and_read(struct asked *asked, enum sums_what what)
{
	struct sums_view *view;
	struct fail why = {0};
	int err = fleet_sums.open(asked, &view, &why);

	if (err)
		return;
	err = fleet_sums.select(asked, view, what, &why);
	check(err == why.err);
	if (!err)
		err = fleet_sums.each(asked, view, what, check_row, view, &why);
	if (!err && what == SUMS_PATHS && asked->ask->question)
		err = asked_keep_named(asked, view, &why);
	if (!err && what == SUMS_PATHS)
		make_tree(asked, view, &why);
	fleet_sums.close(asked, view, NULL);
	free(asked->kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum sums_what whats[] = {SUMS_PATHS, SUMS_PATHS, SUMS_HOURS, SUMS_MINUTES};
	struct fleet fleet = {.url_count = 0};
	struct store store = {.fleet = &fleet};
	struct question question = {0};
	struct store_ask ask = {0};
	struct asked asked = {
		.store = &store,
		.ask = &ask,
		.event_name = "on-cpu",
		.unit = "ns",
		.to = 24 * NS_HOUR,
		.end = 24 * HOUR_MINUTES,
	};
	uint8_t choice;

	answers = (struct bytes){data, data + size, false};
	choice = bytes_u8(&answers) % 4;
	if (!choice) {
		check(!regex_compile("o", &question.filter.focus, NULL));
		ask.question = &question;
	}
	select_and_read(&asked, whats[choice]);
	regex_free(question.filter.focus);
	return 0;
}
