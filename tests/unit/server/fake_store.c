// SPDX-License-Identifier: Apache-2.0
/*
 * A store that answers from nothing, for tests of the server. What is asked for decides:
 *
 *	event=missing	there is no such event
 *	service=large	a flame of many nodes
 *	service=block	no answer before fake_release()
 */
#include "fake_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "film/film.h"
#include "query/flame.h"
#include "query/report.h"
#include "store/ask.h"
#include "store/marks.h"
#include "store/names.h"

/* Everything that a name may do to who shows it. */
const char fake_hostile[] =
	"</script><script>alert(1)</script>\"'\\\n\x1b[31m\xff\xc3\x28\u202e&amp;";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool is_released;
static uint64_t last_number;
static unsigned int blocked, given_up;

void fake_release(void)
{
	pthread_mutex_lock(&lock);
	is_released = true;
	pthread_cond_broadcast(&released);
	pthread_mutex_unlock(&lock);
}

unsigned int fake_blocked(void)
{
	unsigned int count;

	pthread_mutex_lock(&lock);
	count = blocked;
	pthread_mutex_unlock(&lock);
	return count;
}

unsigned int fake_given_up(void)
{
	unsigned int count;

	pthread_mutex_lock(&lock);
	count = given_up;
	pthread_mutex_unlock(&lock);
	return count;
}

/* Until it is released, or no client waits for it any more. */
static void block(const struct store_ask *ask)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	blocked++;
	while (!is_released && !store_ask_is_gone(ask)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 10000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&released, &lock, &until);
	}
	given_up += !is_released;
	blocked--;
	pthread_mutex_unlock(&lock);
}

struct store_answer_private {
	struct film_event event;
};

static bool is_service(const struct store_ask *ask, const char *name)
{
	return ask->service && !strcmp(ask->service, name);
}

static struct store_sum sum_of(const struct store_ask *ask, uint64_t total)
{
	uint64_t from = ask->from ? ask->from : 1732199520000000000ull;
	uint64_t to = ask->to ? ask->to : 1732199580000000000ull;

	return (struct store_sum){
		.from = from,
		.to = to,
		.samples = 42,
		.total = total,
		.unit = "ns",
		.complete_from = from,
		.complete_until = to - 2000000000ull,
		.filmed = 58000000000ull,
	};
}

static int refuse(const struct store_ask *ask, struct fail *why)
{
	if (is_service(ask, "block"))
		block(ask);
	if (ask->event && !strcmp(ask->event, "missing"))
		return fail(why, -ENOENT, NULL, "the store has no event '%s'", ask->event);
	return 0;
}

static uint32_t put(struct tree *tree, uint32_t parent, const char *name, unsigned int kind,
		    uint64_t now, uint64_t before)
{
	struct label label = {.name = name, .image = "/usr/bin/shop", .kind = kind, .file = ""};
	uint32_t id = label_intern(&tree->labels, &label);
	uint32_t node = tree_child(tree, parent, id, false);

	tree->nodes.at[node].self[TREE_NOW] += now;
	tree->nodes.at[node].self[TREE_BEFORE] += before;
	return node;
}

static void fill(struct tree *tree, const struct store_ask *ask)
{
	uint32_t main_node = put(tree, 0, "main", FILM_FRAME_NATIVE, 10, 10);
	uint32_t parse = put(tree, main_node, "parse", FILM_FRAME_NATIVE, 20, 40);
	uint32_t again = put(tree, parse, "parse", FILM_FRAME_NATIVE, 30, 0);

	put(tree, again, fake_hostile, FILM_FRAME_PYTHON, 40, 50);
	put(tree, main_node, "read", FILM_FRAME_KERNEL, 50, 0);
	put(tree, 0, "read", FILM_FRAME_KERNEL, 60, 0);
	for (unsigned int i = 0; is_service(ask, "large") && i < 60000; i++) {
		static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
		uint32_t node = main_node;

		for (unsigned int bits = i; bits; bits /= 8)
			node = put(tree, node, names[bits % 8], FILM_FRAME_NATIVE, 0, 0);
		tree->nodes.at[node].self[TREE_NOW] += 1 + i % 7;
	}
}

static int answer(const struct store_ask *ask, bool is_diff, struct store_answer *to,
		  struct fail *why)
{
	static const struct shape shape;
	struct view view = {0};
	int err = refuse(ask, why);

	*to = (struct store_answer){0};
	if (err)
		return err;
	to->private = calloc(1, sizeof(*to->private));
	to->private->event = (struct film_event){.name = "on-cpu", .unit = "ns"};
	view.event = &to->private->event;
	tree_init(&to->tree, &shape, false);
	fill(&to->tree, ask);
	tree_sum(&to->tree);
	flame_of_tree(&to->tree, &view, is_diff, &to->flame);
	functions_of(&to->tree, &to->flame, &to->functions);
	if (is_diff)
		functions_sort(&to->functions);
	to->sum = to->before = sum_of(ask, to->flame.nodes[0].total);
	to->before.total = to->tree.nodes.at[0].total[TREE_BEFORE];
	return 0;
}

