// SPDX-License-Identifier: Apache-2.0
#include "show/call_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "show/call_columns.h"

enum {
	/* the tracer itself follows 512; a film may claim more */
	DEPTH_MAX = 1024,
	COMM_MAX = 16,
	/* when that many threads are known, those of which nothing is open are forgotten */
	TRACKS_FIRST_SWEEP = 4096,
};

/* A call that began and did not end yet. */
struct open_call {
	const char *name; /* null: its beginning was not seen */
	uint64_t time;
	uint16_t cpu;
	bool unknown; /* its caller */
};

/* Equal calls without calls of their own, one after the other: not printed yet. */
struct repeated {
	const char *name;
	unsigned int depth;
	uint64_t count;
	struct call_cells cells; /* of the first; its times are sums */
	bool open, unknown;
};

/* One stack of one thread. */
struct track {
	uint32_t pid, tid, lane;
	char comm[COMM_MAX];
	vec(struct open_call) open;
	bool held; /* the innermost open call was not printed: it may turn out to be a leaf, */
	struct buf values; /* and these are its arguments; empty: not known */
	struct repeated repeated;
};

struct call_lines {
	FILE *out;
	struct call_columns columns;
	unsigned int max_depth;
	vec(struct track) tracks;
	struct map by_thread; /* tid << 32 | lane: index in tracks */
	size_t last, sweep_at;
	uint64_t too_deep;
	bool has_heading;
	struct buf line;
};

int call_lines_new(FILE *out, const struct call_lines_options *options, struct call_lines **lines)
{
	struct call_lines *l = calloc(1, sizeof(*l));

	*lines = l;
	if (!l)
		return -ENOMEM;
	l->out = out;
	l->columns = (struct call_columns){.options = *options, .tid_width = 6};
	l->max_depth = options->max_depth && options->max_depth < DEPTH_MAX ? options->max_depth
									    : DEPTH_MAX;
	l->sweep_at = TRACKS_FIRST_SWEEP;
	return 0;
}

static struct call_cells cells_of(const struct track *t)
{
	return (struct call_cells){.pid = t->pid, .tid = t->tid, .lane = t->lane, .comm = t->comm};
}

static void put_indent(struct call_lines *l, unsigned int depth)
{
	if (l->columns.options.flat)
		return;
	for (unsigned int i = 0; i < depth; i++)
		buf_put(&l->line, "  ", 2);
}

/* Begins a line with its columns and the indentation. */
static void begin_line(struct call_lines *l, const struct call_cells *cells, unsigned int depth)
{
	l->line.count = 0;
	if (!l->has_heading) {
		call_columns_heading(&l->columns, &l->line);
		l->has_heading = true;
		fwrite(l->line.at, 1, l->line.count, l->out);
		l->line.count = 0;
	}
	call_columns_line(&l->columns, cells, &l->line);
	put_indent(l, depth);
}

/* In one piece: the stream may be one without a buffer, and others may write to it, too. */
static void end_line(struct call_lines *l)
{
	buf_put_u8(&l->line, '\n');
	fwrite(l->line.at, 1, l->line.failed ? 0 : l->line.count, l->out);
}

/*
 * The name as one that is called. A C++ name may have its parameters already; what may stand behind
 * them shows in the sign after the last bracket.
 */
static void put_call(struct call_lines *l, const char *name, const struct buf *values)
{
	const char *bracket = strrchr(name, ')');

	call_columns_safe(name, &l->line);
	if (values && values->count) {
		buf_put_u8(&l->line, '(');
		buf_put(&l->line, values->at, values->count);
		buf_put_u8(&l->line, ')');
	} else if (!bracket || (bracket[1] && bracket[1] != ' ' && bracket[1] != '@'))
		buf_put_text(&l->line, "()");
}

