// SPDX-License-Identifier: Apache-2.0
#include "film/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/catalogue.h"
#include "film/schema.h"

/* An inlined call, and the number of the block of names that gave it. */
struct given {
	struct film_inline call;
	uint32_t block;
};

struct loader {
	sqlite3 *db;
	const char *path;
	struct fail *why;
	struct film *film;
	struct arena *texts;
	/*
	 * Bytes of text that may still come. In a sound file they are all different bytes of the
	 * file; rows that share the same bytes could ask for any amount of memory.
	 */
	uint64_t text_left;
	struct column_reader columns;
	uint64_t names_left;		 /* bytes of function names that may still come */
	uint32_t name_block;		 /* number of the block of names at hand */
	vec(uint32_t) named_by;		 /* the block that names it, by frame */
	vec(struct given) given;	 /* inlined calls, also those that a later block replaced */
	vec(struct film_place) places;	 /* of the block of frames at hand */
	vec(struct film_naming) namings; /* of the block of names at hand */
	vec(struct film_start) starts;	 /* of the block of starts at hand */
	size_t start_blocks;

	unsigned int meta_rows, meta_known;
	size_t block_rows; /* of any kind */

	vec(struct film_event) events;
	vec(struct film_process) processes;
	vec(struct film_thread) threads;
	vec(struct film_image) images;
	vec(struct film_function) functions;
	vec(const char *) files;
	vec(struct film_frame) frames;
	vec(struct film_inline) inlines;
	vec(struct film_stack) stacks;
	vec(struct film_loss) losses;
	vec(struct film_block) blocks;
};

/* Rows of the table meta that a film has, and that one of a later stackcam may have. */
#define META_ROWS     9
#define META_ROWS_MAX 64

/* A row that is being taken. err is set by what is wrong with it: -EBADMSG or -ENOMEM. */
struct row {
	struct loader *l;
	sqlite3_stmt *at;
	int err;
};

/* A number from 0 to max. SQLite keeps any type in any column, so the type is checked too. */
static uint64_t number(struct row *r, int column, uint64_t max)
{
	uint64_t value = (uint64_t)sqlite3_column_int64(r->at, column);

	if (sqlite3_column_type(r->at, column) == SQLITE_INTEGER && value <= max)
		return value;
	r->err = -EBADMSG;
	return 0;
}

static uint32_t number32(struct row *r, int column, uint64_t max)
{
	return (uint32_t)number(r, column, max);
}

/* An id of a table that holds count entries, the unused one of id 0 included. */
static uint32_t id_of(struct row *r, int column, size_t count)
{
	return number32(r, column, count - 1);
}

/* Checks that the ids of a table are 1, 2, 3 …, at most max: count is the next one. */
static void check_id(struct row *r, size_t count, uint64_t max)
{
	if (number(r, 0, max) != count)
		r->err = -EBADMSG;
}

static const char *text(struct row *r, int column)
{
	const char *s = NULL;
	size_t size;

	if (sqlite3_column_type(r->at, column) == SQLITE_TEXT)
		s = (const char *)sqlite3_column_text(r->at, column);
	size = s ? (size_t)sqlite3_column_bytes(r->at, column) : 0;
	if (!s || size > FILM_TEXT_MAX || size > r->l->text_left || memchr(s, 0, size)) {
		r->err = -EBADMSG;
		return "";
	}
	if (!size)
		return "";
	r->l->text_left -= size;
	s = arena_text(r->l->texts, s, size);
	if (!s)
		r->err = -ENOMEM;
	return s ? s : "";
}

static const void *bytes(struct row *r, int column, size_t *size)
{
	const void *at;

	if (sqlite3_column_type(r->at, column) != SQLITE_BLOB)
		r->err = -EBADMSG;
	at = sqlite3_column_blob(r->at, column);
	*size = at ? (size_t)sqlite3_column_bytes(r->at, column) : 0;
	return at;
}

