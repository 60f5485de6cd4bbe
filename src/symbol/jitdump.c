// SPDX-License-Identifier: Apache-2.0
#include "symbol/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/file.h"

#define BUFFER		 (64u << 10)

#define MAGIC		 0x4a695444u /* of a writer with the same order of bytes */
#define VERSION		 1
#define OWN_CLOCK	 1u	     /* bit of flags */
#define V8_RESERVED	 0xdeadbeefu /* what V8 writes where nothing is defined */
#define SAME_FILE	 "\xff"	     /* instead of a file's name: the one before */

#define TEXT_LIMIT	 8192u
#define PADDING_MAX	 8u	    /* at the end of a record */
#define RECORDS_PER_READ (1u << 17) /* so that no dump holds up all else */
#define PIECES_PER_READ	 2048u	    /* of BUFFER bytes */
#define WORK_LIMIT	 (4u << 20) /* entries of lines that are looked at, of one process in all */

struct header {
	uint32_t magic, version, size, machine, reserved, pid;
	uint64_t time, flags;
};

enum {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_LINES = 2,
};

struct record {
	uint32_t id, size;
	uint64_t time;
};

struct load {
	struct record head;
	uint32_t pid, tid;
	uint64_t memory, start, size, index;
	/* followed by the name with its zero byte, and the code */
};

struct move {
	struct record head;
	uint32_t pid, tid;
	uint64_t memory, old_start, new_start, size, index;
};

struct lines {
	struct record head;
	uint64_t start, count;
	/* followed by entries, each with the file's name and a zero byte */
};

struct line {
	uint64_t address;
	uint32_t line, discriminator;
};

/* A part of a file, from which small pieces are taken one after the other. */
struct window {
	int fd;
	uint64_t offset; /* of bytes */
	size_t count;
	uint32_t pieces; /* that were read */
	uint8_t bytes[BUFFER];
};

/* The bytes from offset on, at least need of them: *count; null: there are fewer. */
static const uint8_t *window_at(struct window *w, uint64_t offset, size_t need, size_t *count)
{
	if (offset < w->offset || offset + need > w->offset + w->count) {
		ssize_t n = file_read_some(w->fd, offset, w->bytes, sizeof(w->bytes));

		w->pieces++;
		w->offset = offset;
		w->count = n > 0 ? (size_t)n : 0;
	}
	if (offset + need > w->offset + w->count)
		return NULL;
	if (count)
		*count = (size_t)(w->offset + w->count - offset);
	return w->bytes + (offset - w->offset);
}

static int read_header(struct jitdump *dump, int fd)
{
	struct header header;

	if (!file_read_at(fd, 0, &header, sizeof(header)))
		return 0; /* not written yet */
	if (header.magic != MAGIC || header.version != VERSION ||
	    header.machine != ARCH_ELF_MACHINE || header.size < sizeof(header) ||
	    header.size > 4096)
		return -ENOEXEC;
	dump->pid = header.pid;
	dump->own_clock = header.flags & OWN_CLOCK;
	dump->lines_late = header.reserved == V8_RESERVED;
	dump->code.exact = !dump->own_clock;
	dump->read_to = header.size;
	return 0;
}

/* After entries were forgotten, the others have new places. */
static void number_again(struct jitdump *dump)
{
	size_t place = 0;

	map_free(&dump->by_index);
	vec_foreach (&dump->code.entries, entry)
		map_put(&dump->by_index, entry->index, place++);
}

void jitdump_forget(struct jitdump *dump)
{
	code_table_forget(&dump->code);
	number_again(dump);
}

static void add_entry(struct jitdump *dump, struct code_entry *entry, uint64_t index)
{
	size_t count = dump->code.entries.count;

	entry->index = index;
	code_table_add(&dump->code, entry);
	if (dump->code.entries.count < count)
		number_again(dump);
	else if (dump->code.entries.count != count)
		map_put(&dump->by_index, index, count);
}

static void add_load(struct jitdump *dump, const struct load *load, uint64_t offset, uint64_t time)
{
	struct code_entry entry = {
		.start = load->start,
		.size = load->size,
		.loaded = time,
		.record = offset,
		.lines = dump->lines,
		.origin = load->start,
	};

	dump->lines = 0;
	if (load->head.size > sizeof(*load))
		add_entry(dump, &entry, load->index);
}

static void add_move(struct jitdump *dump, const struct move *move, uint64_t time)
{
	const uint64_t *known = map_get(&dump->by_index, move->index);
	struct code_entry entry;

	if (!known)
		return;
	entry = dump->code.entries.at[*known];
	if (entry.start != move->old_start)
		return;
	entry.start = move->new_start;
	entry.loaded = time;
	add_entry(dump, &entry, move->index);
}

/* Reads the record at read_to. Returns 1; 0: it is not there as a whole; -ENOEXEC: it is none. */
static int read_record(struct jitdump *dump, struct window *w, uint64_t end, uint64_t now)
{
	union {
		struct record head;
		struct load load;
		struct move move;
	} record;
	const uint8_t *at = window_at(w, dump->read_to, sizeof(record.head), NULL);
	uint64_t time;
	size_t size;
	bool ours;

	if (!at)
		return 0;
	memcpy(&record, at, sizeof(record.head));
	if (record.head.size < sizeof(record.head))
		return -ENOEXEC;
	if (record.head.size > end - dump->read_to)
		return 0;
	size = record.head.size < sizeof(record) ? record.head.size : sizeof(record);
	at = window_at(w, dump->read_to, size, NULL);
	if (!at)
		return 0;
	memset(&record, 0, sizeof(record));
	memcpy(&record, at, size);
	/* a clock that is ahead is another one */
	time = dump->own_clock || record.head.time > now ? dump->read_at : record.head.time;
	ours = !dump->reader || dump->reader == dump->pid || time <= dump->reader_began;
	if (record.head.id == RECORD_LINES)
		dump->lines = dump->read_to;
	else if (record.head.id == RECORD_LOAD && ours)
		add_load(dump, &record.load, dump->read_to, time);
	else if (record.head.id == RECORD_MOVE && ours)
		add_move(dump, &record.move, time);
	dump->read_to += record.head.size;
	return 1;
}

