// SPDX-License-Identifier: Apache-2.0
/*
 * What ClickHouse says, as rows over a dictionary of the view's own: functions, paths and series
 * get numbers as they come, so that all that is made of rows is the same as of the folder's index.
 */
#include "store/fleet/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "store/ask_private.h"
#include "store/fleet/schema.h"

/* From here on an hour more at both ends is little. */
#define LONG_TIME (6 * NS_HOUR)

/* A collector that has sent nothing for that long is not waited for. */
#define COLLECTOR_GONE (24 * NS_HOUR)

enum {
	/* more functions in one statement are more than ClickHouse parses */
	FUNCTIONS_MAX = 5000,
};

struct series_row {
	uint32_t series;
	uint64_t minute;
	struct cell_sum sum;
};

struct fleet_view {
	struct sums_view view; /* the first */
	struct fleet_client client;
	struct dictionary *dictionary;
	struct build_names *names; /* the collector's own; null: none */
	struct map function_of;	   /* by hash */
	vec(struct series_row) rows;
	/* of stacks: their paths and values; one row */
	vec(uint64_t) paths;
	vec(uint64_t) values;
};

static struct fleet_view *fleet_view(struct sums_view *view)
{
	return (struct fleet_view *)view;
}

static int no_memory(struct fail *why)
{
	return fail_errno(why, -ENOMEM, NULL, "cannot ask ClickHouse");
}

bool fleet_answers(const struct asked *a, enum sums_what what, bool exact)
{
	const struct store_ask *ask = a->ask;
	bool hourly = a->from % NS_HOUR == 0 && a->to % NS_HOUR == 0;
	uint64_t length = a->to - a->from;

	if (!store_fleet(a->store) || a->is_level || length < NS_HOUR)
		return false;
	/* stacks do not say which services the client may see */
	if (what == SUMS_PATHS && ask->services &&
	    (!ask->service || !asked_service(ask, ask->service)))
		return false;
	if (what == SUMS_TOTALS || what == SUMS_HOURS || what == SUMS_MINUTES)
		return true;
	return what == SUMS_PATHS && !ask->host && !ask->version && !ask->label_count &&
	       (hourly || (!exact && length >= LONG_TIME));
}

static void close_view(const struct asked *asked, struct sums_view *view,
		       struct store_answer_private *keep)
{
	struct fleet_view *v = fleet_view(view);

	(void)asked;
	if (keep && !keep->dictionary) {
		keep->dictionary = v->dictionary;
	} else if (v->dictionary) {
		dictionary_free(v->dictionary);
		free(v->dictionary);
	}
	fleet_disconnect(&v->client);
	map_free(&v->function_of);
	vec_free(&v->rows);
	vec_free(&v->paths);
	vec_free(&v->values);
	sums_drop(&view->by_path);
	free(v);
}

static int open_view(const struct asked *asked, struct sums_view **view, struct fail *why)
{
	struct fleet_view *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return no_memory(why);
	v->view.verbs = &fleet_sums;
	v->names = store_build_names(asked->store);
	v->dictionary = calloc(1, sizeof(*v->dictionary));
	err = v->dictionary && !dictionary_init(v->dictionary) ? 0 : no_memory(why);
	if (!err)
		err = fleet_connect(store_fleet(asked->store), asked->ask->gone, &v->client, why);
	if (err) {
		close_view(asked, &v->view, NULL);
		return err;
	}
	v->view.dictionary = v->dictionary;
	*view = &v->view;
	return 0;
}

static struct fleet_ask ask_of(const struct asked *a)
{
	return (struct fleet_ask){
		.event = a->event_name,
		.first = a->first,
		.end = a->end,
		.host = a->ask->host,
		.service = a->ask->service,
		.version = a->ask->version,
	};
}

/* Series */

static int read_series_row(struct fleet_view *v, const struct asked *a, struct bytes *b)
{
	char *text[4] = {0};
	struct series_row row = {0};
	struct dictionary_series series;
	int err = 0;

	for (int i = 0; i < 4; i++)
		text[i] = fleet_read_text(b);
	row.minute = bytes_u32(b) / 60;
	row.sum.samples = bytes_u64(b);
	row.sum.total = bytes_u64(b);
	row.sum.truncated = bytes_u64(b);
	row.sum.guessed = bytes_u64(b);
	if (b->failed || !text[0] || !text[1] || !text[2] || !text[3]) {
		err = -EBADMSG;
	} else {
		series = (struct dictionary_series){text[0], text[1], text[2], text[3], 0};
		if (asked_series(a->ask, &series)) {
			row.series = dictionary_series(v->dictionary, &series);
			err = row.series && vec_push(&v->rows, row) ? 0 : -ENOMEM;
		}
	}
	for (int i = 0; i < 4; i++)
		free(text[i]);
	return err;
}

