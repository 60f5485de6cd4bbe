// SPDX-License-Identifier: Apache-2.0
#include "film/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/labels.h"
#include "film/roles.h"
#include "film/loading.h"
#include "film/processes.h"
#include "film/schema.h"

/*
 * Rows of the table meta that a film has, and that one of a later stackcam, or with labels, may
 * have.
 */
#define META_ROWS     9
#define META_ROWS_MAX 96

/* A row that holds a label: rows come in the order of their names, so the keys are sorted. */
static void read_label(struct film_row *r, const char *key)
{
	struct loader *l = r->context;
	const char *value = row_text(r, 1);
	size_t used = strlen(l->labels);

	if (r->err)
		return;
	if (!film_label_key_ok(key, strlen(key)) || !film_label_value_ok(value, strlen(value)) ||
	    used + strlen(key) + strlen(value) + 3 > sizeof(l->labels))
		r->err = -EBADMSG;
	else
		snprintf(l->labels + used, sizeof(l->labels) - used, "%s%s=%s", used ? "," : "",
			 key, value);
}

/* One that not all films have. */
static void read_settled(struct film_row *r)
{
	loader_of(r)->film->settled = row_number(r, 1, UINT64_MAX);
	loader_of(r)->meta_known--;
}

/* Films of earlier versions do not tell. */
static void read_is_open(struct film_row *r)
{
	loader_of(r)->film->is_open = row_number(r, 1, UINT64_MAX) != 0;
	loader_of(r)->meta_known--;
}

static void read_meta(struct film_row *r)
{
	struct film_info *info = &loader_of(r)->film->info;
	const char *name = (const char *)sqlite3_column_text(r->at, 0);

	loader_of(r)->meta_known++;
	if (!name || ++loader_of(r)->meta_rows > META_ROWS_MAX)
		r->err = -EBADMSG;
	else if (!strcmp(name, "version"))
		info->version = row_text(r, 1);
	else if (!strcmp(name, "hostname"))
		info->hostname = row_text(r, 1);
	else if (!strcmp(name, "kernel"))
		info->kernel = row_text(r, 1);
	else if (!strcmp(name, "arch"))
		info->arch = row_text(r, 1);
	else if (!strcmp(name, "command"))
		info->command = row_text(r, 1);
	else if (!strcmp(name, "cpus"))
		info->cpus = row_number32(r, 1, UINT32_MAX);
	else if (!strcmp(name, "start"))
		info->start = row_number(r, 1, UINT64_MAX);
	else if (!strcmp(name, "end"))
		info->end = row_number(r, 1, UINT64_MAX);
	else if (!strcmp(name, "wall_offset"))
		info->wall_offset = (int64_t)row_number(r, 1, UINT64_MAX);
	else if (!strcmp(name, "settled"))
		read_settled(r);
	else if (!strcmp(name, "open"))
		read_is_open(r);
	else
		loader_of(r)->meta_known--;
	if (name && !r->err && !strcmp(name, FILM_ROLES_ROW))
		info->roles = row_text(r, 1);
	if (name && !r->err && !strncmp(name, FILM_LABEL_ROW, strlen(FILM_LABEL_ROW)))
		read_label(r, name + strlen(FILM_LABEL_ROW));
}

static void read_event(struct film_row *r)
{
	struct film_event event = {
		.name = row_text(r, 1),
		.unit = row_text(r, 2),
		.source = row_text(r, 3),
		.frequency = row_number32(r, 4, UINT32_MAX),
	};

	row_check_id(r, loader_of(r)->events.count, FILM_EVENTS_MAX - 1);
	push(r, events, event);
}

static void read_process(struct film_row *r)
{
	struct film_process process = {
		.pid = row_number32(r, 1, UINT32_MAX),
		.parent = row_number32(r, 2, UINT32_MAX),
		.start = row_number(r, 3, UINT64_MAX),
		.end = row_number(r, 4, UINT64_MAX),
		.comm = row_text(r, 5),
		.command = row_text(r, 6),
		.exe = row_text(r, 7),
		.cgroup = row_text(r, 8),
		.container = row_text(r, 9),
		.user = "",
		.resource = "",
	};

	if (loader_of(r)->version >= 3) {
		process.user = row_text(r, 10);
		process.resource = row_text(r, 11);
	}

	row_check_id(r, loader_of(r)->processes.count, FILM_ROWS_MAX);
	push(r, processes, process);
}

