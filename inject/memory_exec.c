// SPDX-License-Identifier: Apache-2.0
/*
 * A command may set LD_PRELOAD itself for what it executes (env LD_PRELOAD=… program, a script):
 * then this library would not be loaded any more. These functions put it in front, where the
 * environment is still that of the recording and LD_PRELOAD names other libraries. Where a program
 * has removed the variable, it stays so.
 *
 * They are called in children of vfork(), too, so that what they make lies on the stack, and
 * nothing is allocated or searched.
 */
#include "memory.h"

#include <errno.h>
#include <sys/syscall.h>

/* What an environment may have so that it is changed: it lies on the caller's stack. */
#define VARIABLES_MAX 1024
#define LENGTH_MAX    8192

extern int *__errno_location(void) __attribute__((weak));
extern char **environ __attribute__((weak));

struct change {
	size_t variables, at; /* which of them is to be changed */
	size_t length;	      /* with the library in front; 0: none is */
};

static const char preload[] = "LD_PRELOAD=";

static bool begins_with(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

static bool contains(const char *text, const char *part)
{
	for (; *text; text++)
		if (begins_with(text, part))
			return true;
	return false;
}

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static char *add(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	*to = 0;
	return to;
}

static struct change find_change(char *const *variables)
{
	struct change change = {.at = VARIABLES_MAX};
	size_t count = 0, length;
	bool is_recorded = false;

	for (; variables && variables[count] && count < VARIABLES_MAX; count++) {
		if (begins_with(variables[count], preload))
			change.at = count;
		is_recorded |= begins_with(variables[count], MEMORY_INTERVAL_VARIABLE "=");
	}
	change.variables = count;
	if (!is_recorded || count == VARIABLES_MAX || change.at == VARIABLES_MAX ||
	    !memory_own_path || contains(variables[change.at], MEMORY_LIBRARY))
		return change;
	length = length_of(variables[change.at]) + 1 + length_of(memory_own_path) + 1;
	change.length = length <= LENGTH_MAX ? length : 0;
	return change;
}

static char **make(const struct change *change, char *const *from, char **to, char *value)
{
	for (size_t i = 0; i <= change->variables; i++)
		to[i] = from[i];
	to[change->at] = value;
	value = add(add(add(value, preload), memory_own_path), ":");
	add(value, from[change->at] + sizeof(preload) - 1);
	return to;
}

/* The environment for a program, which is the caller's where nothing is to be changed. */
#define WITH_LIBRARY(from)                                                                        \
	({                                                                                        \
		struct change change_ = find_change(from);                                        \
                                                                                                  \
		change_.length ? make(&change_, from,                                             \
				      __builtin_alloca((change_.variables + 1) * sizeof(char *)), \
				      __builtin_alloca(change_.length))                           \
			       : (char **)from;                                                   \
	})

static int execute(const char *path, char *const *arguments, char *const *environment)
{
	long err = system_call(SYS_execve, (long)path, (long)arguments, (long)environment, 0, 0);

	if (__errno_location)
		*__errno_location() = (int)-err;
	return -1;
}

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int execve(const char *path, char *const *arguments, char *const *environment);
VISIBLE int execve(const char *path, char *const *arguments, char *const *environment)
{
	return execute(path, arguments, WITH_LIBRARY(environment));
}

VISIBLE int execv(const char *path, char *const *arguments);
VISIBLE int execv(const char *path, char *const *arguments)
{
	return execve(path, arguments, &environ ? environ : NULL);
}

VISIBLE int execvpe(const char *file, char *const *arguments, char *const *environment);
VISIBLE int execvpe(const char *file, char *const *arguments, char *const *environment)
{
	if (!memory_next_execvpe)
		return execve(file, arguments, environment);
	return memory_next_execvpe(file, arguments, WITH_LIBRARY(environment));
}

VISIBLE int execvp(const char *file, char *const *arguments);
VISIBLE int execvp(const char *file, char *const *arguments)
{
	return execvpe(file, arguments, &environ ? environ : NULL);
}
