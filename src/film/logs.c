// SPDX-License-Identifier: Apache-2.0
#include "film/logs.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

const char *film_log_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[0] = "unknown",
		[FILM_LOG_OUTPUT] = "output",
		[FILM_LOG_ERROR] = "error",
		[FILM_LOG_FILE] = "file",
		[FILM_LOG_JOURNAL] = "journal",
		[FILM_LOG_SYSLOG] = "syslog",
	};

	return names[kind < COUNT_OF(names) ? kind : 0];
}

const char *film_log_level_name(unsigned int level)
{
	static const char *const names[] = {"",	       "emergency", "alert", "critical", "error",
					    "warning", "notice",    "info",  "debug"};

	return names[level < COUNT_OF(names) ? level : 0];
}