static void read_thread(struct film_row *r)
{
	struct film_thread thread = {
		.process = row_id(r, 1, loader_of(r)->processes.count),
		.tid = row_number32(r, 2, UINT32_MAX),
		.start = row_number(r, 3, UINT64_MAX),
		.comm = row_text(r, 4),
	};

	row_check_id(r, loader_of(r)->threads.count, FILM_ROWS_MAX);
	push(r, threads, thread);
}

/* The blocks of packed rows come before the rows: nothing is there yet but the unused entry. */
static void read_processes(struct film_row *r)
{
	struct loader *l = r->context;
	const struct processes_texts texts = {l->replaced, &l->words_left, l->version};
	size_t first = l->processes.count, size;
	uint32_t count = load_block_rows(r, first, FILM_ROWS_MAX);
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->processes, first + count))
		r->err = -ENOMEM;
	else
		r->err = processes_unpack(&l->columns, data, size, &texts, l->processes.at + first,
					  count);
	if (!r->err)
		l->processes.count += count;
}

static void read_threads(struct film_row *r)
{
	struct loader *l = r->context;
	const struct processes_texts texts = {l->replaced, &l->words_left, l->version};
	size_t first = l->threads.count, size;
	uint32_t count = load_block_rows(r, first, FILM_ROWS_MAX);
	const void *data = row_bytes(r, 2, &size);

	if (r->err)
		return;
	if (!vec_reserve(&l->threads, first + count))
		r->err = -ENOMEM;
	else
		r->err = threads_unpack(&l->columns, data, size, &texts, l->processes.at,
					l->processes.count, l->threads.at + first, count);
	if (!r->err)
		l->threads.count += count;
}

static void read_image(struct film_row *r)
{
	struct film_image image = {
		.kind = (enum film_image_kind)row_number32(r, 1, UINT8_MAX),
		.path = row_text(r, 2),
	};
	size_t size;
	const void *build_id = row_bytes(r, 3, &size);

	if (size > FILM_BUILD_ID_MAX)
		r->err = -EBADMSG;
	else if (size)
		memcpy(image.build_id, build_id, size);
	image.build_id_size = (uint32_t)size;
	row_check_id(r, loader_of(r)->images.count, FILM_ROWS_MAX);
	push(r, images, image);
}

static void read_file(struct film_row *r)
{
	const char *path = row_text(r, 1);

	row_check_id(r, loader_of(r)->files.count, FILM_ROWS_MAX);
	push(r, files, path);
}

static void read_loss(struct film_row *r)
{
	struct film_loss loss = {
		.event = row_id(r, 1, loader_of(r)->events.count),
		.reason = row_text(r, 2),
		.count = row_number(r, 3, UINT64_MAX),
	};

	row_check_id(r, loader_of(r)->losses.count + 1, FILM_LOSSES_MAX);
	push(r, losses, loss);
}

static void read_block(struct film_row *r)
{
	struct film_block block = {0};
	uint64_t kind = row_number(r, 2, INT64_MAX);

	row_check_id(r, loader_of(r)->reading.next_block++, INT64_MAX);
	/* what other kinds mean by their columns is not known here */
	if (!film_kind(kind))
		return;
	block.kind = (uint32_t)kind;
	block.id = (int64_t)row_number(r, 0, INT64_MAX);
	block.event = row_id(r, 1, loader_of(r)->events.count);
	block.span.t0 = row_number(r, 3, UINT64_MAX);
	block.span.t1 = row_number(r, 4, UINT64_MAX);
	block.span.count = row_number32(r, 5, FILM_BLOCK_MAX);
	block.span.total = row_number(r, 6, UINT64_MAX);
	if (!block.event || !block.span.count || block.span.t0 > block.span.t1)
		r->err = -EBADMSG;
	push(r, blocks, block);
}

/* Of a table whose rows stay as they are: where the loader has the id of its next row. */
#define NEXT(member)	     .next = offsetof(struct loader, member)
#define ROWS(table, columns) table, "SELECT " columns " FROM " table " WHERE id >= ? ORDER BY id"
/* Of one whose rows are written again as they change: it is read from its first row each time. */
#define AGAIN(table, key) table, "SELECT * FROM " table " ORDER BY " key