static void put_comment(struct call_lines *l, const char *name, const char *words)
{
	call_columns_color(&l->columns, CALL_COLOR_COMMENT, &l->line);
	buf_put_text(&l->line, " /* ");
	if (name)
		call_columns_safe(name, &l->line);
	if (name && *words)
		buf_put_text(&l->line, ": ");
	buf_put_text(&l->line, words);
	buf_put_text(&l->line, " */");
	call_columns_color(&l->columns, CALL_COLOR_PLAIN, &l->line);
}

static void put_gap(struct call_lines *l, const struct call_cells *cells, unsigned int depth,
		    const char *words)
{
	begin_line(l, cells, depth);
	call_columns_color(&l->columns, CALL_COLOR_GAP, &l->line);
	buf_put_text(&l->line, words);
	call_columns_color(&l->columns, CALL_COLOR_PLAIN, &l->line);
	end_line(l);
}

/* "2.1 us": where many calls are one line, a tenth is enough. */
static void put_average(struct call_lines *l, uint64_t ns, uint64_t error)
{
	char text[24], *point;

	if (ns < error)
		buf_put_u8(&l->line, '<');
	call_lines_time(text, sizeof(text), ns < error ? error : ns);
	point = strchr(text, '.');
	buf_put(&l->line, text, (size_t)(point - text) + 2);
	buf_put_u8(&l->line, ' ');
	buf_put_text(&l->line, point + 5 + (point[5] == ' '));
}

static const char *open_words(bool open)
{
	return open ? "still running" : "";
}

static const char caller_unknown[] = "caller not known";

static void put_results(struct call_lines *l, const char *results)
{
	if (results && *results) {
		buf_put_text(&l->line, " = ");
		buf_put_text(&l->line, results);
	}
}

static void put_leaf(struct call_lines *l, const struct call_cells *cells, unsigned int depth,
		     const char *name, const struct buf *values, const char *results, bool open,
		     bool unknown)
{
	begin_line(l, cells, depth);
	put_call(l, name, values);
	put_results(l, results);
	buf_put_u8(&l->line, ';');
	if (unknown)
		put_comment(l, NULL, caller_unknown);
	if (open)
		put_comment(l, NULL, open_words(true));
	end_line(l);
}

