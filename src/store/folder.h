/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * How a store lies in its folder. Names are relative to it: "films/HOST/2026-11-21/14.film". No
 * byte of what a sender says gets into a name but as one of [0-9A-Za-z_.-], or "%XX".
 */
enum {
	FOLDER_HOST_MAX = 240, /* bytes of a host's folder */
	FOLDER_NAME_MAX = 512,
	FOLDER_AGENT_MAX = 64
};

#define NS_PER_SECOND 1000000000ull
#define NS_PER_HOUR   (3600 * NS_PER_SECOND)

/* The host as the name of a folder, and back. -EINVAL: it is empty; -ENAMETOOLONG. */
int folder_of_host(const char *host, char to[FOLDER_HOST_MAX + 1], struct fail *why);
/* False: no host has such a folder. */
bool folder_host_of(const char *folder, char to[FOLDER_HOST_MAX + 1]);

/* The name of the film number (from 1 on) of the hour that a time lies in. */
void folder_film_name(char *to, size_t size, const char *host_folder, uint64_t time,
		      unsigned int number);

/* What was sent: its begin, its agent ("": it came without a name), and a number. */
void folder_part_name(char *to, size_t size, const char *host_folder, uint64_t start,
		      const char *agent, uint64_t number);

/*
 * What a film is called among the damaged ones, in aside/; time: ns since 1970, of its last change.
 * The same film always has the same name there. And back: false: nothing of that name is a film.
 */
void folder_aside_name(char *to, size_t size, const char *name, uint64_t time);
bool folder_parse_aside(const char *aside, char name[FOLDER_NAME_MAX]);

/* What a name says. */
struct folder_name {
	char host[FOLDER_HOST_MAX + 1];
	bool is_part;
	uint64_t start; /* ns since 1970; of a film of an hour: that of the hour */
	char agent[FOLDER_AGENT_MAX + 1];
	uint64_t number;
};
bool folder_parse(const char *name, struct folder_name *parsed);

/* Makes the folders that name lies in. */
int folder_make(const char *root, const char *name);

/* Calls emit() for each film that is there, with the size of what belongs to it and its mode. */
int folder_each_film(const char *root,
		     int (*emit)(void *context, const char *name, uint64_t bytes,
				 unsigned int mode),
		     void *context);

/* Bytes of a film with its side files; 0: it is not there. */
uint64_t folder_bytes(const char *root, const char *name, unsigned int *mode);

/* Whether SQLite's log lies beside a film: it says nothing of whether the film grows. */
bool folder_has_wal(const char *path);

/* Removes a film and its side files, and what folders are empty then. */
int folder_remove(const char *root, const char *name);

/* Until the disk has it: of a file, and of the names in the folder that a file is in. */
int folder_sync(const char *path);
int folder_sync_names(const char *path);

#endif
