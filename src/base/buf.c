// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static bool reserve(struct buf *b, size_t more)
{
	if (b->failed)
		return false;
	if (more <= b->room - b->count)
		return true;
	if (more > SIZE_MAX - b->count ||
	    !vec_grow_raw((void **)&b->at, &b->room, b->count + more, 1))
		b->failed = true;
	return !b->failed;
}

void buf_put(struct buf *b, const void *bytes, size_t count)
{
	if (!count || !reserve(b, count))
		return;
	memcpy(b->at + b->count, bytes, count);
	b->count += count;
}

void buf_put_u8(struct buf *b, uint8_t byte)
{
	buf_put(b, &byte, 1);
}

void buf_put_varint(struct buf *b, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (uint8_t)value | 0x80;
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	buf_put(b, bytes, n);
}

void buf_put_text(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !reserve(b, (size_t)n + 1))
		return;
	va_start(args, format);
	vsnprintf((char *)b->at + b->count, (size_t)n + 1, format, args);
	va_end(args);
	b->count += (size_t)n;
}

void buf_free(struct buf *b)
{
	free(b->at);
	*b = (struct buf){0};
}

const uint8_t *bytes_read(struct bytes *b, size_t count)
{
	const uint8_t *at = b->at;

	if (b->failed || count > bytes_left(b)) {
		b->failed = true;
		b->at = b->end;
		return NULL;
	}
	b->at += count;
	return at;
}

static uint64_t little_endian(struct bytes *b, size_t count)
{
	const uint8_t *at = bytes_read(b, count);
	uint64_t value = 0;
	size_t i;

	for (i = 0; at && i < count; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

uint8_t bytes_u8(struct bytes *b)
{
	return (uint8_t)little_endian(b, 1);
}

uint16_t bytes_u16(struct bytes *b)
{
	return (uint16_t)little_endian(b, 2);
}

uint32_t bytes_u32(struct bytes *b)
{
	return (uint32_t)little_endian(b, 4);
}

uint64_t bytes_u64(struct bytes *b)
{
	return little_endian(b, 8);
}

uint64_t bytes_varint(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; shift < 64; shift += 7) {
		const uint8_t *at = bytes_read(b, 1);

		if (!at)
			return 0;
		if (shift == 63 && *at > 1)
			break;
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at & 0x80))
			return value;
	}
	b->failed = true;
	return 0;
}

int64_t bytes_svarint(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	const uint8_t *at;

	do {
		at = bytes_read(b, 1);
		if (!at)
			return 0;
		if (shift < 64)
			value |= (uint64_t)(*at & 0x7f) << shift;
		shift += 7;
	} while (*at & 0x80 && shift < 70);
	if (shift < 64 && *at & 0x40)
		value |= ~0ull << shift;
	return (int64_t)value;
}

const char *bytes_text(struct bytes *b)
{
	const uint8_t *zero = b->failed ? NULL : memchr(b->at, 0, bytes_left(b));
	const char *s = (const char *)b->at;

	if (!zero) {
		b->failed = true;
		b->at = b->end;
		return "";
	}
	b->at = zero + 1;
	return s;
}

char *buf_steal_text(struct buf *b)
{
	buf_put_u8(b, 0);
	if (!b->failed)
		return (char *)b->at;
	buf_free(b);
	return NULL;
}
