// SPDX-License-Identifier: Apache-2.0
#include "query/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "film/container.h"
#include "film/labels.h"
#include "query/identity_parts.h"

enum {
	RULES_MAX = 1000,
	CAPTURES_MAX = 9,
	CONTAINER_ID_MIN = 12, /* hexadecimal digits */
	SUBJECT_MAX = 4096,    /* bytes of a command or path that are looked at */
};

enum what {
	WHAT_UNIT,
	WHAT_CONTAINER,
	WHAT_CGROUP,
	WHAT_EXE,
	WHAT_COMMAND,
	WHAT_COMM,
	WHATS,
};

static const char *const what_names[WHATS] = {
	[WHAT_UNIT] = "unit", [WHAT_CONTAINER] = "container", [WHAT_CGROUP] = "cgroup",
	[WHAT_EXE] = "exe",   [WHAT_COMMAND] = "command",     [WHAT_COMM] = "comm",
};

struct rule {
	enum what what;
	char *glob, *name;
};

struct identity {
	vec(struct rule) rules;
};

int identity_new(struct identity **identity, struct fail *why)
{
	*identity = calloc(1, sizeof(**identity));
	return *identity ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot keep rules for services");
}

void identity_free(struct identity *identity)
{
	if (!identity)
		return;
	vec_foreach (&identity->rules, rule) {
		free(rule->glob);
		free(rule->name);
	}
	vec_free(&identity->rules);
	free(identity);
}

static bool push(struct identity *identity, enum what what, const char *glob, size_t length,
		 const char *name)
{
	struct rule rule = {what, strndup(glob, length), strdup(name)};

	if (rule.glob && rule.name && vec_push(&identity->rules, rule))
		return true;
	free(rule.glob);
	free(rule.name);
	return false;
}

struct identity *identity_copy(const struct identity *identity)
{
	struct identity *copy = calloc(1, sizeof(*copy));

	if (!copy || !identity)
		return copy;
	vec_foreach (&identity->rules, rule) {
		if (!push(copy, rule->what, rule->glob, strlen(rule->glob), rule->name)) {
			identity_free(copy);
			return NULL;
		}
	}
	return copy;
}

int identity_add(struct identity *identity, const char *rule, struct fail *why)
{
	static const char form[] = "it is WHAT=GLOB NAME, as in 'unit=postgresql@*.service db-$1'; "
				   "WHAT is unit, container, cgroup, exe, command or comm";
	size_t length = strcspn(rule, "="), glob;
	const char *name;
	int what = 0;

	while (what < WHATS &&
	       (strlen(what_names[what]) != length || memcmp(what_names[what], rule, length) != 0))
		what++;
	if (what == WHATS || !rule[length])
		return fail(why, -EINVAL, form, "'%s' is not a rule for services", rule);
	rule += length + 1;
	/* the glob may hold spaces, the name does not */
	name = strrchr(rule, ' ');
	if (!name || !name[1] || name == rule)
		return fail(why, -EINVAL, form, "the rule for services '%s' has no name", rule);
	for (glob = (size_t)(name - rule); glob && rule[glob - 1] == ' ';)
		glob--;
	if (identity->rules.count >= RULES_MAX)
		return fail(why, -E2BIG, NULL, "there are more than %d rules for services",
			    RULES_MAX);
	if (!push(identity, (enum what)what, rule, glob, name + 1))
		return fail_errno(why, -ENOMEM, NULL, "cannot keep rules for services");
	return 0;
}

/*
 * Whether text is what the glob says: '*' is any string, '?' any byte. What a '*' stands for is as
 * short as can be, the last one takes the rest. At most length times the glob's length steps.
 */
static bool match(const char *glob, struct part text, struct part *captures, size_t *count)
{
	const char *star = NULL;
	size_t i = 0, tried = 0;

	*count = 0;
	for (;;) {
		if (*glob == '*') {
			star = glob++;
			tried = i;
			if (*count < CAPTURES_MAX)
				captures[*count] = (struct part){text.at + i, 0};
			++*count;
			continue;
		}
		if (i == text.length && !*glob)
			return true;
		if (i < text.length && *glob && (*glob == '?' || *glob == text.at[i])) {
			glob++;
			i++;
			continue;
		}
		if (!star || tried == text.length)
			return false;
		/* the last '*' takes one byte more */
		i = ++tried;
		glob = star + 1;
		if (*count <= CAPTURES_MAX)
			captures[*count - 1].length++;
	}
}

