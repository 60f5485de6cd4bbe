// SPDX-License-Identifier: Apache-2.0
#include "process/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"

/* Scripts whose interpreter is a script: as many as the kernel follows (fs/exec.c). */
#define SCRIPTS_MAX 5
/* A loader that takes longer to list libraries is given up. */
#define LOADER_NS  10000000000ull
#define LIST_BYTES (1u << 20)

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *program_search(const char *name)
{
	const char *path = getenv("PATH"), *at, *end;
	char *file;

	if (strchr(name, '/'))
		return is_executable(name) ? realpath(name, NULL) : NULL;
	for (at = path ? path : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
		char *found;

		end = strchrnul(at, ':');
		if (asprintf(&file, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "", name) < 0)
			return NULL;
		found = is_executable(file) ? realpath(file, NULL) : NULL;
		free(file);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * The interpreter of a script, "#!/bin/sh -e"; "#!/usr/bin/env python3" is python3. Null: no
 * script.
 */
static char *interpreter(const char *path)
{
	char line[PATH_MAX + 256] = "", *word, *next, *name;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	if (fd < 0)
		return NULL;
	got = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (got < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[got] = 0;
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(line + 2, " \t", &next);
	if (!word)
		return NULL;
	name = strrchr(word, '/');
	if (name && !strcmp(name, "/env")) {
		char *command = strtok_r(NULL, " \t", &next);

		while (command && (*command == '-' || strchr(command, '=')))
			command = strtok_r(NULL, " \t", &next);
		if (command)
			return program_search(command);
	}
	return program_search(word);
}

/* The dynamic loader that a program asks for (PT_INTERP); false: none, it is linked statically. */
static bool loader_of(const char *path, char loader[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), i;
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	bool found = false;

	if (fd < 0)
		return false;
	if (!file_read_at(fd, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(segment))
		goto out;
	for (i = 0; !found && i < header.e_phnum; i++) {
		if (!file_read_at(fd, header.e_phoff + (uint64_t)i * sizeof(segment), &segment,
				  sizeof(segment)))
			break;
		if (segment.p_type != PT_INTERP || segment.p_filesz < 2 ||
		    segment.p_filesz > PATH_MAX)
			continue;
		found = file_read_at(fd, segment.p_offset, loader, segment.p_filesz);
		loader[segment.p_filesz - 1] = 0;
	}
out:
	close(fd);
	/* only what lists libraries when it is asked to: glibc's and musl's */
	return found && strrchr(loader, '/') && !strncmp(strrchr(loader, '/'), "/ld-", 4);
}

static bool is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[SELFMAG];
	bool found = fd >= 0 && file_read_at(fd, 0, magic, sizeof(magic)) &&
		     !memcmp(magic, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return found;
}

/* Reads all that a child writes, within limits. */
static void read_list(int fd, struct buf *list)
{
	uint64_t end = clock_ns() + LOADER_NS, now;
	char piece[4096];
	ssize_t got;

	while ((now = clock_ns()) < end && list->count < LIST_BYTES) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};

		if (poll(&wanted, 1, (int)((end - now) / 1000000)) <= 0)
			break;
		got = read(fd, piece, sizeof(piece));
		if (got <= 0)
			break;
		buf_put(list, piece, (size_t)got);
	}
	buf_put_u8(list, 0);
}

/*
 * Opens a loader that may run as who we are: a program names any file as its own, and may be run as
 * another user than that. A negative errno: it may not.
 */
static int open_trusted(const char *loader)
{
	int fd = open(loader, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_uid || st.st_uid == geteuid()) &&
	    !(st.st_mode & S_IWOTH))
		return fd;
	close(fd);
	return -EACCES;
}

/* What "ld.so --list PROGRAM" prints; the program itself does not run. */
static void list_libraries(const char *loader, const char *path, struct buf *list)
{
	char *const argv[] = {(char *)loader, "--list", (char *)path, NULL};
	int out[2], file = open_trusted(loader);
	pid_t child;

	if (file < 0)
		return;
	if (pipe2(out, O_CLOEXEC)) {
		close(file);
		return;
	}
	child = fork();
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(out[1], STDOUT_FILENO);
		fexecve(file, argv, environ);
		_exit(127);
	}
	close(out[1]);
	close(file);
	if (child > 0) {
		read_list(out[0], list);
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(out[0]);
}

/* "\tlibc.so.6 => /lib/libc.so.6 (0x7f…)" or "\t/lib64/ld-linux.so.2 (0x7f…)" */
static void parse_libraries(struct program *program, char *list)
{
	vec(char *) libraries = {0};
	char *line, *next, *at, *end;

	for (line = strtok_r(list, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		at = strstr(line, "=> ");
		at = at ? at + 3 : line + strspn(line, " \t");
		end = strstr(at, " (0x");
		if (*at != '/' || !end)
			continue;
		*end = 0;
		at = realpath(at, NULL);
		if (at && !vec_push(&libraries, at)) {
			free(at);
			break;
		}
	}
	program->libraries = libraries.at;
	program->count = libraries.count;
}

int program_find(char *const *argv, struct program *program, struct fail *why)
{
	char loader[PATH_MAX], *script;
	struct buf list = {0};
	int i;

	*program = (struct program){.path = program_search(argv[0])};
	if (!program->path)
		return fail_errno(why, -ENOENT, "check its name and that it may be executed",
				  "cannot execute '%s'", argv[0]);
	for (i = 0; i < SCRIPTS_MAX; i++) {
		script = interpreter(program->path);
		if (!script)
			break;
		free(program->path);
		program->path = script;
	}
	/* what is neither is given to the shell (execvp(3)) */
	if (!is_elf(program->path)) {
		script = program_search("/bin/sh");
		if (!script)
			return 0;
		free(program->path);
		program->path = script;
	}
	if (!loader_of(program->path, loader))
		return 0;
	list_libraries(loader, program->path, &list);
	if (list.count && !list.failed)
		parse_libraries(program, (char *)list.at);
	buf_free(&list);
	return 0;
}

void program_free(struct program *program)
{
	size_t i;

	for (i = 0; i < program->count; i++)
		free(program->libraries[i]);
	free(program->libraries);
	free(program->path);
	*program = (struct program){0};
}