int store_flame(struct store *store, const struct store_ask *ask, struct store_answer *to,
		struct fail *why)
{
	(void)store;
	return answer(ask, false, to, why);
}

/* The first function has calls of 0 to 9 us, and one that has not ended. */
int store_calls(struct store *store, const struct store_ask *ask, struct store_answer *to,
		struct fail *why)
{
	int err = answer(ask, false, to, why);
	struct call_stats *stats = err ? NULL : calloc(1, sizeof(*stats));

	(void)store;
	if (err)
		return err;
	stats->calls = 11;
	stats->open = 1;
	for (uint64_t us = 0; us < 10; us++)
		call_stats_measure(stats, 1000 * us);
	to->functions.at[0].calls[TREE_NOW] = stats;
	return 0;
}

int store_diff(struct store *store, const struct store_ask *before, const struct store_ask *now,
	       struct store_answer *to, struct fail *why)
{
	int err = answer(now, true, to, why);

	(void)store;
	if (!err) {
		to->before.from = sum_of(before, 0).from;
		to->before.to = sum_of(before, 0).to;
	}
	return err;
}

void store_answer_free(struct store_answer *answer_at)
{
	functions_free(&answer_at->functions);
	flame_free(&answer_at->flame);
	tree_free(&answer_at->tree);
	free(answer_at->private);
	*answer_at = (struct store_answer){0};
}

int store_series(struct store *store, const struct store_ask *ask, size_t limit,
		 struct store_series_list *list, struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	*list = (struct store_series_list){0};
	if (err)
		return err;
	list->sum = sum_of(ask, 210);
	list->at = calloc(2, sizeof(*list->at));
	list->count = limit < 2 ? limit : 2;
	list->at[0] = (struct store_series){"host7", "shop", "1.2", "env=prod", 30, 150};
	list->at[1] = (struct store_series){"host8", fake_hostile, "", "", 12, 60};
	list->others = list->count == 2 ? 0 : 60;
	return 0;
}

void store_series_free(struct store_series_list *list)
{
	free(list->at);
	*list = (struct store_series_list){0};
}

int store_processes(struct store *store, const struct store_ask *ask, size_t limit,
		    struct store_processes *list, struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	(void)limit;
	*list = (struct store_processes){0};
	if (err)
		return err;
	list->sum = sum_of(ask, 210);
	list->count = 4;
	list->at = calloc(list->count, sizeof(*list->at));
	list->at[0] = (struct store_process){"host7", "shop", "shop", "shop -v", 12, 0, 30, 150};
	list->at[1] = (struct store_process){"host7", "shop", "worker", "", 12, 13, 20, 100};
	list->at[2] = (struct store_process){"host7", "shop", "worker", "", 12, 14, 10, 50};
	list->at[3] = (struct store_process){"host8", "", fake_hostile, "", 9, 0, 12, 60};
	return 0;
}

void store_processes_free(struct store_processes *list)
{
	free(list->at);
	*list = (struct store_processes){0};
}

int store_places(struct store *store, const struct store_ask *ask, const char *name,
		 const char *image, struct store_places *places, struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	(void)image;
	*places = (struct store_places){0};
	if (err)
		return err;
	places->sum = sum_of(ask, 210);
	if (strcmp(name, "parse"))
		return 0;
	for (uint32_t i = 0; i < 3; i++)
		vec_push(&places->places.all, (struct place){
						      .image = "/usr/bin/shop",
						      .build_id = {0xab, (uint8_t)(i / 2)},
						      .build_id_size = 2,
						      .file = i ? fake_hostile : "",
						      .line = 10 * i,
						      .self = 10 + i,
						      .total = 20 + i,
					      });
	return 0;
}

void store_places_free(struct store_places *places)
{
	places_free(&places->places);
}

int store_losses(struct store *store, const struct store_ask *ask, struct store_losses *losses,
		 struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	*losses = (struct store_losses){0};
	if (err)
		return err;
	losses->sum.lost = 12;
	vec_push(&losses->all, (struct store_loss){strdup("samples: no room"), 7});
	vec_push(&losses->all, (struct store_loss){strdup(fake_hostile), 3});
	return 0;
}

void store_losses_free(struct store_losses *losses)
{
	vec_foreach (&losses->all, loss)
		free(loss->reason);
	vec_free(&losses->all);
}

int store_marks(struct store *store, const struct store_ask *ask, size_t limit,
		struct store_mark_list *list, struct fail *why)
{
	static const struct store_mark marks[] = {
		{1732199530000000000ull, "", "shop", "1.2", fake_hostile, false},
		{1732199560000000000ull, "", "shop", "0123456789abcdef", "", true},
	};
	int err = refuse(ask, why);

	(void)store;
	*list = (struct store_mark_list){.from = 1732199520000000000ull,
					 .to = 1732199580000000000ull};
	if (err)
		return err;
	list->count = limit < 2 ? limit : 2;
	list->at = calloc(2, sizeof(*list->at));
	memcpy(list->at, marks + 2 - list->count, list->count * sizeof(*marks));
	list->others = 2 - list->count;
	return 0;
}