static int read_series(struct fleet_view *v, const struct asked *a, enum sums_what what,
		       struct fail *why)
{
	const struct fleet_ask ask = ask_of(a);
	enum fleet_step step = what == SUMS_MINUTES ? FLEET_MINUTE
			       : what == SUMS_HOURS ? FLEET_HOUR
						    : FLEET_WHOLE;
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_series(&sql, &ask, step);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	v->rows.count = 0;
	while (!err && bytes_left(&b)) {
		err = read_series_row(v, a, &b);
		if (err)
			err = err == -EBADMSG ? fleet_not_understood(why) : no_memory(why);
	}
	buf_free(&answer);
	return err;
}

/* Stacks */

/*
 * A place keeps its own name where the collector knows what it is called, as in the folder (see
 * build_names_apply()); else it has the name that another collector has found. found: "" for none.
 */
static void name_function(struct fleet_view *v, struct dictionary_function *f,
			  const struct film_image *image, const char *found)
{
	char to[BUILD_NAME_SIZE];

	if (!f->is_place || !*found || build_names_shown(v->names, image, f->name, to) == to)
		return;
	f->name = found;
	f->is_place = false;
}

static int add_function(struct fleet_view *v, uint64_t fn, struct dictionary_function *f,
			struct film_image *image, const char *found)
{
	struct dictionary *d = v->dictionary;
	uint32_t id;

	f->image = *image->path || image->kind ? dictionary_image(d, image) : 0;
	name_function(v, f, image, found);
	id = dictionary_function(d, f);
	return id && map_put(&v->function_of, fn, id) ? 0 : -ENOMEM;
}

static int read_function(struct fleet_view *v, struct bytes *b)
{
	uint64_t fn = bytes_u64(b);
	char *name = fleet_read_text(b), *path, *found;
	struct dictionary_function function = {.name = name};
	struct film_image image = {0};
	int err = -EBADMSG;
	bool is_build;

	function.kind = bytes_u8(b);
	function.is_place = bytes_u8(b);
	path = fleet_read_text(b);
	image.path = path;
	image.kind = bytes_u8(b);
	is_build = fleet_read_build(b, &image);
	found = fleet_read_text(b);
	if (!b->failed && is_build && name && path && found)
		err = add_function(v, fn, &function, &image, found);
	free(name);
	free(path);
	free(found);
	return err;
}

static int read_functions(struct fleet_view *v, const struct fleet_ask *ask, struct fail *why)
{
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_functions(&sql, ask);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b)) {
		err = read_function(v, &b);
		if (err)
			err = err == -EBADMSG ? fleet_not_understood(why) : no_memory(why);
	}
	buf_free(&answer);
	return err;
}

/* What a stack is where its row, or that of one of its functions, is missing. */
static uint32_t unknown(struct fleet_view *v)
{
	const struct dictionary_function mark = {.kind = FILM_FRAME_MARK, .name = "[unknown]"};

	return dictionary_function(v->dictionary, &mark);
}

static int read_stack(struct fleet_view *v, struct bytes *b)
{
	uint64_t value = bytes_u64(b), count = bytes_varint(b), size;
	/* as deep as a path of the index may be: what walks trees has room for no more */
	const uint8_t *fns = count <= TREE_DEPTH_MAX ? bytes_read(b, (size_t)count * 8) : NULL;
	const uint8_t *marks;
	struct bytes at;
	uint32_t path = 0;

	size = bytes_varint(b);
	marks = fns && size == count ? bytes_read(b, (size_t)size) : NULL;
	if (!marks)
		return -EBADMSG;
	at = (struct bytes){fns, fns + count * 8, false};
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t *known = map_get(&v->function_of, bytes_u64(&at));
		uint32_t function = known ? (uint32_t)*known : unknown(v);

		path = dictionary_path(v->dictionary, path, function,
				       marks[i] & (PATH_GUESS | PATH_INLINED));
		if (!function || !path)
			return -ENOMEM;
	}
	if (!count)
		path = dictionary_path(v->dictionary, 0, unknown(v), 0);
	return path && vec_push(&v->paths, path) && vec_push(&v->values, value) ? 0 : -ENOMEM;
}