static const struct load {
	const char *table, *sql;
	void (*read)(struct film_row *r);
	enum film_part part; /* the smallest that it belongs to */
	int since;	     /* the version that it came with; 0: the first */
	size_t next;	     /* place in struct loader; 0: it is read again */
} loads[] = {
	/* each before those that refer to it */
	{AGAIN("meta", "name"), read_meta, FILM_PART_INFO},
	{AGAIN("event", "id"), read_event, FILM_PART_LOSSES},
	{AGAIN("processes", "id"), read_processes, .since = 2},
	{AGAIN("process", "id"), read_process},
	{AGAIN("threads", "id"), read_threads, .since = 2},
	{AGAIN("thread", "id"), read_thread},
	{ROWS("image", "*"), read_image, NEXT(images.count)},
	{ROWS("file", "*"), read_file, NEXT(files.count)},
	{ROWS("function", "*"), load_functions, NEXT(functions.count)},
	{ROWS("frame", "*"), load_frames, NEXT(frames.count)},
	{ROWS("name", "*"), load_names, NEXT(reading.next_name)},
	{ROWS("start", "*"), load_starts, NEXT(reading.next_start)},
	{ROWS("stack", "*"), load_stacks, NEXT(stacks.count)},
	{AGAIN("loss", "id"), read_loss, FILM_PART_LOSSES},
	/* not data: it would be read from the disk with it */
	{ROWS("block", "id, event, kind, t0, t1, n, total"), read_block, NEXT(reading.next_block)},
};

/*
 * Reads the rows of a table that are not read yet: read() pushes one and sets r->err if it cannot.
 */
static int load_table(struct loader *l, const struct load *load)
{
	struct film_row r = {.context = l};
	const size_t *next = (const size_t *)((const char *)l + load->next);
	char what[64];
	int rc = sqlite3_prepare_v2(l->db, load->sql, -1, &r.at, NULL);

	r.texts = load->next ? l->texts : l->replaced;
	r.text_left = load->next ? &l->text_left : &l->replaced_left;
	if (rc == SQLITE_OK && load->next)
		rc = sqlite3_bind_int64(r.at, 1, (sqlite3_int64)*next);
	if (rc == SQLITE_OK) {
		while (!r.err && (rc = sqlite3_step(r.at)) == SQLITE_ROW)
			load->read(&r);
	}
	if (!r.err && rc != SQLITE_DONE) {
		film_read_failed(l->db, rc, l->path, l->why);
		r.err = film_sql_errno(l->db, rc);
	} else if (r.err == -EBADMSG) {
		snprintf(what, sizeof(what), "a row of the table %s is not valid", load->table);
		film_damaged(l->why, l->path, what);
	} else if (r.err) {
		fail_errno(l->why, r.err, NULL, "cannot read %s", l->path);
	}
	sqlite3_finalize(r.at);
	return r.err;
}

/* The unused entries of id 0. */
static bool push_unused(struct loader *l)
{
	l->reading.next_name = l->reading.next_start = l->reading.next_block = 1;
	return vec_push(&l->images, (struct film_image){.path = ""}) &&
	       vec_push(&l->functions, (struct film_function){.name = ""}) &&
	       vec_push(&l->files, "") && vec_push(&l->frames, (struct film_frame){.file = ""}) &&
	       vec_push(&l->reading.named_by, 0) && vec_push(&l->stacks, (struct film_stack){0});
}

/* The same of tables that are read from their first row each time. */
static bool push_unused_again(struct loader *l)
{
	static const struct film_process process = {.comm = "",
						    .command = "",
						    .exe = "",
						    .cgroup = "",
						    .container = "",
						    .user = "",
						    .resource = ""};

	return vec_push(&l->events, (struct film_event){.name = "", .unit = "", .source = ""}) &&
	       vec_push(&l->processes, process) &&
	       vec_push(&l->threads, (struct film_thread){.comm = ""});
}

