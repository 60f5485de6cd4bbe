// SPDX-License-Identifier: Apache-2.0
/*
 * The service that runs in a control group, by the group's path. Facts: systemd.unit(5),
 * systemd.special(7) and "Desktop Environment Integration" of systemd's documentation for units;
 * the cgroup drivers of the kubelet (cgroupfs, systemd), of Docker, Podman, CRI-O and containerd
 * for containers.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "query/identity_parts.h"

enum {
	ID_MIN = 12, /* hexadecimal digits of a container's id */
	COMPONENTS_MAX = 64,
};

static bool starts(struct part part, const char *with)
{
	size_t length = strlen(with);

	return part.length >= length && !memcmp(part.at, with, length);
}

static bool ends(struct part part, const char *with)
{
	size_t length = strlen(with);

	return part.length >= length && !memcmp(part.at + part.length - length, with, length);
}

static struct part without(struct part part, size_t first, size_t last)
{
	return (struct part){part.at + first, part.length - first - last};
}

static bool is_id(struct part part)
{
	for (size_t i = 0; i < part.length; i++)
		if (!isxdigit((unsigned char)part.at[i]))
			return false;
	return part.length >= ID_MIN;
}

/* "3f2a8c1e-…" of "pod3f2a8c1e-…" or of "kubepods-burstable-pod3f2a8c1e_….slice" */
static struct part pod_of(struct part component)
{
	if (starts(component, "kubepods") && ends(component, ".slice")) {
		for (size_t i = 8; i + 5 < component.length; i++)
			if (!memcmp(component.at + i, "-pod", 4))
				return without(component, i + 4, 6);
	} else if (starts(component, "pod") && component.length > 10 &&
		   !ends(component, ".slice")) {
		return without(component, 3, 0);
	}
	return (struct part){0};
}

/* The id in "docker-0123….scope", "cri-containerd-…", "libpod-…", or the component as a whole. */
static struct part container_of(struct part component)
{
	struct part id = component;

	if (ends(component, ".scope"))
		id = without(component, 0, 6);
	for (size_t i = id.length; i > 0; i--) {
		if (id.at[i - 1] == '-' || id.at[i - 1] == ':') {
			id = without(id, i, 0);
			break;
		}
	}
	return is_id(id) ? id : (struct part){0};
}

/* Next to its container, podman runs its monitor. */
static bool is_monitor(struct part component)
{
	return starts(component, "libpod-conmon-") || starts(component, "crio-conmon-");
}

struct group_parts identity_group(const char *cgroup)
{
	struct group_parts parts = {0};
	bool in_pods = false, lxc = false;
	int count = 0;

	for (const char *at = cgroup; *at && count < COMPONENTS_MAX; count++) {
		struct part component = {at, strcspn(at, "/")}, found;

		at += component.length + (at[component.length] == '/');
		in_pods |= starts(component, "kubepods");
		found = in_pods ? pod_of(component) : (struct part){0};
		if (found.length)
			parts.pod = found;
		found = container_of(component);
		if (found.length && !is_monitor(component))
			parts.container = found;
		if (starts(component, "lxc.payload."))
			parts.container = without(component, 12, 0);
		else if (lxc && !parts.container.length)
			parts.container = component;
		lxc = part_is(component, "lxc");
		if (ends(component, ".service") || (ends(component, ".scope") && !found.length))
			parts.unit = component;
	}
	return parts;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes back "\x2d"; what would be a control character stays as it is. */
static struct part unescape(struct part part, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < part.length && n + 1 < size; i++) {
		char c = part.at[i];

		if (c == '\\' && i + 3 < part.length && part.at[i + 1] == 'x') {
			int high = hex_digit(part.at[i + 2]), low = hex_digit(part.at[i + 3]);

			if (high >= 2 && low >= 0 && high * 16 + low != 0x7f) {
				c = (char)(high * 16 + low);
				i += 3;
			}
		}
		to[n++] = c;
	}
	to[n] = 0;
	return (struct part){to, n};
}

/* "run-u12", "run-r0123abcd…": of systemd-run, without a name */
static bool is_numbered(struct part name)
{
	if (!starts(name, "run-") || name.length < 6)
		return false;
	if (name.at[4] != 'u' && name.at[4] != 'r' && name.at[4] != 'p')
		return false;
	for (size_t i = 5; i < name.length; i++)
		if (!isxdigit((unsigned char)name.at[i]) && name.at[i] != '-' && name.at[i] != 'i')
			return false;
	return true;
}

/*
 * Of an application of a desktop, "app-LAUNCHER-NAME-RANDOM.scope" or
 * "app-LAUNCHER-NAME@RANDOM.service".
 */
static struct part application(struct part name, bool is_scope)
{
	const char *at;

	if (is_scope) {
		at = memrchr(name.at, '-', name.length);
		if (at)
			name.length = (size_t)(at - name.at);
	} else {
		at = memchr(name.at, '@', name.length);
		if (at)
			name.length = (size_t)(at - name.at);
	}
	at = memrchr(name.at, '-', name.length);
	return at ? without(name, (size_t)(at + 1 - name.at), 0) : name;
}

bool identity_unit_name(struct part unit, char *to, size_t size)
{
	bool is_scope = ends(unit, ".scope");
	struct part name = without(unit, 0, is_scope ? 6 : 8);
	char plain[256];

	/* of these, the manager of a user's units is one; all others are about who, not what */
	if (is_scope && (starts(name, "session-") || part_is(name, "init")))
		return false;
	if (is_numbered(name) || !name.length)
		return false;
	if (starts(name, "user@"))
		name.length = 4;
	else if (starts(name, "app-"))
		name = application(without(name, 4, 0), is_scope);
	if (!name.length)
		return false;
	identity_put(unescape(name, plain, sizeof(plain)), to, size);
	return *to;
}

void identity_put(struct part part, char *to, size_t size)
{
	static const char more[] = "…";
	size_t length = part.length, fits = 0;

	if (length < size) {
		memcpy(to, part.at, length);
		to[length] = 0;
		return;
	}
	while (fits < length) {
		uint32_t point;
		size_t step = text_utf8(part.at + fits, length - fits, &point);

		step = step ? step : 1;
		if (fits + step + sizeof(more) > size)
			break;
		fits += step;
	}
	memcpy(to, part.at, fits);
	if (fits + sizeof(more) <= size)
		memcpy(to + fits, more, sizeof(more));
	else
		snprintf(to, size, "?");
}