static int read_stacks(struct fleet_view *v, const struct fleet_ask *ask, struct fail *why)
{
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_stacks(&sql, ask);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	v->paths.count = v->values.count = 0;
	while (!err && bytes_left(&b)) {
		err = read_stack(v, &b);
		if (err)
			err = err == -EBADMSG ? fleet_not_understood(why) : no_memory(why);
	}
	buf_free(&answer);
	return err;
}

struct function_list {
	vec(uint64_t) all;
};

static int match_name(struct fleet_view *v, struct bytes *b, struct regex *regex,
		      struct function_list *list)
{
	uint64_t fn = bytes_u64(b);
	char *name = fleet_read_text(b), *found;
	struct dictionary_function function = {.name = name};
	struct film_image image = {.path = ""};
	char to[BUILD_NAME_SIZE];
	bool is_build;
	int err = 0;

	function.is_place = bytes_u8(b);
	is_build = fleet_read_build(b, &image);
	found = fleet_read_text(b);
	if (b->failed || !is_build || !name || !found) {
		err = -EBADMSG;
	} else {
		name_function(v, &function, &image, found);
		if (function.is_place)
			function.name = build_names_shown(v->names, &image, name, to);
		if (regex_matches(regex, function.name) && !vec_push(&list->all, fn))
			err = -ENOMEM;
	}
	free(name);
	free(found);
	return err;
}

/*
 * The functions that the ask looks for: their names are compared here, so that a pattern means the
 * same everywhere. *too_many: the stacks are searched instead.
 */
static int find_functions(struct fleet_view *v, struct regex *regex, struct function_list *list,
			  bool *too_many, struct fail *why)
{
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_names(&sql);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b) && list->all.count <= FUNCTIONS_MAX) {
		err = match_name(v, &b, regex, list);
		if (err)
			err = err == -EBADMSG ? fleet_not_understood(why) : no_memory(why);
	}
	buf_free(&answer);
	*too_many = list->all.count > FUNCTIONS_MAX;
	return err ? err : regex_check(regex, why);
}

static int select_paths(struct fleet_view *v, struct asked *a, struct fail *why)
{
	struct regex *focus = a->ask->question ? a->ask->question->filter.focus : NULL;
	struct function_list list = {0};
	const uint64_t no_function = 0;
	struct fleet_ask ask;
	bool too_many = true;
	int err = 0;

	a->first = a->first / HOUR_MINUTES * HOUR_MINUTES;
	a->end = (a->end + HOUR_MINUTES - 1) / HOUR_MINUTES * HOUR_MINUTES;
	ask = ask_of(a);
	if (focus && asked_by_names(a))
		err = find_functions(v, focus, &list, &too_many, why);
	if (!too_many) {
		/* none is not the same as all */
		ask.functions = list.all.at ? list.all.at : &no_function;
		ask.function_count = list.all.count;
	}
	if (!err)
		err = read_functions(v, &ask, why);
	if (!err)
		err = read_stacks(v, &ask, why);
	/* what is said of the samples */
	if (!err)
		err = read_series(v, a, SUMS_TOTALS, why);
	vec_free(&list.all);
	return err;
}

static int select_rows(struct asked *a, struct sums_view *view, enum sums_what what,
		       struct fail *why)
{
	struct fleet_view *v = fleet_view(view);
	int err = what == SUMS_PATHS ? select_paths(v, a, why) : read_series(v, a, what, why);

	dictionary_publish(v->dictionary);
	view->paths = dictionary_readable(&v->dictionary->paths);
	return err;
}

/* One row stands for all stacks. */
static int pass_paths(struct fleet_view *v, const struct asked *a,
		      int (*row)(void *context, const struct sums_row *row), void *context,
		      struct fail *why)
{
	struct sums_row all = {.minute = a->first};
	struct store_sum paths = {0};
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; !err && i < v->paths.count; i++) {
		if (a->kept && !a->kept[v->paths.at[i]])
			continue;
		v->paths.at[count] = v->paths.at[i];
		v->values.at[count] = v->values.at[i];
		err = sum_add(&paths, 0, v->values.at[count++], why);
	}
	if (err)
		return err;
	vec_foreach (&v->rows, series) {
		if (a->kept)
			break;
		all.series = series->series;
		cell_sum_add(&all.sum, &series->sum);
	}
	/* in the place of that of the series: the paths that are kept */
	all.sum.total = paths.total;
	all.path = v->paths.at;
	all.value = v->values.at;
	all.count = count;
	return count ? row(context, &all) : 0;
}

