// SPDX-License-Identifier: Apache-2.0
#include "query/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/text.h"

/* part of whole in units of another whole, rounded down; part <= whole */
static uint64_t scale(uint64_t part, uint64_t whole, uint64_t to)
{
	return whole ? (uint64_t)((unsigned __int128)part * to / whole) : 0;
}

/*
 * Scaling each value by itself would lose a rest each time. The running sum is scaled instead, and
 * a node gets the difference: the parts add up to the scaled whole.
 */
static void scale_before(const struct tree *tree, struct flame *flame)
{
	const struct tree_node *root = &tree->nodes.at[0];
	uint64_t sum = 0, scaled = 0;
	uint32_t i;

	for (i = 0; i < flame->count; i++) {
		uint64_t next;

		sum += tree->nodes.at[i].self[TREE_BEFORE];
		next = scale(sum, root->total[TREE_BEFORE], root->total[TREE_NOW]);
		flame->nodes[i].before_self = next - scaled;
		scaled = next;
	}
	for (i = flame->count; i-- > 0;) {
		struct flame_node *node = &flame->nodes[i];

		node->before_total += node->before_self;
		if (i)
			flame->nodes[node->parent].before_total += node->before_total;
	}
}

int flame_of_tree(const struct tree *tree, const struct view *view, bool is_diff,
		  struct flame *flame)
{
	*flame = (struct flame){
		.nodes = calloc(tree->nodes.count, sizeof(*flame->nodes)),
		.count = (uint32_t)tree->nodes.count,
		.is_diff = is_diff,
		.event = view->event->name,
		.unit = view->event->unit,
		.title = "",
	};
	if (!flame->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->count; i++) {
		const struct tree_node *node = &tree->nodes.at[i];
		const struct label *label = &tree->labels.all.at[node->label];

		flame->nodes[i] = (struct flame_node){
			.parent = node->parent,
			.first_child = node->first_child,
			.next_sibling = node->next_sibling,
			.name = label->name,
			.image = label->image,
			.kind = label->kind,
			.guess = node->guess,
			.inlined = node->inlined,
			.file = label->file,
			.line = label->line,
			.self = node->self[TREE_NOW],
			.total = node->total[TREE_NOW],
		};
	}
	if (is_diff)
		scale_before(tree, flame);
	return 0;
}

void film_rfc3339(const struct film_info *info, uint64_t monotonic, char *to, size_t size)
{
	__int128 ns = (__int128)monotonic + info->wall_offset;
	time_t seconds = (time_t)(ns / 1000000000);
	int32_t rest = (int32_t)(ns % 1000000000);
	char day[64];
	struct tm utc;

	/* RFC 3339 has years of four digits */
	if (rest < 0 || !gmtime_r(&seconds, &utc) || utc.tm_year < 0 || utc.tm_year > 8099 ||
	    !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc))
		snprintf(to, size, "%s", "");
	else
		snprintf(to, size, "%s.%09" PRId32 "Z", day, rest);
}

void film_wall_time(const struct film *film, uint64_t monotonic, char *to, size_t size)
{
	__int128 ns = (__int128)monotonic + film->info.wall_offset;
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(to, size, "%Y-%m-%d %H:%M:%S", &local))
		snprintf(to, size, "%s", "");
}

void view_title(const struct view *view, char *to, size_t size)
{
	char length[32], time[64];

	text_duration(length, sizeof(length), view->to - view->from);
	film_wall_time(view->film, view->from, time, sizeof(time));
	snprintf(to, size, "%.64s, %s on %.100s, %s", view->event->name, length,
		 view->film->info.hostname, time);
}

static int mark_focus(const struct filter *f, struct functions *functions, struct fail *why)
{
	for (size_t i = 0; i < functions->count; i++)
		functions->at[i].is_focus =
			!f->focus || regex_matches(f->focus, functions->at[i].label->name);
	return f->focus ? regex_check(f->focus, why) : 0;
}

struct shape view_shape(const struct view *view, const struct shape *wanted)
{
	struct shape shape = *wanted;

	/* what is inlined at a function's first instruction was not called there */
	if (view->calls)
		shape.inlines = false;
	return shape;
}

int report_make(struct film *film, const struct question *q, bool by_thread, struct report *report,
		struct fail *why)
{
	struct question asked = *q;
	struct shape shape;
	int err;

	*report = (struct report){0};
	/* callers that want the thread of each stack want its labels, too */
	asked.shape.by_label |= by_thread;
	err = view_open(film, &asked, by_thread ? VIEW_THREAD : tree_group(&q->shape),
			&report->view, why);
	if (!err)
		err = view_need_cpus(&report->view, &asked, why);
	if (err)
		return err;
	shape = view_shape(&report->view, &asked.shape);
	if (tree_init(&report->tree, &shape, false) ||
	    tree_add(&report->tree, &report->view, TREE_NOW) ||
	    call_functions_of(&report->tree, &report->view, &report->calls) ||
	    tree_sum(&report->tree) ||
	    flame_of_tree(&report->tree, &report->view, false, &report->flame) ||
	    functions_of(&report->tree, &report->flame, &report->functions) ||
	    groups_of(&report->tree, film, &report->flame, &report->groups) ||
	    groups_add_services(&report->groups, &report->tree, &report->view) ||
	    groups_add_locks(&report->groups, &report->view))
		return fail_errno(why, -ENOMEM, NULL, "cannot merge the stacks");
	functions_sort(&report->functions);
	call_functions_add_to(&report->calls, &report->tree, &report->view, TREE_NOW,
			      &report->functions);
	view_title(&report->view, report->title, sizeof(report->title));
	report->flame.title = report->title;
	return mark_focus(&q->filter, &report->functions, why);
}

void report_free(struct report *report)
{
	groups_free(&report->groups);
	functions_free(&report->functions);
	call_functions_free(&report->calls);
	flame_free(&report->flame);
	tree_free(&report->tree);
	view_free(&report->view);
}
