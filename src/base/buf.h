/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A growable array of bytes. All zero is empty. When memory runs out, failed is set and every later
 * call does nothing, so that a writer needs to check failed only once, at its end.
 */
struct buf {
	uint8_t *at;
	size_t count, room;
	bool failed;
};

void buf_put(struct buf *b, const void *bytes, size_t count);
void buf_put_u8(struct buf *b, uint8_t byte);
/* LEB128, as in DWARF and protobuf */
void buf_put_varint(struct buf *b, uint64_t value);
void buf_put_text(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_free(struct buf *b);

/* Maps signed to unsigned numbers for varints: small magnitudes become small numbers. */
static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/*
 * Returns the bytes of b with a zero byte appended. The caller frees them, and must neither use nor
 * free b afterwards. Null: no memory; b is empty then.
 */
char *buf_steal_text(struct buf *b);

/* Bytes to parse. Reads never go beyond end; a read that would sets failed, which stays set. */
struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

uint8_t bytes_u8(struct bytes *b);
uint16_t bytes_u16(struct bytes *b); /* little endian, as all fixed numbers here */
uint32_t bytes_u32(struct bytes *b);
uint64_t bytes_u64(struct bytes *b);
uint64_t bytes_varint(struct bytes *b);	 /* ULEB128; more than 64 bits fail */
int64_t bytes_svarint(struct bytes *b);	 /* SLEB128 */
const char *bytes_text(struct bytes *b); /* up to its zero byte; "" if that is missing */
/* Skips count bytes and returns the first of them, or null. */
const uint8_t *bytes_read(struct bytes *b, size_t count);

/* All bytes of a buffer, which may be empty and have no memory. */
static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){b->at, b->count ? b->at + b->count : b->at, false};
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}

#endif