static int each_row(const struct asked *a, struct sums_view *view, enum sums_what what,
		    int (*row)(void *context, const struct sums_row *row), void *context,
		    struct fail *why)
{
	struct fleet_view *v = fleet_view(view);
	int err = asked_still(a, why);

	if (what == SUMS_PATHS)
		return err ? err : pass_paths(v, a, row, context, why);
	for (size_t i = 0; !err && i < v->rows.count; i++) {
		const struct series_row *at = &v->rows.at[i];

		err = row(context, &(struct sums_row){.series = at->series,
						      .minute = at->minute,
						      .sum = at->sum});
	}
	return err;
}

/* Beside the sums */

static int read_filmed(struct fleet_view *v, const struct asked *a, struct store_sum *sum,
		       struct fail *why)
{
	struct filmed filmed = {.until = sum->from, .end = sum->to, .steps = a->steps};
	const struct fleet_ask ask = ask_of(a);
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_filmed(&sql, &ask);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b)) {
		uint64_t begin = bytes_u64(&b), end = bytes_u64(&b);

		if (b.failed)
			err = fleet_not_understood(why);
		else
			filmed_add(&filmed, begin, end);
	}
	sum->filmed = filmed.sum;
	buf_free(&answer);
	return err;
}

static int read_lost(struct fleet_view *v, const struct asked *a, struct store_sum *sum,
		     struct fail *why)
{
	const struct fleet_ask ask = ask_of(a);
	struct buf sql = {0}, answer = {0};
	struct bytes b;
	int err;

	fleet_sql_lost(&sql, &ask);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	b = buf_bytes(&answer);
	while (!err && bytes_left(&b)) {
		bool is_of_event = bytes_u8(&b), is_part = bytes_u8(&b);
		uint64_t count = bytes_u64(&b);

		if (b.failed)
			err = fleet_not_understood(why);
		sum->lost = add_saturated(sum->lost, count);
		if (is_of_event && !is_part)
			sum->lost_samples = add_saturated(sum->lost_samples, count);
	}
	buf_free(&answer);
	return err;
}

/* The least of what collectors that are still there have sent, the own one among them. */
static int read_until(struct fleet_view *v, struct store_sum *sum, struct fail *why)
{
	struct buf sql = {0}, answer = {0};
	uint64_t last = 0, until = v->client.fleet->until;
	struct bytes b;
	int err;

	if (until < sum->complete_until)
		sum->complete_until = until > sum->from ? until : sum->from;
	fleet_sql_collectors(&sql);
	err = fleet_run_once(&v->client, &sql, &answer, why);
	for (b = buf_bytes(&answer); !err && bytes_left(&b);) {
		until = bytes_u64(&b);
		last = until > last ? until : last;
	}
	for (b = buf_bytes(&answer); !err && bytes_left(&b);) {
		until = bytes_u64(&b);
		if (b.failed)
			err = fleet_not_understood(why);
		else if (until + COLLECTOR_GONE > last && until < sum->complete_until)
			sum->complete_until = until > sum->from ? until : sum->from;
	}
	buf_free(&answer);
	return err;
}

/* Damaged films are those of this collector. */
static int read_about(const struct asked *a, struct sums_view *view, struct store_sum *sum,
		      struct fail *why)
{
	struct fleet_view *v = fleet_view(view);
	struct asked own = *a;
	struct store_sum of_own = {0};
	struct sums_view *index;
	int err = index_sums.open(a, &index, why);

	if (err)
		return err;
	own.steps = NULL;
	err = index_sums.about(&own, index, &of_own, why);
	index_sums.close(a, index, NULL);
	sum->from = sum->complete_from = a->first * NS_MINUTE;
	sum->to = sum->complete_until = a->end * NS_MINUTE;
	sum->unit = a->unit;
	sum->films_damaged = of_own.films_damaged;
	if (!err)
		err = read_filmed(v, a, sum, why);
	if (!err)
		err = read_lost(v, a, sum, why);
	return err ? err : read_until(v, sum, why);
}

/* Films are where they were: those of this collector. */
static int each_film(const struct asked *a, struct sums_view *view,
		     int (*film)(void *context, const struct sums_film *film), void *context,
		     struct fail *why)
{
	struct sums_view *index;
	int err = index_sums.open(a, &index, why);

	(void)view;
	if (err)
		return err;
	err = index_sums.films(a, index, film, context, why);
	index_sums.close(a, index, NULL);
	return err;
}

const struct sums_verbs fleet_sums = {
	.open = open_view,
	.select = select_rows,
	.about = read_about,
	.each = each_row,
	.films = each_film,
	.close = close_view,
};
