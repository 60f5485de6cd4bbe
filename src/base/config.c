// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define CONFIG_BYTES_MAX (1u << 20)
#define NAME_CHARACTERS	 "abcdefghijklmnopqrstuvwxyz0123456789-"

static const char to_do[] = "write lines such as 'keep-age = 7d'; '#' begins a comment";

static char *trim(char *s)
{
	size_t length;

	s += strspn(s, " \t\r");
	length = strlen(s);
	while (length && strchr(" \t\r", s[length - 1]))
		length--;
	s[length] = 0;
	return s;
}

/* Puts "FILE:LINE: " before what *why says. */
static int say_where(const char *path, unsigned int line, int err, struct fail *why)
{
	char what[sizeof(why->what)];

	if (!why)
		return err;
	memcpy(what, why->what, sizeof(what));
	snprintf(why->what, sizeof(why->what), "%.200s:%u: %.280s", path, line, what);
	return err;
}

static int parse_line(char *line, config_handler *handle, void *context, struct fail *why)
{
	char *name = trim(line), *value, *end;

	if (!*name || *name == '#')
		return 0;
	end = name + strspn(name, NAME_CHARACTERS);
	value = end + strspn(end, " \t");
	if (end == name || (*value && *value != '='))
		return fail(why, -EINVAL, to_do, "this is not a line 'name = value'");
	if (!*value)
		return handle(context, name, NULL, why);
	*end = 0;
	return handle(context, name, trim(value + 1), why);
}

int config_parse(char *text, size_t length, const char *path, config_handler *handle, void *context,
		 struct fail *why)
{
	unsigned int number = 0;
	char *line, *rest = text;
	int err;

	if (memchr(text, 0, length)) {
		fail(why, -EINVAL, to_do, "zero bytes: this is not text");
		return say_where(path, 1, -EINVAL, why);
	}
	while ((line = strsep(&rest, "\n"))) {
		number++;
		err = parse_line(line, handle, context, why);
		if (err)
			return say_where(path, number, err, why);
	}
	return 0;
}

int config_read(const char *path, char **text, config_handler *handle, void *context,
		struct fail *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;

	*text = NULL;
	if (fd < 0 || fstat(fd, &st))
		err = fail_errno(why, -errno, "check its name and who may read it",
				 "configuration '%s'", path);
	else if (!S_ISREG(st.st_mode) || st.st_size > CONFIG_BYTES_MAX)
		err = fail(why, -EINVAL, "name a text file of at most 1 MiB",
			   "configuration '%s': it is not a file, or too large", path);
	if (err)
		goto out;
	*text = malloc((size_t)st.st_size + 1);
	if (!*text) {
		err = fail_errno(why, -ENOMEM, NULL, "configuration '%s'", path);
		goto out;
	}
	if (!file_read_at(fd, 0, *text, (size_t)st.st_size)) {
		err = fail(why, -EIO, NULL, "configuration '%s': it cannot be read", path);
		goto out;
	}
	(*text)[st.st_size] = 0;
	err = config_parse(*text, (size_t)st.st_size, path, handle, context, why);
out:
	if (fd >= 0)
		close(fd);
	return err;
}
