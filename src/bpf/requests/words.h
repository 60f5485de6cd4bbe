/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_WORDS_H
#define BPF_REQUESTS_WORDS_H

/*
 * What a protocol's messages begin with. This decides what is worth being copied, and no more: user
 * space reads it, and may find that it was something else.
 */
#include "bpf/requests/abi.h"

#define WORD4(a, b, c, d) ((__u32)(a) | (__u32)(b) << 8 | (__u32)(c) << 16 | (__u32)(d) << 24)

#define WORD_HTTP	  WORD4('H', 'T', 'T', 'P')

/* The least that tells one from the other. */
#define REQUESTS_LEAST 5

static __always_inline __u32 word_at(const __u8 *data)
{
	return WORD4(data[0], data[1], data[2], data[3]);
}

static __always_inline bool requests_is_answer(const __u8 *data)
{
	return word_at(data) == WORD_HTTP;
}

/* "HTTP/1.1 101": what follows it is of another protocol. */
static __always_inline bool requests_is_switch(const __u8 *data)
{
	return data[9] == '1' && data[10] == '0' && data[11] == '1';
}

static __always_inline bool is_http(__u32 word)
{
	switch (word) {
	case WORD_HTTP:
	case WORD4('G', 'E', 'T', ' '):
	case WORD4('P', 'O', 'S', 'T'):
	case WORD4('P', 'U', 'T', ' '):
	case WORD4('H', 'E', 'A', 'D'):
	case WORD4('D', 'E', 'L', 'E'):
	case WORD4('P', 'A', 'T', 'C'):
	case WORD4('O', 'P', 'T', 'I'):
	case WORD4('C', 'O', 'N', 'N'):
	case WORD4('T', 'R', 'A', 'C'):
		return true;
	default:
		return false;
	}
}

/* A number in the order of the network. */
static __always_inline __u32 big_at(const __u8 *data)
{
	return (__u32)data[0] << 24 | data[1] << 16 | data[2] << 8 | data[3];
}

/*
 * A client's first message, which has its length and then the version, or asks for encryption; or
 * one that runs a statement: a letter, and the length of the rest.
 */
static __always_inline bool is_postgresql(const __u8 *data, __u32 length)
{
	__u32 size = big_at(data + 1);

	if (big_at(data) == length && (big_at(data + 4) == 0x00030000 || length == 8))
		return big_at(data + 4) == 0x00030000 || big_at(data + 4) == 80877103;
	if (data[0] == 'Q')
		return size + 1 == length;
	return (data[0] == 'P' || data[0] == 'B') && size >= 8 && size < length;
}

/*
 * HTTP/2 (RFC 9113): a client's preface; the frame of settings that both sides begin with; a whole
 * frame of headers, of a stream that a client has opened; or a ping, or a window's update.
 */
static __always_inline bool is_http2(const __u8 *data, __u32 length)
{
	__u32 size = big_at(data) >> 8, stream = big_at(data + 5);

	if (word_at(data) == WORD4('P', 'R', 'I', ' '))
		return true;
	if (data[3] == 4)
		return !stream && data[4] <= 1 && size <= 120 && !(size % 6) && size + 9 <= length;
	if (data[3] == 6)
		return !stream && data[4] <= 1 && size == 8;
	if (data[3] == 8)
		return !data[4] && size == 4 && !(stream >> 31);
	return data[3] == 1 && size && size + 9 <= length && (data[4] & ~0x29) == 4 && stream & 1 &&
	       !(stream >> 31);
}

/* What both sides of HTTP/2 begin with alone: a preface, and settings. */
static __always_inline bool requests_begins_http2(const __u8 *data)
{
	return data[3] == 4 || word_at(data) == WORD4('P', 'R', 'I', ' ');
}

/* Its messages can begin anywhere in a call, and each must be read. */
static __always_inline bool requests_wants_all(__u32 protocol)
{
	return protocol == REQUESTS_HTTP2;
}

/* A record of TLS: its type, and a version (RFC 8446, 5.1). Often its head is read by itself. */
static __always_inline bool requests_is_tls(const __u8 *data, __u32 copied)
{
	return copied >= REQUESTS_LEAST && data[0] >= 20 && data[0] <= 23 && data[1] == 3 &&
	       data[2] <= 4;
}

/* Protocols that ask for encryption by a message of their own, which TLS follows. */
static __always_inline bool requests_may_encrypt(__u32 protocol)
{
	return protocol == REQUESTS_MYSQL || protocol == REQUESTS_POSTGRESQL;
}

static __always_inline bool is_printable(__u8 c)
{
	return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t';
}

