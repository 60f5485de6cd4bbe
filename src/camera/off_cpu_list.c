// SPDX-License-Identifier: Apache-2.0
#include "camera/off_cpu_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "probes.skel.h"

#define PAGE	   4096u
#define READ_BYTES 65536u

struct off_cpu_list {
	struct probes *probes;
	struct bpf_link *link;
	struct {
		struct capture_handover from;
		uint8_t copy[CAPTURE_COPY_MAX];
	} stack;
	uint8_t chunk[READ_BYTES];
};

int off_cpu_list_new(struct probes *probes, struct off_cpu_list **result, struct fail *why)
{
	struct off_cpu_list *list = calloc(1, sizeof(*list));
	int err;

	if (!list)
		return fail_errno(why, -ENOMEM, NULL, "cannot list threads");
	list->probes = probes;
	list->link = bpf_program__attach_iter(probes->progs.off_cpu_tasks, NULL);
	if (!list->link) {
		err = fail_errno(why, -errno, "see 'stackcam doctor'", "cannot list threads");
		free(list);
		return err;
	}
	*result = list;
	return 0;
}

void off_cpu_list_free(struct off_cpu_list *list)
{
	if (list)
		bpf_link__destroy(list->link);
	free(list);
}

/* Reads all of the list, for a purpose. */
static int read_all(struct off_cpu_list *list, enum off_cpu_listing purpose, struct buf *all)
{
	int fd, err = 0;
	ssize_t n;

	list->probes->bss->off_cpu_listing = purpose;
	fd = bpf_iter_create(bpf_link__fd(list->link));
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, list->chunk, sizeof(list->chunk));
		if (n > 0)
			buf_put(all, list->chunk, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		err = -errno;
	else if (all->failed)
		err = -ENOMEM;
	close(fd);
	return err;
}

int off_cpu_list_begin(struct off_cpu_list *list)
{
	struct buf all = {0};
	int err = read_all(list, OFF_CPU_LIST_BEGIN, &all);

	buf_free(&all);
	return err;
}

/* The thread's stack, page by page: one that is missing must not cost those behind it. */
static void copy_stack(struct off_cpu_list *list, pid_t pid)
{
	struct capture_handover *from = &list->stack.from;
	uint64_t at = from->sp - CAPTURE_BELOW, first = at;
	uint32_t room = CAPTURE_COPY_MAX, copied = 0, n;

	/* as capture_stack_room() has it */
	if (from->tls > from->sp && from->tls - at < room)
		room = (uint32_t)(from->tls - at);
	for (n = 0; at - first < room && n < 32; n++) {
		uint32_t size = PAGE - (uint32_t)(at & (PAGE - 1)), done = (uint32_t)(at - first);
		struct iovec to = {list->stack.copy + done, size}, there = {(void *)at, size};

		if (size > CAPTURE_COPY_MAX - done)
			size = CAPTURE_COPY_MAX - done;
		to.iov_len = there.iov_len = size;
		if (process_vm_readv(pid, &to, 1, &there, 1, 0) == (ssize_t)size)
			copied = done + size;
		else
			from->missing |= 1u << n;
		at += size;
	}
	from->is_still = 1;
	from->copied = copied < room ? copied : room;
}

int off_cpu_list_waiting(struct off_cpu_list *list,
			 void (*each)(void *context, const struct capture_record *record,
				      const struct capture_handover *from),
			 void *context)
{
	struct buf all = {0};
	int err = read_all(list, OFF_CPU_LIST_WAITING, &all);
	size_t at = 0;

	while (!err && all.count - at >= sizeof(struct capture_handover)) {
		const struct capture_record *record;

		memcpy(&list->stack.from, all.at + at, sizeof(list->stack.from));
		at += sizeof(list->stack.from);
		record = (const struct capture_record *)(const void *)(all.at + at);
		if (all.count - at < sizeof(*record) || record->head.size > all.count - at ||
		    record->head.size < sizeof(*record)) {
			err = -EBADMSG;
			break;
		}
		if (record->has_user)
			copy_stack(list, (pid_t)record->identity.pid);
		each(context, record, record->has_user ? &list->stack.from : NULL);
		at += record->head.size;
	}
	buf_free(&all);
	return err;
}
