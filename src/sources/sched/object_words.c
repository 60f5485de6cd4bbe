// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "sources/sched/objects.h"

/* Names of directory entries, of which the last one comes first, or none, which is the root. */
static bool put_names(const struct object_report *told, size_t from, struct buf *words)
{
	const char *names[OBJECT_NAMES_MAX], *at = told->text + from,
					     *end = told->text + told->bytes;
	unsigned int count = 0;

	while (at < end && count < OBJECT_NAMES_MAX) {
		const char *zero = memchr(at, 0, (size_t)(end - at));

		if (!zero)
			return false;
		names[count++] = at;
		at = zero + 1;
	}
	if (count != told->names || at != end)
		return false;
	if (told->is_cut)
		buf_put_text(words, "...");
	while (count) {
		buf_put_text(words, "/");
		buf_put_text(words, names[--count]);
	}
	return true;
}

/* A path's names. False: they are not what they should be. */
static bool put_path(const struct object_report *told, struct buf *words)
{
	if (!put_names(told, 0, words))
		return false;
	if (!told->names)
		buf_put_text(words, "/");
	if (told->is_deleted)
		buf_put_text(words, " (deleted)");
	return true;
}

/* The paths that a call was given, those that are relative behind their directory. */
static bool put_given(const struct object_report *told, struct buf *words)
{
	const char *at = told->text, *end = at + told->bytes, *paths[2];
	unsigned int count = 0;

	for (; count < told->given && count < 2; count++) {
		const char *zero = memchr(at, 0, (size_t)(end - at));

		if (!zero)
			return false;
		paths[count] = at;
		at = zero + 1;
	}
	if (!count || count != told->given)
		return false;
	for (unsigned int i = 0; i < count; i++) {
		if (i)
			buf_put_text(words, " -> ");
		if (*paths[i] != '/') {
			if (i && told->given_elsewhere)
				buf_put_text(words, "...");
			else if (!put_names(told, (size_t)(at - told->text), words))
				return false;
			buf_put_text(words, "/");
		}
		buf_put_text(words, paths[i]);
		if (told->given_cut & 1u << i)
			buf_put_text(words, "...");
	}
	return true;
}

static void put_address(const struct object_report *told, const uint8_t *address, uint16_t port,
			struct buf *words)
{
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(told->family, address, text, sizeof(text)))
		return;
	if (told->family == AF_INET6)
		buf_printf(words, "[%s]:%u", text, port);
	else
		buf_printf(words, "%s:%u", text, port);
}

static void put_protocol(const struct object_report *told, struct buf *words)
{
	switch (told->protocol) {
	case IPPROTO_TCP:
		buf_put_text(words, "tcp ");
		break;
	case IPPROTO_UDP:
		buf_put_text(words, "udp ");
		break;
	case IPPROTO_SCTP:
		buf_put_text(words, "sctp ");
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		buf_put_text(words, "icmp ");
		break;
	default:
		if (told->type == SOCK_RAW)
			buf_printf(words, "raw (protocol %u) ", told->protocol);
		else
			buf_printf(words, "protocol %u ", told->protocol);
	}
}

static void put_network_socket(const struct object_report *told, struct buf *words)
{
	static const struct {
		uint16_t family;
		const char *name;
	} families[] = {
		{AF_NETLINK, "netlink"}, {AF_PACKET, "packet"}, {AF_VSOCK, "vsock"},
		{AF_ALG, "crypto"},	 {AF_XDP, "xdp"},
	};

	if (told->family == AF_INET || told->family == AF_INET6) {
		put_protocol(told, words);
		put_address(told, told->near, told->near_port, words);
		if (told->far_port) {
			buf_put_text(words, " -> ");
			put_address(told, told->far, told->far_port, words);
		}
		if (told->listens)
			buf_put_text(words, " (listens)");
		return;
	}
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (families[i].family == told->family) {
			buf_printf(words, "%s socket %llu", families[i].name,
				   (unsigned long long)told->inode);
			return;
		}
	buf_printf(words, "socket %llu of family %u", (unsigned long long)told->inode,
		   told->family);
}

/* As in /proc/net/unix: an address that is not a path begins with a zero, which is shown as "@". */
static void put_unix_socket(const struct object_report *told, struct buf *words)
{
	size_t size = told->bytes;

	/* a path may end with a zero, and then is over */
	if (size && told->text[0])
		size = strnlen(told->text, size);
	buf_put_text(words, "unix ");
	for (size_t i = 0; i < size; i++)
		buf_put_u8(words, told->text[i] ? (uint8_t)told->text[i] : '@');
	if (!size)
		buf_printf(words, "socket %llu", (unsigned long long)told->inode);
	if (told->listens) {
		buf_put_text(words, " (listens)");
		return;
	}
	if (!size && told->far_inode)
		buf_printf(words, " -> %llu", (unsigned long long)told->far_inode);
	if (told->far_pid)
		buf_printf(words, ", made by pid %u at the other end", told->far_pid);
}

/* What has no name but the number that its process calls it by, which may not be known. */
static void put_number(const struct object_report *told, struct buf *words)
{
	static const char *const names[] = {
		[OFF_CPU_FD_EVENT] = "eventfd",	    [OFF_CPU_FD_TIMER] = "timerfd",
		[OFF_CPU_FD_SIGNAL] = "signalfd",   [OFF_CPU_FD_EPOLL] = "epoll",
		[OFF_CPU_FD_NOTIFY] = "inotify",    [OFF_CPU_FD_PROCESS] = "pidfd",
		[OFF_CPU_FD_IO_URING] = "io_uring", [OFF_CPU_FD_OTHER] = "file",
	};
	bool has = told->descriptor < sizeof(names) / sizeof(names[0]) && names[told->descriptor];

	buf_put_text(words, has ? names[told->descriptor] : "file");
	if (told->fd != UINT32_MAX)
		buf_printf(words, " fd %u", told->fd);
}

/* What a file is. False: what describes it is damaged. */
static bool put_file(const struct object_report *told, struct buf *words)
{
	switch (told->descriptor) {
	case OFF_CPU_FD_SOCKET:
		put_network_socket(told, words);
		break;
	case OFF_CPU_FD_UNIX_SOCKET:
		put_unix_socket(told, words);
		break;
	case OFF_CPU_FD_PIPE:
		if (told->names)
			return put_path(told, words);
		buf_printf(words, "pipe %llu", (unsigned long long)told->inode);
		break;
	case OFF_CPU_FD_PATH:
		return put_given(told, words);
	case OFF_CPU_FD_FILE:
	case OFF_CPU_FD_DIRECTORY:
	case OFF_CPU_FD_BLOCK_DEVICE:
	case OFF_CPU_FD_DEVICE:
		return put_path(told, words);
	default:
		put_number(told, words);
	}
	return true;
}

bool object_words(const struct object_report *told, size_t size, struct buf *words)
{
	bool ok = true;

	words->count = 0;
	if (size < offsetof(struct object_report, text) ||
	    size - offsetof(struct object_report, text) < told->bytes)
		return false;
	if (told->operation)
		entry_words_before(told, words);
	if (!told->operation || told->descriptor != OFF_CPU_FD_NONE)
		ok = put_file(told, words);
	entry_words_behind(told, words);
	buf_put_u8(words, 0);
	return ok && !words->failed;
}