/* A client's command that carries a statement, alone in its call. */
static __always_inline bool is_mysql_command(const __u8 *data, __u32 size)
{
	if (data[3])
		return false;
	if (data[4] == 3 || data[4] == 22)
		return size > 2 && is_printable(data[5]) && is_printable(data[6]);
	return data[4] == 23 && size >= 10;
}

/*
 * What a server of MySQL says: its greeting, with its version, or the columns of an answer, the
 * first of which says that it is of the catalogue "def".
 */
static __always_inline bool is_mysql_answer(const __u8 *data, __u32 size, __u32 length)
{
	const __u8 *column = data + 4 + size;

	if (!data[3])
		return size + 4 == length && data[4] == 10 && size > 40 && data[5] >= '1' &&
		       data[5] <= '9';
	return data[3] == 1 && (size == 1 || size == 2) && length > 24 && column[3] == 2 &&
	       word_at(column + 4) == WORD4(3, 'd', 'e', 'f');
}

static __always_inline __u32 little3_at(const __u8 *data)
{
	return data[0] | data[1] << 8 | (__u32)data[2] << 16;
}

/* Whether a number is not 0: 1 or 0, without a branch, of which each doubles what is verified. */
static __always_inline __u32 requests_any(__u32 number)
{
	asm volatile("" : "+r"(number));
	number = (number | -number) >> 31;
	asm volatile("" : "+r"(number));
	return number;
}

/*
 * A command in a packet of a compressed connection, with the length of both: as it is, or packed by
 * zlib or zstd.
 */
static __always_inline bool is_mysql_packed(const __u8 *data, __u32 copied, __u32 length)
{
	__u32 not_one = data[3] | ((little3_at(data) + 7) ^ length) | ((copied - 14) >> 31);
	__u32 not_plain = little3_at(data + 4) | data[10] | ((little3_at(data + 7) + 11) ^ length);
	__u32 not_zlib = (data[7] ^ 0x78) | (0x7800u | data[8]) % 31;
	__u32 not_zstd = word_at(data + 7) ^ 0xfd2fb528;

	return !(requests_any(not_one) |
		 (requests_any(not_plain) & requests_any(not_zlib) & requests_any(not_zstd)));
}

static __always_inline bool is_mysql(const __u8 *data, __u32 copied, __u32 length)
{
	__u32 size = little3_at(data);

	if (is_mysql_packed(data, copied, length))
		return true;
	if (size + 4 == length && copied > 6 && is_mysql_command(data, size))
		return true;
	/* (the size is looked at again, for the verifier) */
	if (copied < 16)
		return false;
	return !data[3] ? is_mysql_answer(data, size, length)
			: size < 3 && is_mysql_answer(data, size & 3, length);
}

/*
 * Whether what a call moves is the command of MySQL that the head before announced: its servers
 * receive the two by themselves, some of them only what is encrypted.
 */
static __always_inline bool requests_is_behind(__u32 head, __u32 length)
{
	return head && head == length;
}

/* Whether what it was known by is an answer, and not a request. */
static __always_inline bool requests_seems_answered(__u32 protocol, const __u8 *data)
{
	/* (no version begins so, but what zlib packs does) */
	return protocol == REQUESTS_MYSQL && (data[3] || (data[4] == 10 && data[7] != 0x78));
}

/* A client's first record: version 1, it begins a request, in eight bytes. */
static __always_inline bool is_fastcgi(const __u8 *data)
{
	return data[0] == 1 && data[1] == 1 && !data[4] && data[5] == 8 && !data[7];
}

/* Whether it is HTTP without streams, by its first word. */
static __always_inline bool requests_is_http(const __u8 *data, __u32 copied)
{
	return copied >= REQUESTS_LEAST && is_http(word_at(data));
}

/* By itself, as it is asked of a connection's first calls, and then of few. */
static __noinline __u32 requests_protocol_of(const __u8 *data, __u32 copied, __u32 length)
{
	if (copied < REQUESTS_LEAST)
		return REQUESTS_UNKNOWN;
	if (is_http(word_at(data)))
		return REQUESTS_HTTP;
	if (data[0] == '*' && data[1] >= '1' && data[1] <= '9')
		return REQUESTS_REDIS;
	if (copied >= 8 && is_fastcgi(data))
		return REQUESTS_FASTCGI;
	if (copied >= 9 && is_http2(data, length))
		return REQUESTS_HTTP2;
	if (is_mysql(data, copied, length))
		return REQUESTS_MYSQL;
	return copied >= 8 && is_postgresql(data, length) ? REQUESTS_POSTGRESQL : REQUESTS_UNKNOWN;
}

#endif