static int read_records(struct jitdump *dump, int fd, uint64_t end, uint64_t now)
{
	struct window *w = calloc(1, sizeof(*w));
	uint32_t count = 0;
	int more;

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	do
		more = read_record(dump, w, end, now);
	while (more > 0 && ++count < RECORDS_PER_READ && w->pieces < PIECES_PER_READ);
	free(w);
	return more < 0 ? more : 0;
}

int jitdump_read(struct jitdump *dump, int fd, uint64_t now)
{
	struct stat st;
	int err = 0;

	if (dump->broken)
		return -ENOEXEC;
	err = file_stat(fd, &st);
	if (err)
		return err;
	if ((uint64_t)st.st_size < dump->read_to) {
		/* written anew */
		jitdump_free(dump);
		*dump = (struct jitdump){.reader = dump->reader,
					 .reader_began = dump->reader_began};
	}
	if (!dump->read_to)
		err = read_header(dump, fd);
	if (!err && dump->read_to)
		err = read_records(dump, fd, (uint64_t)st.st_size, now);
	dump->broken = err == -ENOEXEC;
	dump->read_at = now;
	return err;
}

/* A text that ends with a zero byte before end; null: none does within TEXT_LIMIT. */
static const char *text_at(struct window *w, uint64_t offset, uint64_t end, size_t *length)
{
	size_t count = end - offset < TEXT_LIMIT ? (size_t)(end - offset) : TEXT_LIMIT;
	const char *text = (const char *)window_at(w, offset, count, NULL);

	*length = text ? strnlen(text, count) : 0;
	return text && *length < count ? text : NULL;
}

static void copy_text(struct window *w, uint64_t offset, uint64_t end, char *to, size_t size)
{
	size_t length;
	const char *text = text_at(w, offset, end, &length);

	if (text)
		snprintf(to, size, "%s", text);
}

/* V8 tells places as they would be in an ELF file whose header lies in front of the code. */
static uint64_t shift_of_lines(const struct jitdump *dump, const struct line *first, uint64_t start)
{
	bool late = dump->lines_late && first->address >= start &&
		    first->address - start >= sizeof(Elf64_Ehdr);

	return late ? sizeof(Elf64_Ehdr) : 0;
}

/*
 * The line of the nearest place that is not behind address, in a record of lines. Its entries must
 * fill it: V8 writes names that were freed meanwhile into some records, which then end elsewhere.
 */
static void find_line(struct jitdump *dump, struct window *w, const struct code_entry *entry,
		      uint64_t address, struct code_name *name)
{
	uint64_t at = entry->lines, end, best = 0, shift = 0, file = 0, best_file = 0, i;
	uint32_t best_line = 0;
	const void *bytes = window_at(w, at, sizeof(struct lines), NULL);
	struct lines lines;

	if (!bytes)
		return;
	memcpy(&lines, bytes, sizeof(lines));
	if (lines.head.id != RECORD_LINES || lines.start != entry->origin)
		return;
	end = at + lines.head.size;
	at += sizeof(lines);
	for (i = 0; i < lines.count && at < end && end - at > sizeof(struct line); i++) {
		struct line line;
		const char *text;
		size_t length;

		bytes = window_at(w, at, sizeof(line), NULL);
		if (!bytes || dump->work_done++ >= WORK_LIMIT)
			return;
		memcpy(&line, bytes, sizeof(line));
		at += sizeof(line);
		text = text_at(w, at, end, &length);
		if (!text)
			break;
		if (strcmp(text, SAME_FILE))
			file = at;
		at += length + 1;
		if (!i)
			shift = shift_of_lines(dump, &line, entry->origin);
		line.address -= shift;
		if (line.address < entry->origin || line.address > address || line.address < best)
			continue;
		best = line.address;
		best_file = file;
		best_line = line.line;
	}
	if (i < lines.count || end - at > PADDING_MAX || !best_file)
		return;
	copy_text(w, best_file, end, name->file, sizeof(name->file));
	name->line = best_line;
}

bool jitdump_name(struct jitdump *dump, int fd, const struct code_entry *entry, uint64_t address,
		  struct code_name *name)
{
	struct window *w = calloc(1, sizeof(*w));
	const uint8_t *at;
	struct load load;

	if (!w)
		return false;
	w->fd = fd;
	name->function[0] = name->file[0] = 0;
	name->line = 0;
	at = window_at(w, entry->record, sizeof(load), NULL);
	if (at) {
		memcpy(&load, at, sizeof(load));
		if (load.head.id == RECORD_LOAD && load.start == entry->origin &&
		    load.size == entry->size && load.head.size > sizeof(load))
			copy_text(w, entry->record + sizeof(load), entry->record + load.head.size,
				  name->function, sizeof(name->function));
	}
	if (name->function[0] && entry->lines)
		find_line(dump, w, entry, address - entry->start + entry->origin, name);
	free(w);
	return name->function[0];
}

void jitdump_free(struct jitdump *dump)
{
	code_table_free(&dump->code);
	map_free(&dump->by_index);
}
