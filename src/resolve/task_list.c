// SPDX-License-Identifier: Apache-2.0
#include "resolve/task_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* More than the kernel gives at once (eight pages): so each piece has whole records. */
#define READ_BYTES 65536u

struct task_list {
	struct bpf_link *link;
	bool has_from;
	struct still_stack stack;
	_Alignas(8) uint8_t piece[READ_BYTES];
};

int task_list_new(const struct bpf_program *program, struct task_list **result, struct fail *why)
{
	struct task_list *list = calloc(1, sizeof(*list));
	int err;

	if (!list)
		return fail_errno(why, -ENOMEM, NULL, "cannot list threads");
	list->link = bpf_program__attach_iter(program, NULL);
	if (!list->link) {
		err = fail_errno(why, -errno, "see 'stackcam doctor'", "cannot list threads");
		free(list);
		return err;
	}
	*result = list;
	return 0;
}

void task_list_free(struct task_list *list)
{
	if (list)
		bpf_link__destroy(list->link);
	free(list);
}

/* The registers of the stack that a record has; null: it has none. */
static const struct capture_handover *from_of(struct task_list *list,
					      const struct capture_head *head)
{
	const struct capture_record *record = (const struct capture_record *)head;

	if (!list->has_from)
		return NULL;
	list->has_from = false;
	if (head->size < sizeof(*record) || !record->handed_over)
		return NULL;
	still_stack_copy(&list->stack, (pid_t)record->identity.pid);
	return &list->stack.from;
}

static int read_piece(struct task_list *list, size_t size,
		      void (*each)(void *context, const struct capture_head *head,
				   const struct capture_handover *from),
		      void *context)
{
	size_t at = 0;

	while (size - at >= sizeof(struct capture_head)) {
		const struct capture_head *head =
			(const struct capture_head *)(const void *)(list->piece + at);

		if (head->size < sizeof(*head) || head->size > size - at || head->size & 7)
			return -EBADMSG;
		at += head->size;
		if (head->kind != CAPTURE_HANDOVER) {
			each(context, head, from_of(list, head));
			continue;
		}
		if (head->size != sizeof(list->stack.from))
			return -EBADMSG;
		memcpy(&list->stack.from, head, sizeof(list->stack.from));
		list->has_from = true;
	}
	return at == size ? 0 : -EBADMSG;
}

int task_list_read(struct task_list *list,
		   void (*each)(void *context, const struct capture_head *head,
				const struct capture_handover *from),
		   void *context)
{
	int fd = bpf_iter_create(bpf_link__fd(list->link)), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	list->has_from = false;
	do {
		n = read(fd, list->piece, sizeof(list->piece));
		if (n > 0 && each)
			err = read_piece(list, (size_t)n, each, context);
	} while (!err && (n > 0 || (n < 0 && errno == EINTR)));
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

#define PAGE 4096u

/* The most pages: a bit for each in missing. */
#define PAGES_MAX 32

void still_stack_copy(struct still_stack *stack, pid_t pid)
{
	struct capture_handover *from = &stack->from;
	uint64_t at = from->sp - CAPTURE_BELOW, first = at;
	uint32_t room = CAPTURE_COPY_MAX, copied = 0, n;

	from->missing = 0;
	/* as capture_stack_room() has it */
	if (from->tls > from->sp && from->tls - at < room)
		room = (uint32_t)(from->tls - at);
	for (n = 0; at - first < room && n < PAGES_MAX; n++) {
		uint32_t size = PAGE - (uint32_t)(at & (PAGE - 1)), done = (uint32_t)(at - first);
		struct iovec to = {stack->copy + done, size}, there = {(void *)at, size};

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
