// SPDX-License-Identifier: Apache-2.0
/*
 * A jitdump, read at once and in two parts, as it grows. Both know the same, and for each name,
 * the file holds those words.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jitdump.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void ask(struct jitdump *dump, int fd, const uint8_t *data, size_t size)
{
	static struct code_name name;
	struct code_question questions[ADDRESSES];

	for (size_t i = 0; i < ADDRESSES; i++)
		questions[i] = (struct code_question){
			.address = 0x1000 + i * 0x10,
			.time = i % 2 ? UINT64_MAX : i * 10,
		};
	check(!code_table_answer(&dump->code, questions, ADDRESSES));
	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct code_question *q = &questions[i];

		if (!q->answer.size)
			continue;
		check(q->address - q->answer.start < q->answer.size);
		check(!dump->code.exact || q->answer.loaded <= q->time);
		if (!jitdump_name(dump, fd, &q->answer, q->address, &name))
			continue;
		check(name.function[0] && memmem(data, size, name.function, strlen(name.function)));
		check(memmem(data, size, name.file, strlen(name.file)) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t part = size ? data[size - 1] * size / 256 : 0;
	struct jitdump whole = {0}, grown = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;

	check(fd >= 0 && write(fd, data, part) == (ssize_t)part);
	err = jitdump_read(&grown, fd, UINT64_MAX);
	check(!err || err == -ENOEXEC);
	check(write(fd, data + part, size - part) == (ssize_t)(size - part));
	err = jitdump_read(&grown, fd, UINT64_MAX);
	check(!err || err == -ENOEXEC);
	check(jitdump_read(&whole, fd, UINT64_MAX) == err);
	check(whole.code.entries.count == grown.code.entries.count);
	check(whole.read_to == grown.read_to);
	ask(&whole, fd, data, size);
	ask(&grown, fd, data, size);
	jitdump_free(&whole);
	jitdump_free(&grown);
	close(fd);
	return 0;
}
