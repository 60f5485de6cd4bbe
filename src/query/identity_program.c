// SPDX-License-Identifier: Apache-2.0
/*
 * What runs in a process, by its program and its arguments, which are one string with spaces
 * between them.
 */
#include <ctype.h>
#include <string.h>

#include "query/identity.h"
#include "query/identity_parts.h"

enum {
	COMM_MAX = 15 /* bytes that the kernel keeps of a name */
};

/* How an interpreter's command line says what it runs. */
struct interpreter {
	const char *name;	/* the program may have a version behind it: "python3.11" */
	const char *with_value; /* options, " -W -X ", whose value is the next argument */
	const char *inlined;	/* options whose value is a program: there is no name */
	const char *named;	/* options whose value is what runs: a module, a jar */
};

static const struct interpreter interpreters[] = {
	{"python", " -W -X -Q --check-hash-based-pycs ", " -c ", " -m "},
	{"pypy", " -W -X ", " -c ", " -m "},
	{"nodejs", " -r --require --import --loader -C --conditions ", " -e --eval -p --print -pe ",
	 " "},
	{"node", " -r --require --import --loader -C --conditions ", " -e --eval -p --print -pe ",
	 " "},
	{"ruby", " -I -r -E -C ", " -e ", " "},
	{"perl", " -I ", " -e -E -ne -pe -we -le -lne ", " "},
	{"php", " -c -d -t -z ", " -r -B -R -E ", " -f "},
	{"luajit", " -l -j ", " -e ", " "},
	{"lua", " -l ", " -e ", " "},
	{"java",
	 " -cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports"
	 " --add-reads --upgrade-module-path ",
	 " ", " -jar -m --module "},
	{"bash", " -o -O --rcfile --init-file ", " -c -lc -ec -xc ", " "},
	{"dash", " -o ", " -c -ec -xc ", " "},
	{"zsh", " -o ", " -c -lc ", " "},
	{"ksh", " -o ", " -c ", " "},
	{"sh", " -o ", " -c -ec -xc -lc ", " "},
};

static struct part last_part(struct part path)
{
	const char *slash = memrchr(path.at, '/', path.length);

	if (slash && slash + 1 < path.at + path.length)
		return (struct part){slash + 1, (size_t)(path.at + path.length - slash - 1)};
	return path;
}

static bool begins_with(struct part part, const char *text)
{
	size_t length = strlen(text);

	return part.length >= length && !memcmp(part.at, text, length);
}

/*
 * "app.py"; where that says nothing, with the folder: "shop/__main__.py". Length 0: it is an open
 * file's number.
 */
static struct part script_name(struct part path)
{
	struct part name = last_part(path), folder = {path.at, 0};

	/* of "bash <(curl …)" */
	if (begins_with(path, "/dev/fd/") || begins_with(path, "/proc/self/fd/") ||
	    part_is(path, "/dev/stdin"))
		return (struct part){0};
	if (!part_is(name, "__main__.py") && !part_is(name, "index.js") &&
	    !part_is(name, "main.js"))
		return name;
	if (name.at > path.at + 1)
		folder.length = (size_t)(name.at - 1 - path.at);
	if (!folder.length)
		return name;
	folder = last_part(folder);
	return (struct part){folder.at, (size_t)(name.at + name.length - folder.at)};
}

static struct part next_argument(const char **at)
{
	struct part argument;

	while (**at == ' ')
		++*at;
	argument = (struct part){*at, strcspn(*at, " ")};
	*at += argument.length;
	return argument;
}

static bool is_listed(const char *list, struct part option)
{
	for (const char *at = list; *at;) {
		struct part word = next_argument(&at);

		if (word.length && word.length == option.length &&
		    !memcmp(word.at, option.at, word.length))
			return true;
	}
	return false;
}

/* The name, and behind it at most a version: "python3.11", "luajit-2.1.0-beta3"; not "php-fpm". */
static bool is_program(const char *name, struct part program)
{
	size_t i = strlen(name);

	if (program.length < i || memcmp(program.at, name, i))
		return false;
	if (i < program.length && program.at[i] == '-')
		i++;
	return i >= program.length || isdigit((unsigned char)program.at[i]);
}

static const struct interpreter *interpreter_of(struct part program)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if (is_program(interpreters[i].name, program))
			return &interpreters[i];
	return NULL;
}

/* The program that an interpreter has to run; length 0: not known. */
static struct part script_of(const struct interpreter *interpreter, const char *command)
{
	bool is_java = !strcmp(interpreter->name, "java");
	struct part argument;

	/* the interpreter itself */
	next_argument(&command);
	while ((argument = next_argument(&command)).length) {
		if (is_listed(interpreter->named, argument)) {
			argument = next_argument(&command);
			return argument.length ? script_name(argument) : argument;
		}
		if (is_listed(interpreter->inlined, argument))
			break;
		if (*argument.at != '-' && !(is_java && *argument.at == '@'))
			return is_java ? argument : script_name(argument);
		if (argument.length == 1)
			break;
		if (part_is(argument, "--")) {
			argument = next_argument(&command);
			return argument.length ? script_name(argument) : argument;
		}
		if (is_listed(interpreter->with_value, argument))
			next_argument(&command);
	}
	return (struct part){0};
}

static bool is_kernel(const struct film_process *process)
{
	if (*process->exe || *process->command)
		return false;
	/* kthreadd and its children; the idle tasks */
	return process->pid == 2 || process->parent == 2 || !strncmp(process->comm, "swapper", 7);
}

/*
 * What it was called as, where its first argument and the kernel agree on that: a link such as
 * redis-server may lead to a program of another name. Length 0: they do not.
 */
static struct part called_as(const struct film_process *process, struct part comm)
{
	const char *command = process->command;
	struct part name = last_part(next_argument(&command));
	size_t length = name.length < COMM_MAX ? name.length : COMM_MAX;

	if (!length || length != comm.length || memcmp(name.at, comm.at, length) != 0)
		return (struct part){0};
	return name;
}

/* The program itself; length 0: not known. */
static struct part program_of(const struct film_process *process, struct part comm)
{
	struct part exe = {process->exe, strlen(process->exe)};
	struct part called = called_as(process, comm);
	struct part program = exe.length ? last_part(exe) : comm;

	if (is_kernel(process))
		return (struct part){"kernel", 6};
	/* made in memory, often with a number of its own in the name: memfd_create(2) */
	if (begins_with(exe, "/memfd:"))
		return last_part(next_argument(&(const char *){process->command}));
	/* one program with many names */
	if (part_is(program, "busybox") || part_is(program, "coreutils") ||
	    part_is(program, "toybox"))
		return comm;
	/* the program of an interpreter says more: its version */
	return called.length && !interpreter_of(program) ? called : program;
}

/* What the program interprets; length 0: nothing that has a name. */
static struct part interpreted_by(struct part program, const struct film_process *process)
{
	const struct interpreter *interpreter = interpreter_of(program);

	return interpreter ? script_of(interpreter, process->command) : (struct part){0};
}

bool identity_is_script(const struct film_process *process)
{
	struct part comm = {process->comm, strlen(process->comm)};

	return interpreted_by(program_of(process, comm), process).length > 0;
}

void identity_program(const struct film_process *process, char *to, size_t size)
{
	const char *command = process->command;
	struct part comm = {process->comm, strlen(process->comm)};
	struct part program = program_of(process, comm);
	struct part script = interpreted_by(program, process);

	if (script.length)
		program = script;
	if (!program.length)
		program = comm.length ? comm : last_part(next_argument(&command));
	if (!program.length)
		program = (struct part){"[unknown]", 9};
	identity_put(program, to, size);
}
