// SPDX-License-Identifier: Apache-2.0
/*
 * The marks that clients have sent: in DIR/marks, a line for each as it came, "TIME HOST SERVICE
 * VERSION TEXT .", where bytes that are no printable ASCII, '%' and blanks are %XX, and "%" is an
 * empty text. The file is written anew when marks are dropped.
 */
#include "store/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/clock.h"
#include "store/room.h"

#define DAY (24 * NS_PER_HOUR)

enum {
	TEXTS = 4, /* host, service, version, text */
	LINE_MAX_BYTES = 3 * (3 * STORE_MARK_NAME_MAX + STORE_MARK_TEXT_MAX) + 64,
	LINES_MAX = 1 << 20, /* of a file that another program wrote */
};

static void mark_free(struct kept_mark *mark)
{
	for (int i = 0; i < TEXTS; i++)
		free(mark->texts[i]);
}

static bool mark_copy(struct kept_mark *to, uint64_t time, const char *const *texts)
{
	bool ok = true;

	*to = (struct kept_mark){.time = time};
	for (int i = 0; i < TEXTS; i++) {
		to->texts[i] = strdup(texts[i]);
		ok = ok && to->texts[i];
	}
	if (!ok)
		mark_free(to);
	return ok;
}

void store_free_marks(struct store *store)
{
	vec_foreach (&store->marks, mark)
		mark_free(mark);
	vec_free(&store->marks);
}

/* Into its place by time; behind those of the same. False: no memory. */
static bool insert(struct store *store, struct kept_mark mark)
{
	size_t i = store->marks.count;

	if (!vec_push(&store->marks, mark))
		return false;
	for (; i && store->marks.at[i - 1].time > mark.time; i--)
		store->marks.at[i] = store->marks.at[i - 1];
	store->marks.at[i] = mark;
	return true;
}