/* Takes all rows of a query: take() pushes one and sets r->err if it cannot. */
static int each_row(struct loader *l, const char *table, const char *sql,
		    void (*take)(struct row *r))
{
	struct row r = {.l = l};
	char what[64];
	int rc = sqlite3_prepare_v2(l->db, sql, -1, &r.at, NULL);

	if (rc == SQLITE_OK) {
		while (!r.err && (rc = sqlite3_step(r.at)) == SQLITE_ROW)
			take(&r);
	}
	if (!r.err && rc != SQLITE_DONE) {
		film_read_failed(l->db, rc, l->path, l->why);
		r.err = film_sql_errno(l->db, rc);
	} else if (r.err == -EBADMSG) {
		snprintf(what, sizeof(what), "a row of the table %s is not valid", table);
		film_damaged(l->why, l->path, what);
	} else if (r.err) {
		fail_errno(l->why, r.err, NULL, "cannot read %s", l->path);
	}
	sqlite3_finalize(r.at);
	return r.err;
}

#define push(r, table, ...)                                              \
	do {                                                             \
		if (!(r)->err && !vec_push(&(r)->l->table, __VA_ARGS__)) \
			(r)->err = -ENOMEM;                              \
	} while (0)

static void take_meta(struct row *r)
{
	struct film_info *info = &r->l->film->info;
	const char *name = (const char *)sqlite3_column_text(r->at, 0);

	r->l->meta_known++;
	if (!name || ++r->l->meta_rows > META_ROWS_MAX)
		r->err = -EBADMSG;
	else if (!strcmp(name, "version"))
		info->version = text(r, 1);
	else if (!strcmp(name, "hostname"))
		info->hostname = text(r, 1);
	else if (!strcmp(name, "kernel"))
		info->kernel = text(r, 1);
	else if (!strcmp(name, "arch"))
		info->arch = text(r, 1);
	else if (!strcmp(name, "command"))
		info->command = text(r, 1);
	else if (!strcmp(name, "cpus"))
		info->cpus = number32(r, 1, UINT32_MAX);
	else if (!strcmp(name, "start"))
		info->start = number(r, 1, UINT64_MAX);
	else if (!strcmp(name, "end"))
		info->end = number(r, 1, UINT64_MAX);
	else if (!strcmp(name, "wall_offset"))
		info->wall_offset = (int64_t)number(r, 1, UINT64_MAX);
	else
		r->l->meta_known--;
}

static void take_event(struct row *r)
{
	struct film_event event = {
		.name = text(r, 1),
		.unit = text(r, 2),
		.source = text(r, 3),
		.frequency = number32(r, 4, UINT32_MAX),
	};

	check_id(r, r->l->events.count, FILM_EVENTS_MAX - 1);
	push(r, events, event);
}

static void take_process(struct row *r)
{
	struct film_process process = {
		.pid = number32(r, 1, UINT32_MAX),
		.parent = number32(r, 2, UINT32_MAX),
		.start = number(r, 3, UINT64_MAX),
		.end = number(r, 4, UINT64_MAX),
		.comm = text(r, 5),
		.command = text(r, 6),
		.exe = text(r, 7),
		.cgroup = text(r, 8),
		.container = text(r, 9),
	};

	check_id(r, r->l->processes.count, FILM_ROWS_MAX);
	push(r, processes, process);
}

static void take_thread(struct row *r)
{
	struct film_thread thread = {
		.process = id_of(r, 1, r->l->processes.count),
		.tid = number32(r, 2, UINT32_MAX),
		.start = number(r, 3, UINT64_MAX),
		.comm = text(r, 4),
	};

	check_id(r, r->l->threads.count, FILM_ROWS_MAX);
	push(r, threads, thread);
}

static void take_image(struct row *r)
{
	struct film_image image = {
		.kind = (enum film_image_kind)number32(r, 1, UINT8_MAX),
		.path = text(r, 2),
	};
	size_t size;
	const void *build_id = bytes(r, 3, &size);

	if (size > FILM_BUILD_ID_MAX)
		r->err = -EBADMSG;
	else if (size)
		memcpy(image.build_id, build_id, size);
	image.build_id_size = (uint32_t)size;
	check_id(r, r->l->images.count, FILM_ROWS_MAX);
	push(r, images, image);
}

static void take_file(struct row *r)
{
	const char *path = text(r, 1);

	check_id(r, r->l->files.count, FILM_ROWS_MAX);
	push(r, files, path);
}

