/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Text from outside: names of processes, symbols, paths. They may hold anything, and some text is
 * written by attackers who want a terminal to do something. Never print such text unescaped.
 */

/*
 * Writes s to out as UTF-8 without control characters: C0, DEL, C1 and invalid UTF-8 become \xNN,
 * and so do the code points that change the direction of text (U+202A..E, U+2066..9).
 */
void text_print_safe(FILE *out, const char *s);

/* The same between quotes, and with a backslash before those that are in it. */
void text_print_quoted(FILE *out, const char *s);

/* The same into a string of the caller's (always terminated); returns the length it wanted. */
size_t text_make_safe(char *to, size_t size, const char *s);

/* Bytes as "0f3a…", as many as fit into size with the terminating zero. Returns to. */
char *text_hex(char *to, size_t size, const void *bytes, size_t count);

/*
 * The bytes of that many hexadecimal digits, half as many, of either case. False: they are
 * something else; to may hold a part of them then.
 */
bool text_parse_hex(const char *digits, size_t count, uint8_t *to);

/*
 * The length in bytes of the valid UTF-8 sequence at s (at most left bytes long), with its code
 * point in *point; 0 when s holds no valid sequence. Overlong forms and surrogates are invalid.
 */
size_t text_utf8(const char *s, size_t left, uint32_t *point);

/* "SIGSEGV"; of one without a name "signal 40". */
void text_signal(int number, char *to, size_t size);

/* Writes a code point (at most U+10FFFF) as UTF-8; returns its length in bytes, 1 to 4. */
size_t text_put_utf8(char to[4], uint32_t point);

/* "1.234 ms", "12.3 s": three digits or more of a duration in nanoseconds, for people. */
void text_duration(char *to, size_t size, uint64_t ns);
/*
 * The same of a quantile, which is known to 1/64 of itself: "1.04 ms", "23 ms", with the digits
 * that are known. most is the longest of its values, exactly: what is printed is not more than it,
 * and what equals it is exact, too.
 */
void text_quantile(char *to, size_t size, uint64_t ns, uint64_t most);

/* "12.3 MB": a number of bytes, for people (powers of 1000). */
void text_bytes(char *to, size_t size, uint64_t bytes);

/* "s", or nothing for one: of a word behind a number. */
static inline const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "1,234,567" */
void text_count(char *to, size_t size, uint64_t n);

/*
 * Parses a whole decimal number between min and max; the string must hold nothing else.
 * Returns 0 or -EINVAL.
 */
int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *value);

/*
 * Parses a time such as "10", "2.5s", "500ms", "10us", "20ns", "5m", "1h", "7d", up to 1e9 s (30
 * years); a number alone counts units of unit ns. Returns 0 or -EINVAL.
 */
int text_parse_time(const char *s, uint64_t unit, uint64_t *ns);

/*
 * Parses a size such as "4096", "500MB", "1.5 GB", "2GiB", up to 1e18 bytes. Returns 0 or -EINVAL.
 */
int text_parse_bytes(const char *s, uint64_t *bytes);

/*
 * A copy of s as text_make_safe() makes it, with each byte of `these` as \xNN, too. The caller
 * frees it; null: no memory.
 */
char *text_safe(const char *s, const char *these);

/* The same of a name, and of " FILE:LINE" behind it unless file is "". */
char *text_place(const char *name, const char *file, uint32_t line, const char *these);

#endif