/* Prints the equal calls that came together. */
static void put_repeated(struct call_lines *l, struct track *t)
{
	struct repeated *r = &t->repeated;
	char count[32];

	if (!r->count)
		return;
	r->cells.comm = t->comm;
	if (r->count == 1) {
		put_leaf(l, &r->cells, r->depth, r->name, NULL, NULL, r->open, r->unknown);
	} else {
		begin_line(l, &r->cells, r->depth);
		put_call(l, r->name, NULL);
		text_count(count, sizeof(count), r->count);
		buf_put_text(&l->line, " x ");
		buf_put_text(&l->line, count);
		buf_put_text(&l->line, " avg ");
		put_average(l, r->cells.duration / r->count, r->cells.error / r->count);
		end_line(l);
	}
	r->count = 0;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void add_repeated(struct call_lines *l, struct track *t, const struct call_cells *cells,
			 const struct call_line *line)
{
	struct repeated *r = &t->repeated;

	if (r->count && r->depth == line->depth && !line->open && !r->open &&
	    line->unknown == r->unknown && same_name(r->name, line->name)) {
		r->count++;
		r->cells.duration += cells->duration;
		r->cells.waited += cells->waited;
		r->cells.error += cells->error;
		r->cells.inferred |= cells->inferred;
		return;
	}
	put_repeated(l, t);
	*r = (struct repeated){
		.name = line->name,
		.depth = line->depth,
		.count = 1,
		.open = line->open,
		.unknown = line->unknown,
	};
	r->cells = *cells;
}

/* Prints the call that was held back: something happened within it. */
static void release(struct call_lines *l, struct track *t)
{
	const struct open_call *call;
	struct call_cells cells = cells_of(t);

	put_repeated(l, t);
	if (!t->held)
		return;
	t->held = false;
	call = vec_last(&t->open);
	cells.has_time = true;
	cells.time = call->time;
	cells.cpu = call->cpu;
	begin_line(l, &cells, (unsigned int)t->open.count - 1);
	put_call(l, call->name, &t->values);
	buf_put_text(&l->line, " {");
	if (call->unknown)
		put_comment(l, NULL, caller_unknown);
	end_line(l);
}

static void put_end(struct call_lines *l, const struct call_cells *cells, unsigned int depth,
		    const char *name, const char *results, const char *words)
{
	begin_line(l, cells, depth);
	buf_put_u8(&l->line, '}');
	put_results(l, results);
	put_comment(l, name, words);
	end_line(l);
}

/* Closes calls at that depth and above it whose end never came. */
static void close_from(struct call_lines *l, struct track *t, size_t depth, const char *words)
{
	struct call_cells cells = cells_of(t);

	if (t->open.count <= depth)
		return;
	release(l, t);
	for (; t->open.count > depth; t->open.count--) {
		const char *name = vec_last(&t->open)->name;

		if (name && !l->columns.options.flat)
			put_end(l, &cells, (unsigned int)t->open.count - 1, name, NULL, words);
	}
}

static const char end_lost[] = "its end was lost";

static int add_begin(struct call_lines *l, struct track *t, const struct call_line *line)
{
	struct open_call call = {line->name, line->time, line->cpu, line->unknown};

	if (t->held)
		release(l, t);
	close_from(l, t, line->depth, end_lost);
	/* calls around this one that began before all that was seen */
	while (t->open.count < line->depth)
		if (!vec_push(&t->open, (struct open_call){0}))
			return -ENOMEM;
	if (!vec_push(&t->open, call))
		return -ENOMEM;
	t->held = true;
	t->values.count = 0;
	if (line->values)
		buf_put_text(&t->values, line->values);
	return t->values.failed ? -ENOMEM : 0;
}

static struct call_cells cells_of_end(const struct track *t, const struct call_line *line)
{
	struct call_cells cells = cells_of(t);

	cells.has_time = cells.has_duration = true;
	cells.time = line->time;
	cells.cpu = line->cpu;
	cells.inferred = line->inferred;
	cells.duration = line->duration;
	cells.error = line->error;
	cells.waited = line->waited;
	return cells;
}

static void add_end(struct call_lines *l, struct track *t, const struct call_line *line)
{
	struct call_cells cells = cells_of_end(t, line);
	struct open_call *call;

	close_from(l, t, line->depth + 1u, end_lost);
	call = t->open.count > line->depth ? vec_last(&t->open) : NULL;
	if (t->held && call && same_name(call->name, line->name)) {
		t->held = false;
		t->open.count--;
		/* a call in one line stands at its beginning */
		cells.time = call->time;
		if (l->columns.options.fold)
			add_repeated(l, t, &cells, line);
		else
			put_leaf(l, &cells, line->depth, line->name, &t->values, line->values,
				 line->open, line->unknown);
		return;
	}
	release(l, t);
	if (call && call->name && !same_name(call->name, line->name))
		close_from(l, t, line->depth, end_lost);
	else if (call)
		t->open.count--;
	put_end(l, &cells, line->depth, line->name, line->values, open_words(line->open));
}

/* Without indentation: each event is a line of its own, as it comes. */
static void add_flat(struct call_lines *l, struct track *t, const struct call_line *line)
{
	bool ends = line->kind == CALL_ENDS;
	struct call_cells cells = cells_of_end(t, line);

	begin_line(l, &cells, 0);
	buf_put_text(&l->line, ends ? "< " : "> ");
	call_columns_safe(line->name, &l->line);
	if (!ends && line->values) {
		buf_put_u8(&l->line, '(');
		buf_put_text(&l->line, line->values);
		buf_put_u8(&l->line, ')');
	}
	if (ends)
		put_results(l, line->values);
	if (ends) {
		buf_put_u8(&l->line, ' ');
		call_columns_duration(&l->columns, &cells, 0, &l->line);
		if (call_columns_waited(&cells)) {
			buf_put_text(&l->line, ", on CPU ");
			call_columns_time(
				&l->columns,
				line->waited < line->duration ? line->duration - line->waited : 0,
				"", 0, &l->line);
		}
		if (line->open)
			put_comment(l, NULL, open_words(true));
	}
	end_line(l);
}

static void free_track(struct track *t)
{
	vec_free(&t->open);
	buf_free(&t->values);
}

/* Forgets threads of which nothing is open: most of them have ended. Returns 0 or -ENOMEM. */
static int sweep(struct call_lines *l)
{
	size_t kept = 0;

	map_free(&l->by_thread);
	vec_foreach (&l->tracks, t) {
		if (!t->open.count) {
			put_repeated(l, t);
			free_track(t);
			continue;
		}
		if (!map_put(&l->by_thread, (uint64_t)t->tid << 32 | t->lane, kept))
			return -ENOMEM;
		/* what moves away is not freed twice */
		if (t != &l->tracks.at[kept]) {
			l->tracks.at[kept] = *t;
			*t = (struct track){0};
		}
		kept++;
	}
	l->tracks.count = kept;
	l->last = 0;
	l->sweep_at = kept * 2 > TRACKS_FIRST_SWEEP ? kept * 2 : TRACKS_FIRST_SWEEP;
	return 0;
}

/* The track of a line; null: no memory. */
static struct track *track_of(struct call_lines *l, const struct call_line *line)
{
	uint64_t key = (uint64_t)line->tid << 32 | line->lane, *known;

	if (l->last < l->tracks.count) {
		struct track *t = &l->tracks.at[l->last];

		if (t->tid == line->tid && t->lane == line->lane)
			return t;
	}
	known = map_get(&l->by_thread, key);
	if (known) {
		l->last = *known;
		return &l->tracks.at[l->last];
	}
	if (l->tracks.count >= l->sweep_at && sweep(l))
		return NULL;
	if (!vec_push(&l->tracks, (struct track){.tid = line->tid, .lane = line->lane}))
		return NULL;
	l->last = l->tracks.count - 1;
	if (!map_put(&l->by_thread, key, l->last)) {
		l->tracks.count--;
		return NULL;
	}
	return &l->tracks.at[l->last];
}

int call_lines_add(struct call_lines *l, const struct call_line *line)
{
	struct track *t = track_of(l, line);
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->pid = line->pid;
	if (line->comm && strncmp(t->comm, line->comm, sizeof(t->comm) - 1))
		snprintf(t->comm, sizeof(t->comm), "%s", line->comm);
	if (line->kind == CALL_GAP) {
		struct call_cells cells = cells_of_end(t, line);

		cells.has_duration = false;
		release(l, t);
		put_gap(l, &cells, line->depth < l->max_depth ? line->depth : l->max_depth,
			"… calls lost here …");
	} else if (line->depth >= l->max_depth) {
		l->too_deep += line->kind == CALL_ENDS && l->max_depth == DEPTH_MAX;
	} else if (l->columns.options.flat) {
		add_flat(l, t, line);
	} else if (line->kind == CALL_BEGINS) {
		err = add_begin(l, t, line);
	} else {
		add_end(l, t, line);
	}
	return l->line.failed ? -ENOMEM : err;
}

int call_lines_end(struct call_lines *l)
{
	char count[32];
	bool failed;

	vec_foreach (&l->tracks, t) {
		close_from(l, t, 0, open_words(true));
		put_repeated(l, t);
		free_track(t);
	}
	if (l->too_deep) {
		text_count(count, sizeof(count), l->too_deep);
		fprintf(l->out, "… calls more than %d levels deep are not shown: %s …\n", DEPTH_MAX,
			count);
	}
	failed = l->line.failed;
	vec_free(&l->tracks);
	map_free(&l->by_thread);
	buf_free(&l->line);
	free(l);
	return failed ? -ENOMEM : 0;
}
