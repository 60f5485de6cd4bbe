// SPDX-License-Identifier: Apache-2.0
#include "film/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "film/intern.h"
#include "film/schema.h"

enum {
	PROCESS_WORDS = 7,
	PROCESS_WORDS_BEFORE = 5, /* version 2: without user and resource */
	THREAD_WORDS = 1,
	PROCESS_NUMBERS = 4,
	THREAD_NUMBERS = 3,
	/* for column_reader_begin(), with room for the columns' own few bytes */
	COLUMNS = 4,
};

/* The words of the block that is packed. */
struct words {
	vec(const char *) at;
	struct intern index;
	size_t bytes;
};

static void words_free(struct words *w)
{
	vec_free(&w->at);
	intern_free(&w->index);
}

/* The number of a word, made if it is not there; false: no memory. */
static bool word_of(struct words *w, const char *s, uint64_t *number)
{
	uint64_t hash = hash_bytes(s, strlen(s));
	size_t at = intern_start(&w->index, hash);
	uint32_t id;

	while ((id = intern_next(&w->index, hash, &at))) {
		*number = id - 1;
		if (!strcmp(w->at.at[*number], s))
			return true;
	}
	*number = w->at.count;
	if (!vec_push(&w->at, s) || !intern_add(&w->index, hash, (uint32_t)w->at.count))
		return false;
	w->bytes += strlen(s);
	return true;
}

static int put_words(struct columns *c, const struct words *w)
{
	uint64_t count = w->at.count, *lengths = malloc((count ? count : 1) * sizeof(*lengths));

	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		lengths[i] = strlen(w->at.at[i]);
	columns_put(c, &count, 1);
	if (count)
		columns_put(c, lengths, count);
	free(lengths);
	return 0;
}

/* Columns of `room` numbers each, of which the first count are put; then the words. */
static int put_all(struct columns *c, const struct words *w, const uint64_t *numbers,
		   size_t columns, size_t room, size_t count)
{
	int err;

	columns_begin(c);
	err = put_words(c, w);
	for (size_t i = 0; !err && i < columns; i++)
		columns_put(c, numbers + i * room, count);
	for (size_t i = 0; !err && i < w->at.count; i++)
		columns_put_bytes(c, w->at.at[i], strlen(w->at.at[i]));
	return err ? err : columns_end(c);
}

static size_t rows_at_most(size_t count)
{
	return count < FILM_PACKED_ROWS_MAX ? count : FILM_PACKED_ROWS_MAX;
}

int processes_pack(struct columns *c, const struct film_process *processes, size_t count,
		   size_t *packed)
{
	const size_t room = rows_at_most(count), columns = PROCESS_NUMBERS + PROCESS_WORDS;
	uint64_t *numbers = malloc(room * columns * sizeof(*numbers));
	struct words words = {0};
	int err = numbers ? 0 : -ENOMEM;
	size_t n;

	for (n = 0; !err && n < room && words.bytes < FILM_BLOCK_TEXT_MAX; n++) {
		const struct film_process *p = &processes[n];
		const char *texts[PROCESS_WORDS] = {p->comm,
						    p->command,
						    p->exe,
						    p->cgroup,
						    p->container,
						    p->user ? p->user : "",
						    p->resource ? p->resource : ""};

		numbers[n] = p->pid;
		numbers[room + n] = p->parent;
		numbers[2 * room + n] = p->start;
		numbers[3 * room + n] = p->end - p->start;
		for (size_t i = 0; !err && i < PROCESS_WORDS; i++)
			if (!word_of(&words, texts[i], &numbers[(PROCESS_NUMBERS + i) * room + n]))
				err = -ENOMEM;
	}
	if (!err)
		err = put_all(c, &words, numbers, columns, room, n);
	*packed = n;
	words_free(&words);
	free(numbers);
	return err;
}

int threads_pack(struct columns *c, const struct film_process *processes,
		 const struct film_thread *threads, size_t count, size_t *packed)
{
	const size_t room = rows_at_most(count), columns = THREAD_NUMBERS + THREAD_WORDS;
	uint64_t *numbers = malloc(room * columns * sizeof(*numbers));
	struct words words = {0};
	int err = numbers ? 0 : -ENOMEM;
	size_t n;

	for (n = 0; !err && n < room && words.bytes < FILM_BLOCK_TEXT_MAX; n++) {
		const struct film_thread *t = &threads[n];
		const struct film_process *p = &processes[t->process];
		uint64_t *comm = &numbers[THREAD_NUMBERS * room + n];

		numbers[n] = t->process;
		numbers[room + n] = (uint64_t)t->tid - p->pid;
		numbers[2 * room + n] = t->start - p->start;
		*comm = 0;
		if (!strcmp(t->comm, p->comm))
			continue;
		if (!word_of(&words, t->comm, comm))
			err = -ENOMEM;
		++*comm;
	}
	if (!err)
		err = put_all(c, &words, numbers, columns, room, n);
	*packed = n;
	words_free(&words);
	free(numbers);
	return err;
}

