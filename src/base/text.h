/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Handles text from outside: names of processes, symbols, paths. It may contain any bytes, also
 * escape sequences by which an attacker controls a terminal. Never print such text unescaped.
 */

/*
 * Writes s to out as UTF-8 without control characters: C0, DEL, C1 and invalid UTF-8 become \xNN,
 * and so do the code points that change the direction of text (U+202A..E, U+2066..9).
 */
void text_print_safe(FILE *out, const char *s);

/* The same in double quotes, with a backslash before each quote in the text. */
void text_print_quoted(FILE *out, const char *s);

/*
 * The same into a buffer of size bytes, which is always terminated. Returns the full length, as
 * snprintf() does.
 */
size_t text_make_safe(char *to, size_t size, const char *s);

/* Formats bytes as "0f3a…", as many as fit into size with the terminating zero. Returns to. */
char *text_hex(char *to, size_t size, const void *bytes, size_t count);

/*
 * Parses count hexadecimal digits of either case into count / 2 bytes. False: other characters were
 * found; some bytes of to may be written then.
 */
bool text_parse_hex(const char *digits, size_t count, uint8_t *to);

/*
 * Returns the length in bytes of the valid UTF-8 sequence at s, of which left bytes may be read,
 * and sets *point to its code point. 0: the sequence is invalid. Overlong forms and surrogates are
 * invalid.
 */
size_t text_utf8(const char *s, size_t left, uint32_t *point);

/* "SIGSEGV"; "signal 40" for a number without a name. */
void text_signal(int number, char *to, size_t size);

/* Writes a code point (at most U+10FFFF) as UTF-8; returns its length in bytes, 1 to 4. */
size_t text_put_utf8(char to[4], uint32_t point);

/* Formats a duration in nanoseconds with three digits or more: "1.234 ms", "12.3 s". */
void text_duration(char *to, size_t size, uint64_t ns);
/*
 * Formats a quantile, which is only accurate to 1/64, with its significant digits: "1.04 ms", "23
 * ms". most is the exact maximum of the values: the printed quantile never exceeds it, and a
 * quantile that equals it is printed as exact.
 */
void text_quantile(char *to, size_t size, uint64_t ns, uint64_t most);

/* Formats a number of bytes: "12.3 MB" (powers of 1000). */
void text_bytes(char *to, size_t size, uint64_t bytes);

/* The plural ending of a noun after a number: "s", or "" after 1. */
static inline const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Formats a count with separators: "1,234,567". */
void text_count(char *to, size_t size, uint64_t n);

/*
 * Parses a whole decimal number between min and max; the string must hold nothing else.
 * Returns 0 or -EINVAL.
 */
int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *value);

/*
 * Parses a time such as "10", "2.5s", "500ms", "10us", "20ns", "5m", "1h", "7d", up to 1e9 s (30
 * years). A number without a suffix counts units of `unit` ns. Returns 0 or -EINVAL.
 */
int text_parse_time(const char *s, uint64_t unit, uint64_t *ns);

/*
 * Parses a size such as "4096", "500MB", "1.5 GB", "2GiB", up to 1e18 bytes. Returns 0 or -EINVAL.
 */
int text_parse_bytes(const char *s, uint64_t *bytes);

/*
 * An escaped copy of s, as from text_make_safe(), in which each byte of `these` is \xNN, too. The
 * caller frees it; null: no memory.
 */
char *text_safe(const char *s, const char *these);

/* The same for a name, followed by " FILE:LINE" unless file is "". */
char *text_place(const char *name, const char *file, uint32_t line, const char *these);

#endif
