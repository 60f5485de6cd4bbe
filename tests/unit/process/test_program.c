// SPDX-License-Identifier: Apache-2.0
/*
 * Which files a command runs: found in PATH, behind "#!" lines, with the libraries it is linked
 * with.
 */
#include "../prelude.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/program.h"

static char directory[] = "/tmp/stackcam-program-XXXXXX";

static char *make_script(const char *name, const char *text)
{
	static char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static const char *file_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static bool has_library(const struct program *program, const char *start)
{
	for (size_t i = 0; i < program->count; i++)
		if (!strncmp(file_name(program->libraries[i]), start, strlen(start)))
			return true;
	return false;
}

static void finds_in_path(void **state)
{
	char *argv[] = {"ls", NULL}, *real = realpath("/bin/ls", NULL);
	struct program program;

	(void)state;
	assert_int_equal(program_find(argv, &program, NULL), 0);
	assert_string_equal(program.path, real);
	assert_true(has_library(&program, "libc.so"));
	program_free(&program);
	free(real);
}

static void follows_scripts(void **state)
{
	char second[PATH_MAX + 16];
	char *argv[] = {make_script("first", "#!/bin/sh -e\necho x\n"), NULL};
	char *shell = realpath("/bin/sh", NULL);
	struct program program;

	(void)state;
	assert_int_equal(program_find(argv, &program, NULL), 0);
	assert_string_equal(program.path, shell);
	program_free(&program);

	/* a script whose interpreter is a script */
	snprintf(second, sizeof(second), "#! %s/first\n", directory);
	argv[0] = make_script("second", second);
	assert_int_equal(program_find(argv, &program, NULL), 0);
	assert_string_equal(program.path, shell);
	program_free(&program);

	argv[0] = make_script("third", "#!/usr/bin/env -S A=b sh\n");
	assert_int_equal(program_find(argv, &program, NULL), 0);
	assert_string_equal(program.path, shell);
	program_free(&program);
	free(shell);
}

/* What the kernel does not understand, execvp() gives to the shell. */
static void bears_broken_scripts(void **state)
{
	static const char *const broken[] = {"#!", "#!\n", "#! \t\n", "#!/nowhere/at/all\n", "x"};
	char *shell = realpath("/bin/sh", NULL);
	struct program program;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char *argv[] = {make_script("broken", broken[i]), NULL};

		assert_int_equal(program_find(argv, &program, NULL), 0);
		assert_string_equal(program.path, shell);
		program_free(&program);
	}
	free(shell);
}

static void says_what_is_missing(void **state)
{
	char *argv[] = {"no-such-command-at-all", NULL};
	struct program program;
	struct fail why = {0};

	(void)state;
	assert_int_equal(program_find(argv, &program, &why), -ENOENT);
	assert_non_null(strstr(why.what, "no-such-command-at-all"));
	argv[0] = directory;
	assert_int_equal(program_find(argv, &program, NULL), -ENOENT);
}

/* A program with that loader, and nothing else. */
static void make_program(const char *path, const char *loader)
{
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1};
	Elf64_Phdr segment = {.p_type = PT_INTERP,
			      .p_offset = sizeof(header) + sizeof(segment),
			      .p_filesz = strlen(loader) + 1};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, &segment, sizeof(segment)), sizeof(segment));
	assert_int_equal(write(fd, loader, strlen(loader) + 1), strlen(loader) + 1);
	close(fd);
}

/* Copies echo: as a loader, it says the name of the program, which can look like a library. */
static void make_loader(const char *loader)
{
	char command[PATH_MAX + 32];

	snprintf(command, sizeof(command), "cp -L /bin/echo %s", loader);
	assert_int_equal(system(command), 0);
}

/* A loader of another user's is not run as us: a command can be, as that user. */
static void trusts_no_loader_of_others(void **state)
{
	static const char *const folders[] = {"a => ", "a => /bin"};
	char path[PATH_MAX], loader[PATH_MAX], *argv[] = {path, NULL};
	struct program program;

	(void)state;
	if (geteuid())
		skip();
	snprintf(loader, sizeof(loader), "%s/ld-other", directory);
	make_loader(loader);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/a => /bin/ls (0x1)", directory);
	make_program(path, loader);
	for (int is_others = 0; is_others < 2; is_others++) {
		assert_int_equal(chown(loader, is_others ? 65534 : 0, 0), 0);
		assert_int_equal(program_find(argv, &program, NULL), 0);
		assert_int_equal(program.count, is_others ? 0 : 1);
		program_free(&program);
	}
	unlink(path);
	unlink(loader);
	for (size_t i = 2; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", directory, folders[i]);
		rmdir(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_in_path),
		cmocka_unit_test(follows_scripts),
		cmocka_unit_test(bears_broken_scripts),
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(trusts_no_loader_of_others),
	};
	char path[PATH_MAX];
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (const char *const *name =
		     (const char *const[]){"first", "second", "third", "broken", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", directory, *name);
		unlink(path);
	}
	rmdir(directory);
	return failed;
}
