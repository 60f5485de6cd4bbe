// SPDX-License-Identifier: Apache-2.0
#include "sources/calls/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/probes.skel.h"

/* The kernel hands out no more than this with one read, and cuts no thread's records in two. */
#define READ_BYTES (64u << 10)

/* Emits the records of one read. */
static int emit_records(const uint8_t *from, size_t bytes,
			void (*emit)(void *context, const struct capture_head *), void *context)
{
	struct capture_head head;

	while (bytes >= sizeof(head)) {
		memcpy(&head, from, sizeof(head));
		if (head.size < sizeof(head) || head.size > bytes)
			return -EBADMSG;
		emit(context, (const struct capture_head *)(const void *)from);
		from += head.size;
		bytes -= head.size;
	}
	return bytes ? -EBADMSG : 0;
}

static int read_all(struct bpf_program *program,
		    void (*emit)(void *context, const struct capture_head *), void *context)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	uint8_t *buffer = malloc(READ_BYTES);
	int fd = -1, err = 0;
	ssize_t n;

	if (!link)
		err = -errno;
	else if (!buffer)
		err = -ENOMEM;
	if (!err) {
		fd = bpf_iter_create(bpf_link__fd(link));
		err = fd < 0 ? -errno : 0;
	}
	while (!err) {
		n = read(fd, buffer, READ_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		err = emit_records(buffer, (size_t)n, emit, context);
	}
	if (fd >= 0)
		close(fd);
	free(buffer);
	bpf_link__destroy(link);
	return err;
}

int open_calls_read(struct probes *probes, void (*emit)(void *context, const struct capture_head *),
		    void *context)
{
	int err = read_all(probes->progs.calls_open, emit, context);

	return err ? err : read_all(probes->progs.calls_open_go, emit, context);
}