static void put_text(struct buf *b, const char *text)
{
	if (!*text)
		buf_printf(b, " %%");
	else
		buf_printf(b, " ");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c > ' ' && c < 0x7f && c != '%')
			buf_put_u8(b, c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

static void put_line(struct buf *b, const struct kept_mark *mark)
{
	buf_printf(b, "%" PRIu64, mark->time);
	for (int i = 0; i < TEXTS; i++)
		put_text(b, mark->texts[i]);
	buf_printf(b, " .\n");
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place; false: it is none of put_text(). */
static bool decode_text(char *text)
{
	char *to = text;

	if (!strcmp(text, "%"))
		*text = 0;
	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = hex(text[1]);
		low = high < 0 ? -1 : hex(text[2]);
		if (low < 0 || !(high | low))
			return false;
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = 0;
	return true;
}

/* 0, -ENOMEM, or -EBADMSG: the line is not a mark. */
static int parse_line(struct store *store, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save), *end;
	const char *texts[TEXTS];
	struct kept_mark mark;
	uint64_t time;

	if (!word)
		return 0;
	time = strtoull(word, &end, 10);
	if (*end)
		return -EBADMSG;
	for (int i = 0; i < TEXTS; i++) {
		word = strtok_r(NULL, " \n", &save);
		if (!word || !decode_text(word))
			return -EBADMSG;
		texts[i] = word;
	}
	word = strtok_r(NULL, " \n", &save);
	if (!word || strcmp(word, ".") != 0)
		return -EBADMSG;
	if (!mark_copy(&mark, time, texts))
		return -ENOMEM;
	if (insert(store, mark))
		return 0;
	mark_free(&mark);
	return -ENOMEM;
}

/* At most this many, the first. */
static void drop_first(struct store *store, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mark_free(&store->marks.at[i]);
	for (size_t i = count; i < store->marks.count; i++)
		store->marks.at[i - count] = store->marks.at[i];
	store->marks.count -= count;
}

/* A tenth at once: the file is then written anew. False: there are not too many. */
static bool drop_oldest(struct store *store)
{
	if (store->marks.count <= STORE_MARKS_MAX)
		return false;
	store_say(store, "the oldest %d of %d marks are dropped", STORE_MARKS_MAX / 10,
		  STORE_MARKS_MAX);
	drop_first(store, STORE_MARKS_MAX / 10);
	return true;
}

/* A line that was half written when the power went lacks its end. */
static int parse_lines(struct store *store, FILE *file, char *line)
{
	unsigned int lines = 0, bad = 0;
	int err = 0;

	for (; !err && lines < LINES_MAX && fgets(line, LINE_MAX_BYTES, file); lines++) {
		err = parse_line(store, line);
		if (err == -EBADMSG) {
			bad++;
			err = 0;
		}
		drop_oldest(store);
	}
	if (!err && ferror(file))
		err = -EIO;
	if (bad)
		store_say(store, "%s/marks: %u lines are not marks, and were left out", store->path,
			  bad);
	if (!err && lines == LINES_MAX && fgetc(file) != EOF)
		store_say(store, "%s/marks: only its first %d lines were read", store->path,
			  LINES_MAX);
	return err;
}

int store_read_marks(struct store *store)
{
	char path[PATH_MAX], *line;
	int err = store_path_of(store, "marks", path, sizeof(path));
	FILE *file;

	if (err)
		return err;
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	line = malloc(LINE_MAX_BYTES);
	err = line ? parse_lines(store, file, line) : -ENOMEM;
	free(line);
	fclose(file);
	return err;
}

/* Writes a file of the store anew, or behind what is in it; until the disk has it. */
static int write_lines(const struct store *store, const char *name, int flags, struct buf *lines)
{
	char path[PATH_MAX];
	int err = lines->failed ? -ENOMEM : store_path_of(store, name, path, sizeof(path)), fd;

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	if (fd < 0)
		return -errno;
	err = file_write_all(fd, lines->at, lines->count);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int append(const struct store *store, const struct kept_mark *mark)
{
	struct buf lines = {0};
	int err;

	/* behind a line that a full disk has cut, it begins a line of its own */
	buf_put_u8(&lines, '\n');
	put_line(&lines, mark);
	err = write_lines(store, "marks", O_APPEND, &lines);
	buf_free(&lines);
	return err;
}

static int rewrite(const struct store *store)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct buf lines = {0};
	int err;

	vec_foreach (&store->marks, mark)
		put_line(&lines, mark);
	err = write_lines(store, "marks.new", O_TRUNC, &lines);
	buf_free(&lines);
	if (!err)
		err = store_path_of(store, "marks.new", from, sizeof(from));
	if (!err)
		err = store_path_of(store, "marks", to, sizeof(to));
	if (!err && rename(from, to))
		err = -errno;
	return err ? err : folder_sync_names(to);
}

/*
 * Of marks before it, no film is kept; 0: there is no film yet. An hour more: films are of hours.
 */
static uint64_t first_of(struct store *store)
{
	struct store_status status;

	store_status(store, &status);
	return status.first > NS_PER_HOUR ? status.first - NS_PER_HOUR : 0;
}

int store_remove_marks(struct store *store, struct fail *why)
{
	uint64_t first = first_of(store);
	size_t old = 0;
	int err = 0;

	pthread_mutex_lock(&store->marks_lock);
	while (old < store->marks.count && store->marks.at[old].time < first)
		old++;
	if (old) {
		drop_first(store, old);
		err = rewrite(store);
	}
	pthread_mutex_unlock(&store->marks_lock);
	return err ? fail_errno(why, err, NULL, "cannot write %s/marks", store->path) : 0;
}

static int check_text(const char *text, size_t max, const char *what, struct fail *why)
{
	if (strlen(text) > max)
		return fail(why, -EINVAL, NULL, "the %s of a mark has at most %zu bytes", what,
			    max);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return fail(why, -EINVAL, NULL, "the %s of a mark has a control character",
				    what);
	return 0;
}

static int check_mark(struct store *store, const struct store_mark *mark, struct fail *why)
{
	uint64_t first = first_of(store);
	int err = store->is_single ? fail(why, -EROFS, NULL, "one film is shown, nothing is kept")
				   : 0;

	if (!err)
		err = check_text(mark->host, STORE_MARK_NAME_MAX, "host", why);
	if (!err)
		err = check_text(mark->service, STORE_MARK_NAME_MAX, "service", why);
	if (!err)
		err = check_text(mark->version, STORE_MARK_NAME_MAX, "version", why);
	if (!err)
		err = check_text(mark->text, STORE_MARK_TEXT_MAX, "text", why);
	if (!err && mark->time < first)
		err = fail(why, -EINVAL, NULL, "the time of the mark is before that of all films");
	if (!err && mark->time > clock_wall() + DAY)
		err = fail(why, -EINVAL, NULL, "the time of the mark is more than a day ahead");
	return err;
}

static int keep(struct store *store, struct kept_mark *mark)
{
	int err = append(store, mark);

	if (!err && !insert(store, *mark))
		err = -ENOMEM;
	if (err)
		return err;
	/* where that fails, the file has the oldest for longer: reading drops them again */
	if (drop_oldest(store))
		rewrite(store);
	return 0;
}

int store_mark(struct store *store, const struct store_mark *mark, struct fail *why)
{
	const char *const texts[TEXTS] = {mark->host, mark->service, mark->version, mark->text};
	int err = check_mark(store, mark, why);
	struct kept_mark copy;

	if (err)
		return err;
	if (!mark_copy(&copy, mark->time, texts))
		return fail_errno(why, -ENOMEM, NULL, "cannot keep the mark");
	pthread_mutex_lock(&store->marks_lock);
	err = keep(store, &copy);
	pthread_mutex_unlock(&store->marks_lock);
	if (!err)
		return 0;
	mark_free(&copy);
	return fail_errno(why, store_note(store, err), NULL, "cannot keep the mark");
}

int store_each_mark(struct store *store, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct store_mark *mark), void *context)
{
	int err = 0;

	pthread_mutex_lock(&store->marks_lock);
	for (size_t i = 0; !err && i < store->marks.count; i++) {
		const struct kept_mark *kept = &store->marks.at[i];
		struct store_mark mark = {kept->time,	  kept->texts[0], kept->texts[1],
					  kept->texts[2], kept->texts[3], false};

		if (kept->time >= from && kept->time < to)
			err = emit(context, &mark);
	}
	pthread_mutex_unlock(&store->marks_lock);
	return err;
}