static void expand(const char *name, const struct part *captures, size_t count, char *to,
		   size_t size)
{
	struct buf text = {0};

	for (; *name; name++) {
		if (*name == '$' && name[1] >= '1' && name[1] <= '9') {
			size_t i = (size_t)(*++name - '1');

			if (i < count)
				buf_put(&text, captures[i].at, captures[i].length);
		} else {
			buf_put_u8(&text, (uint8_t)*name);
		}
	}
	if (text.count && !text.failed)
		identity_put((struct part){(const char *)text.at, text.count}, to, size);
	else
		identity_put((struct part){"[unknown]", 9}, to, size);
	buf_free(&text);
}

static struct part subject_of(const char *text)
{
	return (struct part){text, strnlen(text, SUBJECT_MAX)};
}

/*
 * Of stackcam itself, just the program and its verb: behind them stand rules, names and expressions
 * of what is looked for, which would find themselves.
 */
static struct part command_of(const struct film_process *process)
{
	static const char own[] = "stackcam";
	struct part command = subject_of(process->command);
	const char *name = strrchr(process->exe, '/');
	size_t length;

	if (strcmp(name ? name + 1 : process->exe, own) != 0)
		return command;
	length = strcspn(command.at, " ");
	if (command.at[length])
		length += 1 + strcspn(command.at + length + 1, " ");
	command.length = length < command.length ? length : command.length;
	return command;
}

static bool by_rules(const struct identity *identity, const struct part *subjects, char *to,
		     size_t size)
{
	vec_foreach (&identity->rules, rule) {
		struct part captures[CAPTURES_MAX];
		size_t count;

		/* what is not known fits nothing, not even "*" */
		if (!subjects[rule->what].length ||
		    !match(rule->glob, subjects[rule->what], captures, &count))
			continue;
		expand(rule->name, captures, count < CAPTURES_MAX ? count : CAPTURES_MAX, to, size);
		return true;
	}
	return false;
}

/* "shop/checkout", "checkout": as the program names it. */
static bool by_resource(const char *resource, char *to, size_t size)
{
	char name[FILM_LABEL_VALUE_MAX + 1], space[FILM_LABEL_VALUE_MAX + 1];
	char both[2 * FILM_LABEL_VALUE_MAX + 2];

	if (!resource || !*resource)
		return false;
	film_labels_value(resource, "service.name", name);
	film_labels_value(resource, "service.namespace", space);
	if (!*name)
		return false;
	snprintf(both, sizeof(both), "%s%s%s", space, *space ? "/" : "", name);
	identity_put((struct part){both, strlen(both)}, to, size);
	return true;
}

/*
 * Whether a container has a name that someone gave it. Ids, and the UIDs of pods, are other ones
 * each time it is started: a service that had them in its name would have no yesterday to be
 * compared with.
 */
static bool is_named(struct part container)
{
	size_t i;

	if (container.length < CONTAINER_ID_MIN)
		return container.length > 0;
	for (i = 0; i < container.length; i++)
		if (!isxdigit((unsigned char)container.at[i]))
			return true;
	return false;
}

/* "nginx [container mail]" */
static void put_with_container(const struct film_process *process, struct part container, char *to,
			       size_t size)
{
	char program[128], name[512];

	identity_program(process, program, sizeof(program));
	snprintf(name, sizeof(name), "%s [container %.*s]", program, (int)container.length,
		 container.at);
	identity_put((struct part){name, strlen(name)}, to, size);
}

void identity_of(const struct identity *identity, const struct film_process *process, char *to,
		 size_t size)
{
	struct group_parts group = identity_group(process->cgroup);
	static const char said[] = "service:";
	struct part subjects[WHATS];

	/*
	 * a client that pushes profiles says it itself; the path of a control group begins with '/'
	 */
	if (!strncmp(process->cgroup, said, strlen(said)) && process->cgroup[strlen(said)]) {
		identity_put(subject_of(process->cgroup + strlen(said)), to, size);
		return;
	}
	if (*process->container) {
		group.container = subject_of(process->container);
		if (group.container.length > film_container_id(process->container))
			group.container.length = film_container_id(process->container);
	}
	subjects[WHAT_UNIT] = group.unit;
	subjects[WHAT_CONTAINER] = group.container;
	subjects[WHAT_CGROUP] = subject_of(process->cgroup);
	subjects[WHAT_EXE] = subject_of(process->exe);
	subjects[WHAT_COMMAND] = command_of(process);
	subjects[WHAT_COMM] = subject_of(process->comm);
	if ((identity && by_rules(identity, subjects, to, size)) ||
	    by_resource(process->resource, to, size))
		return;
	if (is_named(group.container) && !group.pod.length)
		put_with_container(process, group.container, to, size);
	else if (group.pod.length || group.container.length || !group.unit.length ||
		 !identity_unit_name(group.unit, to, size))
		identity_program(process, to, size);
}