/* The rows of a block that says to hold the ids from first on, at most max; 0 when err is set. */
static uint32_t block_rows(struct row *r, size_t first, uint32_t max)
{
	uint32_t count = number32(r, 1, FILM_BLOCK_MAX);

	check_id(r, first, max);
	if (!count || (!r->err && count > max + 1 - first))
		r->err = -EBADMSG;
	return r->err ? 0 : count;
}

static void take_functions(struct row *r)
{
	struct loader *l = r->l;
	size_t first = l->functions.count, size, i;
	uint32_t count = block_rows(r, first, FILM_FUNCTIONS_MAX);
	const void *data = bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->functions, first + count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = functions_unpack(&l->columns, data, size, (uint32_t)l->images.count, l->texts,
				  l->functions.at + first, count);
	for (i = first; !r->err && i < first + count; i++) {
		size_t length = strlen(l->functions.at[i].name);

		if (length > l->names_left)
			r->err = -EBADMSG;
		else
			l->names_left -= length;
	}
	if (!r->err)
		l->functions.count += count;
}

static void take_frames(struct row *r)
{
	struct loader *l = r->l;
	size_t first = l->frames.count, size, i;
	uint32_t count = block_rows(r, first, FILM_FRAMES_MAX);
	const void *data = bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->frames, first + count) || !vec_reserve(&l->places, count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = places_unpack(&l->columns, data, size, (uint32_t)l->images.count, l->places.at,
			       count);
	for (i = 0; !r->err && i < count; i++)
		l->frames.at[l->frames.count++] = (struct film_frame){
			.image = l->places.at[i].image,
			.kind = (enum film_frame_kind)l->places.at[i].kind,
			.address = l->places.at[i].address,
			.file = "",
		};
}

/* Forgets the inlined calls that a later block of names replaced. */
static void drop_replaced(struct loader *l)
{
	size_t kept = 0;

	vec_foreach (&l->given, given) {
		if (l->named_by.at[given->call.frame] == given->block)
			l->given.at[kept++] = *given;
	}
	l->given.count = kept;
}

static void apply_name(struct row *r, const struct film_naming *naming)
{
	struct loader *l = r->l;
	struct film_frame *frame = &l->frames.at[naming->frame];
	struct given given = {
		.call = {naming->frame, naming->depth, naming->function, l->files.at[naming->file],
			 naming->line},
		.block = l->name_block,
	};

	if (naming->depth) {
		push(r, given, given);
		return;
	}
	l->named_by.at[naming->frame] = l->name_block;
	frame->function = naming->function;
	frame->file = l->files.at[naming->file];
	frame->line = naming->line;
}

static void take_names(struct row *r)
{
	struct loader *l = r->l;
	uint32_t count = block_rows(r, l->name_block + 1, UINT32_MAX - FILM_BLOCK_MAX), i;
	size_t size;
	const void *data = bytes(r, 2, &size);

	if (r->err)
		return;
	if (!l->name_block++) {
		if (!vec_reserve(&l->named_by, l->frames.count)) {
			r->err = -ENOMEM;
			return;
		}
		memset(l->named_by.at, 0, l->frames.count * sizeof(*l->named_by.at));
	}
	if (!vec_reserve(&l->namings, count)) {
		r->err = -ENOMEM;
		return;
	}
	r->err = namings_unpack(&l->columns, data, size, (uint32_t)l->frames.count,
				(uint32_t)l->functions.count, (uint32_t)l->files.count,
				l->namings.at, count);
	for (i = 0; !r->err && i < count; i++)
		apply_name(r, &l->namings.at[i]);
	if (l->given.count > FILM_INLINES_MAX)
		drop_replaced(l);
	if (l->given.count > FILM_INLINES_MAX)
		r->err = -EBADMSG;
}