/* A block that is taken apart: its numbers, column by column, and its words. */
struct unpacked {
	uint64_t *numbers; /* of the columns behind the words; of count rows each */
	const char **words;
	size_t word_count;
};

static void unpacked_free(struct unpacked *u)
{
	free(u->numbers);
	free(u->words);
}

static int read_words(struct column_reader *r, const uint64_t *lengths,
		      const struct processes_texts *texts, struct unpacked *u)
{
	for (size_t i = 0; i < u->word_count; i++) {
		const void *text;

		if (lengths[i] > FILM_TEXT_MAX || lengths[i] > *texts->left)
			return -EBADMSG;
		text = column_reader_bytes(r, (size_t)lengths[i]);
		if (!text || memchr(text, 0, (size_t)lengths[i]))
			return -EBADMSG;
		*texts->left -= lengths[i];
		u->words[i] = arena_text(texts->arena, text, (size_t)lengths[i]);
		if (!u->words[i])
			return -ENOMEM;
	}
	return column_reader_end(r);
}

/* To be freed in any case. */
static int unpack(struct column_reader *r, const void *data, size_t size, size_t count,
		  size_t columns, size_t words, const struct processes_texts *texts,
		  struct unpacked *u)
{
	uint64_t *lengths = NULL, word_count;
	int err;

	*u = (struct unpacked){0};
	if (!count || count > FILM_PACKED_ROWS_MAX)
		return -EBADMSG;
	err = column_reader_begin(r, data, size, count * words, (unsigned int)(columns + COLUMNS),
				  FILM_BLOCK_TEXT_MAX + PROCESS_WORDS * FILM_TEXT_MAX);
	if (!err)
		err = column_reader_get(r, &word_count, 1);
	if (!err && word_count > count * words)
		err = -EBADMSG;
	if (err)
		return err;
	u->word_count = (size_t)word_count;
	u->numbers = malloc(count * columns * sizeof(*u->numbers));
	u->words = malloc((u->word_count + 1) * sizeof(*u->words));
	lengths = malloc((u->word_count + 1) * sizeof(*lengths));
	if (!u->numbers || !u->words || !lengths)
		err = -ENOMEM;
	if (!err && word_count)
		err = column_reader_get(r, lengths, u->word_count);
	for (size_t i = 0; !err && i < columns; i++)
		err = column_reader_get(r, u->numbers + i * count, count);
	if (!err)
		err = read_words(r, lengths, texts, u);
	free(lengths);
	return err;
}

/* The word of that number. */
static const char *word(const struct unpacked *u, uint64_t number, int *err)
{
	if (number < u->word_count)
		return u->words[number];
	*err = -EBADMSG;
	return "";
}

static uint32_t number32(uint64_t number, int *err)
{
	if (number > UINT32_MAX)
		*err = -EBADMSG;
	return (uint32_t)number;
}

int processes_unpack(struct column_reader *r, const void *data, size_t size,
		     const struct processes_texts *texts, struct film_process *processes,
		     size_t count)
{
	const bool has_all = texts->version >= 3;
	const size_t words = has_all ? PROCESS_WORDS : PROCESS_WORDS_BEFORE;
	struct unpacked u;
	int err = unpack(r, data, size, count, PROCESS_NUMBERS + words, words, texts, &u);

	for (size_t i = 0; !err && i < count; i++) {
		const uint64_t *n = u.numbers + i;

		processes[i] = (struct film_process){
			.pid = number32(n[0], &err),
			.parent = number32(n[count], &err),
			.start = n[2 * count],
			.end = n[2 * count] + n[3 * count],
			.comm = word(&u, n[4 * count], &err),
			.command = word(&u, n[5 * count], &err),
			.exe = word(&u, n[6 * count], &err),
			.cgroup = word(&u, n[7 * count], &err),
			.container = word(&u, n[8 * count], &err),
			.user = has_all ? word(&u, n[9 * count], &err) : "",
			.resource = has_all ? word(&u, n[10 * count], &err) : "",
		};
	}
	unpacked_free(&u);
	return err;
}

int threads_unpack(struct column_reader *r, const void *data, size_t size,
		   const struct processes_texts *texts, const struct film_process *processes,
		   size_t process_count, struct film_thread *threads, size_t count)
{
	struct unpacked u;
	int err = unpack(r, data, size, count, THREAD_NUMBERS + THREAD_WORDS, THREAD_WORDS, texts,
			 &u);

	for (size_t i = 0; !err && i < count; i++) {
		const uint64_t *n = u.numbers + i;
		const struct film_process *p;

		if (n[0] >= process_count) {
			err = -EBADMSG;
			break;
		}
		p = &processes[n[0]];
		threads[i] = (struct film_thread){
			.process = (uint32_t)n[0],
			.tid = number32(n[count] + p->pid, &err),
			.start = n[2 * count] + p->start,
			.comm = n[3 * count] ? word(&u, n[3 * count] - 1, &err) : p->comm,
		};
	}
	unpacked_free(&u);
	return err;
}