void store_marks_free(struct store_mark_list *list)
{
	free(list->at);
	*list = (struct store_mark_list){0};
}

int store_mark(struct store *store, const struct store_mark *mark, struct fail *why)
{
	(void)store;
	return !strcmp(mark->service, "full") ? fail(why, -ENOSPC, NULL, "no room") : 0;
}

int store_timeline(struct store *store, const struct store_ask *ask, enum store_by by, size_t steps,
		   size_t rows, const char *function, struct store_timeline *timeline,
		   struct fail *why)
{
	int err = refuse(ask, why);

	(void)store;
	(void)rows;
	(void)function;
	*timeline = (struct store_timeline){0};
	if (err)
		return err;
	timeline->sum = sum_of(ask, 210);
	timeline->step = 60000000000ull;
	timeline->steps = steps < 3 ? steps : 3;
	timeline->filmed = calloc(timeline->steps, sizeof(uint64_t));
	for (size_t k = 0; k < timeline->steps; k++)
		timeline->filmed[k] = timeline->sum.filmed / timeline->steps;
	timeline->rows = by == STORE_BY_NOTHING ? 1 : 2;
	timeline->at = calloc(timeline->rows, sizeof(*timeline->at));
	for (size_t i = 0; i < timeline->rows; i++) {
		timeline->at[i].name = i || timeline->rows == 1 ? "" : fake_hostile;
		timeline->at[i].values = calloc(timeline->steps, sizeof(uint64_t));
		for (size_t k = 0; k < timeline->steps; k++)
			timeline->at[i].total += timeline->at[i].values[k] = 10 * i + k;
	}
	return 0;
}

void store_timeline_free(struct store_timeline *timeline)
{
	for (size_t i = 0; i < timeline->rows; i++)
		free(timeline->at[i].values);
	free(timeline->at);
	free(timeline->filmed);
	*timeline = (struct store_timeline){0};
}

int store_heat(struct store *store, const struct store_ask *ask, struct store_heat *heat,
	       struct fail *why)
{
	int err = heat_begin(&heat->map, 1732199520000000000ull, 1732199521000000000ull, why);

	(void)store;
	(void)ask;
	heat->sum = (struct store_sum){.samples = 1, .total = 7, .unit = "ns"};
	if (!err) {
		heat->map.cells[3] = 7;
		heat->map.most = 7;
	}
	return err;
}

void store_heat_free(struct store_heat *heat)
{
	heat_free(&heat->map);
}

size_t store_events(struct store *store, struct store_event *events, size_t max)
{
	(void)store;
	if (!max)
		return 0;
	events[0] = (struct store_event){"on-cpu", "ns"};
	return 1;
}

void store_status(struct store *store, struct store_status *status)
{
	(void)store;
	*status = (struct store_status){.films = 3,
					.bytes = 12345,
					.first = 1732199520000000000ull,
					.taken = last_number,
					.in_others = 6,
					.partial = 4};
}

/* The host "own" is filmed here, and any other belongs to who sent its last film. */
static struct {
	char host[64];
	uint64_t owner;
} owners[64];

int store_films_path(const struct store *store, bool *is_film, char *to, size_t size)
{
	(void)store;
	*is_film = false;
	snprintf(to, size, "/nonexistent");
	return 0;
}

void store_host(struct store *store, const char *host, struct store_host *of)
{
	(void)store;
	*of = (struct store_host){.is_own = !strcmp(host, "own")};
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if (!strcmp(owners[i].host, host))
			of->owner = owners[i].owner;
	pthread_mutex_unlock(&lock);
}

static void set_owner(const struct store_sender *sender)
{
	size_t i = 0;

	while (owners[i].owner && strcmp(owners[i].host, sender->host) != 0 &&
	       i + 1 < sizeof(owners) / sizeof(owners[0]))
		i++;
	snprintf(owners[i].host, sizeof(owners[i].host), "%s", sender->host);
	owners[i].owner = sender->owner;
}

/* A film is what begins with an 'S'. */
int store_add_film(struct store *store, const char *path, const struct store_sender *sender,
		   bool *again, struct fail *why)
{
	FILE *file = fopen(path, "re");
	int first = file ? fgetc(file) : EOF;

	(void)store;
	if (file)
		fclose(file);
	unlink(path);
	if (first == EOF)
		return fail(why, -ENOSPC, "make room", "the disk of the store is full");
	if (first != 'S')
		return fail(why, -EBADMSG, NULL, "this is no film");
	pthread_mutex_lock(&lock);
	*again = sender->number && sender->number <= last_number;
	if (sender->number > last_number)
		last_number = sender->number;
	set_owner(sender);
	pthread_mutex_unlock(&lock);
	return 0;
}

int store_add_names(struct store *store, const struct build_names_build *build,
		    struct build_names_added *added, struct fail *why)
{
	(void)store;
	(void)build;
	(void)why;
	*added = (struct build_names_added){.functions = 1};
	return 0;
}
