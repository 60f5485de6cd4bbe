// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/objects.h"

/*
 * By operation, as linux/io_uring.h numbers them, which never changes: what it is called, and what
 * stands before its file.
 */
static const struct {
	const char *name, *before;
} operations[] = {
	{"nop", "of"},
	{"read", "of"},
	{"write", "to"},
	{"fsync", "of"},
	{"read", "of"},
	{"write", "to"},
	{"poll", "of"},
	{"poll-remove", "of"},
	{"sync_file_range", "of"},
	{"sendmsg", "to"},
	{"recvmsg", "from"},
	{"timeout", "of"},
	{"timeout-remove", "of"},
	{"accept", "on"},
	{"cancel", "of"},
	{"timeout of a link", "of"},
	{"connect", "of"},
	{"fallocate", "of"},
	{"openat", "of"},
	{"close", "of"},
	{"files-update", "of"},
	{"statx", "of"},
	{"read", "of"},
	{"write", "to"},
	{"fadvise", "of"},
	{"madvise", "of"},
	{"send", "to"},
	{"recv", "from"},
	{"openat2", "of"},
	{"epoll_ctl", "of"},
	{"splice", "to"},
	{"provide-buffers", "of"},
	{"remove-buffers", "of"},
	{"tee", "to"},
	{"shutdown", "of"},
	{"renameat", "of"},
	{"unlinkat", "of"},
	{"mkdirat", "of"},
	{"symlinkat", "of"},
	{"linkat", "of"},
	{"message", "to"},
	{"fsetxattr", "of"},
	{"setxattr", "of"},
	{"fgetxattr", "of"},
	{"getxattr", "of"},
	{"socket", "of"},
	{"command", "to"},
	{"send", "to"},
	{"sendmsg", "to"},
	{"read", "of"},
	{"waitid", "of"},
	{"futex-wait", "of"},
	{"futex-wake", "of"},
	{"futex-waitv", "of"},
	{"install", "of"},
	{"ftruncate", "of"},
	{"bind", "of"},
	{"listen", "on"},
	{"recv", "from"},
	{"epoll_wait", "of"},
	{"read", "of"},
	{"write", "to"},
	{"pipe", "of"},
};

void entry_words_before(const struct object_report *told, struct buf *words)
{
	unsigned int operation = told->operation - 1u;
	const char *before = "of";

	if (operation < sizeof(operations) / sizeof(operations[0])) {
		before = operations[operation].before;
		buf_put_text(words, operations[operation].name);
	} else {
		buf_printf(words, "operation %u", operation);
	}
	if (told->descriptor != OFF_CPU_FD_NONE)
		buf_printf(words, " %s ", before);
}

void entry_words_behind(const struct object_report *told, struct buf *words)
{
	if (told->in_flight > 1)
		buf_printf(words, " and %u more", told->in_flight - 1u);
	if (told->in_flight)
		buf_put_text(words, " (in flight)");
}