static void take_starts(struct row *r)
{
	struct loader *l = r->l;
	uint32_t count = block_rows(r, ++l->start_blocks, UINT32_MAX - FILM_BLOCK_MAX), i;
	size_t size;
	const void *data = bytes(r, 2, &size);

	if (!r->err && !vec_reserve(&l->starts, count))
		r->err = -ENOMEM;
	if (!r->err)
		r->err = starts_unpack(&l->columns, data, size, (uint32_t)l->frames.count,
				       l->starts.at, count);
	for (i = 0; !r->err && i < count; i++) {
		struct film_frame *frame = &l->frames.at[l->starts.at[i].frame];

		/* a mark's address is 0: it has no code that could begin anywhere */
		if (l->starts.at[i].distance >= frame->address)
			r->err = -EBADMSG;
		else
			frame->start = frame->address - l->starts.at[i].distance;
	}
}

static void take_stacks(struct row *r)
{
	struct loader *l = r->l;
	size_t first = l->stacks.count, size;
	uint32_t count = block_rows(r, first, FILM_STACKS_MAX);
	const void *data = bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->stacks, first + count))
		r->err = -ENOMEM;
	else
		r->err = stacks_unpack(&l->columns, data, size, (uint32_t)first,
				       (uint32_t)l->frames.count, l->stacks.at + first, count);
	if (!r->err)
		l->stacks.count += count;
}

static void take_loss(struct row *r)
{
	struct film_loss loss = {
		.event = id_of(r, 1, r->l->events.count),
		.reason = text(r, 2),
		.count = number(r, 3, UINT64_MAX),
	};

	check_id(r, r->l->losses.count + 1, FILM_LOSSES_MAX);
	push(r, losses, loss);
}

static void take_block(struct row *r)
{
	struct film_block block = {0};

	check_id(r, ++r->l->block_rows, INT64_MAX);
	/* what other kinds mean by their columns is not known here */
	if (number(r, 2, INT64_MAX) != FILM_BLOCK_SAMPLES)
		return;
	block.id = (int64_t)number(r, 0, INT64_MAX);
	block.event = id_of(r, 1, r->l->events.count);
	block.span.t0 = number(r, 3, UINT64_MAX);
	block.span.t1 = number(r, 4, UINT64_MAX);
	block.span.count = number32(r, 5, FILM_BLOCK_MAX);
	block.span.total = number(r, 6, UINT64_MAX);
	if (!block.event || !block.span.count || block.span.t0 > block.span.t1)
		r->err = -EBADMSG;
	push(r, blocks, block);
}

static const struct {
	const char *table, *sql;
	void (*take)(struct row *r);
} loads[] = {
	/* each before those that refer to it */
	{"meta", "SELECT * FROM meta", take_meta},
	{"event", "SELECT * FROM event ORDER BY id", take_event},
	{"process", "SELECT * FROM process ORDER BY id", take_process},
	{"thread", "SELECT * FROM thread ORDER BY id", take_thread},
	{"image", "SELECT * FROM image ORDER BY id", take_image},
	{"file", "SELECT * FROM file ORDER BY id", take_file},
	{"function", "SELECT * FROM function ORDER BY id", take_functions},
	{"frame", "SELECT * FROM frame ORDER BY id", take_frames},
	{"name", "SELECT * FROM name ORDER BY id", take_names},
	{"start", "SELECT * FROM start ORDER BY id", take_starts},
	{"stack", "SELECT * FROM stack ORDER BY id", take_stacks},
	{"loss", "SELECT * FROM loss ORDER BY id", take_loss},
	/* not data: it would be read from the disk with it */
	{"block", "SELECT id, event, kind, t0, t1, n, total FROM block ORDER BY id", take_block},
};

/* The unused entries of id 0. */
static int push_unused(struct loader *l)
{
	static const struct film_process process = {
		.comm = "", .command = "", .exe = "", .cgroup = "", .container = ""};

	if (vec_push(&l->events, (struct film_event){.name = "", .unit = "", .source = ""}) &&
	    vec_push(&l->processes, process) &&
	    vec_push(&l->threads, (struct film_thread){.comm = ""}) &&
	    vec_push(&l->images, (struct film_image){.path = ""}) &&
	    vec_push(&l->functions, (struct film_function){.name = ""}) &&
	    vec_push(&l->files, "") && vec_push(&l->frames, (struct film_frame){.file = ""}) &&
	    vec_push(&l->stacks, (struct film_stack){0}))
		return 0;
	return fail_errno(l->why, -ENOMEM, NULL, "cannot read %s", l->path);
}