static int in_order(const void *a, const void *b)
{
	const struct film_block *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	/* some are in order only as they were written: the calls, and the turns, of a thread */
	if (film_kind(x->kind)->sorted && !film_kind(x->kind)->follow && x->span.t0 != y->span.t0)
		return x->span.t0 < y->span.t0 ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Its arrays, to go on with them: those of a film of which nothing was loaded yet are empty. */
#define MOVE_TABLE(vec, from, n) ((vec)->at = (from), (vec)->count = (vec)->room = (n))

static void move_tables(struct loader *l)
{
	struct film *film = l->film;
	struct film_private *p = film->private;

	MOVE_TABLE(&l->events, film->events, film->event_count);
	MOVE_TABLE(&l->processes, film->processes, film->process_count);
	MOVE_TABLE(&l->threads, film->threads, film->thread_count);
	MOVE_TABLE(&l->images, film->images, film->image_count);
	MOVE_TABLE(&l->functions, film->functions, film->function_count);
	MOVE_TABLE(&l->frames, film->frames, film->frame_count);
	MOVE_TABLE(&l->stacks, film->stacks, film->stack_count);
	MOVE_TABLE(&l->inlines, film->inlines, film->inline_count);
	MOVE_TABLE(&l->losses, film->losses, film->loss_count);
	MOVE_TABLE(&l->files, p->files, p->file_count);
	MOVE_TABLE(&l->blocks, p->blocks, p->block_count);
	l->reading = p->reading;
	p->reading = (struct film_reading){0};
	/* all that is read from its first row */
	l->events.count = l->processes.count = l->threads.count = 0;
	l->inlines.count = l->losses.count = 0;
	arena_free(l->replaced);
	film->settled = UINT64_MAX;
	film->is_open = false;
	film->info = (struct film_info){.version = "",
					.hostname = "",
					.kernel = "",
					.arch = "",
					.command = "",
					.labels = "",
					.roles = ""};
}

static void hand_over(struct loader *l)
{
	struct film *film = l->film;
	struct film_private *p = film->private;

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
	p->files = l->files.at;
	p->file_count = (uint32_t)l->files.count;
	p->blocks = l->blocks.at;
	p->block_count = l->blocks.count;
	if (p->is_followed) {
		p->reading = l->reading;
	} else {
		vec_free(&l->reading.named_by);
		vec_free(&l->reading.given);
	}
	if (l->blocks.count)
		qsort(l->blocks.at, l->blocks.count, sizeof(*l->blocks.at), in_order);
}

static int check_info(struct loader *l)
{
	const char *labels = arena_text(l->replaced, l->labels, strlen(l->labels));

	if (!l->meta_known)
		return fail(l->why, -EBADMSG, "record again",
			    "%s is empty: its recording ended before the first commit", l->path);
	if (l->meta_known != META_ROWS)
		return film_damaged(l->why, l->path, "a row of the table meta is missing");
	if (!labels)
		return fail_errno(l->why, -ENOMEM, NULL, "cannot read %s", l->path);
	l->film->info.labels = labels;
	return 0;
}

static int load_tables(struct loader *l, enum film_part part)
{
	size_t count = sizeof(loads) / sizeof(loads[0]);
	struct film_reading *reading = &l->reading;
	int64_t pages, page_size;
	int err = 0, rc = film_sql_number(l->db, "PRAGMA page_count", &pages);
	uint64_t most;

	if (rc == SQLITE_OK)
		rc = film_sql_number(l->db, "PRAGMA page_size", &page_size);
	if (rc != SQLITE_OK)
		return film_read_failed(l->db, rc, l->path, l->why);
	l->replaced_left = (uint64_t)pages * (uint64_t)page_size;
	most = l->replaced_left > reading->text_bytes ? l->replaced_left : reading->text_bytes;
	l->text_left = most - reading->text_bytes;
	l->names_left = FILM_NAMES_MAX - reading->name_bytes;
	l->words_left = FILM_WORDS_MAX;
	if ((!l->images.count && !push_unused(l)) || !push_unused_again(l))
		return fail_errno(l->why, -ENOMEM, NULL, "cannot read %s", l->path);
	for (size_t i = 0; !err && i < count; i++)
		if (loads[i].since <= l->version && loads[i].part >= part)
			err = load_table(l, &loads[i]);
	reading->text_bytes = most - l->text_left;
	reading->name_bytes = FILM_NAMES_MAX - l->names_left;
	if (!err)
		err = check_info(l);
	return err ? err : load_inlines(l);
}

int film_load(sqlite3 *db, const char *path, enum film_part part, struct film *film,
	      struct fail *why)
{
	struct loader l = {.db = db,
			   .path = path,
			   .why = why,
			   .film = film,
			   .texts = &film->private->texts,
			   .replaced = &film->private->replaced};
	int rc, err;

	move_tables(&l);
	/* one transaction: all tables as they were at one moment, also while the film is written */
	rc = film_sql_run(db, "BEGIN");
	err = rc == SQLITE_OK ? film_check_schema(db, path, &l.version, why)
			      : film_read_failed(db, rc, path, why);
	if (!err)
		err = load_tables(&l, part);
	if (rc == SQLITE_OK)
		film_sql_run(db, "COMMIT");
	hand_over(&l);
	column_reader_free(&l.columns);
	vec_free(&l.places);
	vec_free(&l.namings);
	vec_free(&l.starts);
	return err;
}
