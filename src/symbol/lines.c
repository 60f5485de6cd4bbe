// SPDX-License-Identifier: Apache-2.0
#include "symbol/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (8u << 10)
#define BUFFER	       (64u << 10)

int lines_of_fd(int fd, uint64_t limit, int (*emit)(void *context, char *line), void *context)
{
	char *buffer = malloc(BUFFER + 1);
	size_t held = 0;
	bool dropping = false; /* the rest of a line that was cut */
	int err = 0;

	if (!buffer)
		return -ENOMEM;
	while (!err) {
		size_t room = BUFFER - held, begin = 0;
		ssize_t n;
		char *newline;

		if (room > limit)
			room = (size_t)limit;
		n = read(fd, buffer + held, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		limit -= (uint64_t)n;
		held += (size_t)n;
		while (!err && (newline = memchr(buffer + begin, '\n', held - begin))) {
			*newline = 0;
			if (newline - (buffer + begin) > LINE_MAX_BYTES)
				buffer[begin + LINE_MAX_BYTES] = 0;
			if (!dropping)
				err = emit(context, buffer + begin);
			dropping = false;
			begin = (size_t)(newline - buffer) + 1;
		}
		held -= begin;
		memmove(buffer, buffer + begin, held);
		if (held > LINE_MAX_BYTES) {
			buffer[LINE_MAX_BYTES] = 0;
			if (!dropping && !err)
				err = emit(context, buffer);
			dropping = true;
			held = 0;
		}
	}
	if (!err && held && !dropping) {
		buffer[held] = 0;
		err = emit(context, buffer);
	}
	free(buffer);
	return err;
}