static int by_start(const void *a, const void *b)
{
	const struct film_block *x = a, *y = b;

	if (x->span.t0 != y->span.t0)
		return x->span.t0 < y->span.t0 ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void hand_over(struct loader *l)
{
	struct film *film = l->film;

	film->events = l->events.at;
	film->event_count = (uint32_t)l->events.count;
	film->processes = l->processes.at;
	film->process_count = (uint32_t)l->processes.count;
	film->threads = l->threads.at;
	film->thread_count = (uint32_t)l->threads.count;
	film->images = l->images.at;
	film->image_count = (uint32_t)l->images.count;
	film->functions = l->functions.at;
	film->function_count = (uint32_t)l->functions.count;
	film->frames = l->frames.at;
	film->frame_count = (uint32_t)l->frames.count;
	film->stacks = l->stacks.at;
	film->stack_count = (uint32_t)l->stacks.count;
	film->inlines = l->inlines.at;
	film->inline_count = l->inlines.count;
	film->losses = l->losses.at;
	film->loss_count = l->losses.count;
	film->private->files = l->files.at;
	film->private->file_count = (uint32_t)l->files.count;
	film->private->blocks = l->blocks.at;
	film->private->block_count = l->blocks.count;
	if (l->blocks.count)
		qsort(l->blocks.at, l->blocks.count, sizeof(*l->blocks.at), by_start);
}

static int by_frame(const void *a, const void *b)
{
	const struct film_inline *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int collect_inlines(struct loader *l)
{
	drop_replaced(l);
	if (!vec_reserve(&l->inlines, l->given.count))
		return fail_errno(l->why, -ENOMEM, NULL, "cannot read %s", l->path);
	vec_foreach (&l->given, given)
		l->inlines.at[l->inlines.count++] = given->call;
	if (l->inlines.count)
		qsort(l->inlines.at, l->inlines.count, sizeof(*l->inlines.at), by_frame);
	return 0;
}

static int load_tables(struct loader *l)
{
	int64_t pages, page_size;
	size_t i;
	int err;
	int rc = film_sql_number(l->db, "PRAGMA page_count", &pages);

	if (rc == SQLITE_OK)
		rc = film_sql_number(l->db, "PRAGMA page_size", &page_size);
	if (rc != SQLITE_OK)
		return film_read_failed(l->db, rc, l->path, l->why);
	l->text_left = (uint64_t)pages * (uint64_t)page_size;
	err = push_unused(l);
	for (i = 0; !err && i < sizeof(loads) / sizeof(loads[0]); i++)
		err = each_row(l, loads[i].table, loads[i].sql, loads[i].take);
	if (err)
		return err;
	if (!l->meta_known)
		return fail(l->why, -EBADMSG, "record again",
			    "%s is empty: its recording ended before the first commit", l->path);
	if (l->meta_known != META_ROWS)
		return film_damaged(l->why, l->path, "a row of the table meta is missing");
	return collect_inlines(l);
}

int film_load(sqlite3 *db, const char *path, struct film *film, struct fail *why)
{
	struct loader l = {.db = db,
			   .path = path,
			   .why = why,
			   .film = film,
			   .texts = &film->private->texts,
			   .names_left = FILM_NAMES_MAX};
	int rc, err;

	film->info = (struct film_info){
		.version = "", .hostname = "", .kernel = "", .arch = "", .command = ""};
	/* one transaction: all tables as they were at one moment, also while the film is written */
	rc = film_sql_run(db, "BEGIN");
	err = rc == SQLITE_OK ? film_check_schema(db, path, why)
			      : film_read_failed(db, rc, path, why);
	if (!err)
		err = load_tables(&l);
	if (rc == SQLITE_OK)
		film_sql_run(db, "COMMIT");
	hand_over(&l);
	column_reader_free(&l.columns);
	vec_free(&l.named_by);
	vec_free(&l.given);
	vec_free(&l.places);
	vec_free(&l.namings);
	vec_free(&l.starts);
	return err;
}
