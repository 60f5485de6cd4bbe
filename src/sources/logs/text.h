/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LOGS_TEXT_H
#define SOURCES_LOGS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What messages to the journal and to syslog say: hostile, as all that programs write. */

/* A part of a message, and its level: syslog(3)'s and 1; 0: it does not say it. */
struct logs_text {
	const char *at;
	size_t size;
	uint8_t level;
};

/* A line that may begin with "<13>", as syslog(3) and sd-daemon(3) have it. */
struct logs_text logs_text_syslog(const char *at, size_t size);

/*
 * The field MESSAGE of a datagram in the journal's own protocol
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL), and PRIORITY; size 0: it has none. Other fields are left.
 */
struct logs_text logs_text_journal(const char *at, size_t size);

/* Whether it is data, and no text: it has a byte of zero. */
bool logs_text_is_data(const char *at, size_t size);

#endif
