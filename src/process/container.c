// SPDX-License-Identifier: Apache-2.0
#include "process/container.h"

#include <ctype.h>
#include <string.h>

#define HEX_DIGITS 64
#define ID_MAX	   256 /* a file name has no more */

/* A piece of a path: not terminated. */
struct piece {
	const char *at;
	size_t length;
};

static bool begins(struct piece p, const char *with)
{
	size_t length = strlen(with);

	return p.length > length && !memcmp(p.at, with, length);
}

static struct piece without_start(struct piece p, size_t count)
{
	return (struct piece){p.at + count, p.length - count};
}

static struct piece without_end(struct piece p, const char *end)
{
	size_t length = strlen(end);

	if (p.length > length && !memcmp(p.at + p.length - length, end, length))
		p.length -= length;
	return p;
}

static bool is_hex(struct piece p)
{
	for (size_t i = 0; i < p.length; i++)
		if (!isdigit((unsigned char)p.at[i]) && (p.at[i] < 'a' || p.at[i] > 'f'))
			return false;
	return true;
}

static bool copy(struct piece p, char *id, size_t size)
{
	if (!p.length || p.length >= size)
		return false;
	memcpy(id, p.at, p.length);
	id[p.length] = 0;
	return true;
}

static int hex_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd writes bytes that a unit's name can't hold, "-" among them, as \xNN. */
static bool copy_unit_name(struct piece p, char *id, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < p.length; i++) {
		char c = p.at[i];

		if (c == '\\' && p.length - i >= 4 && p.at[i + 1] == 'x' &&
		    hex_digit(p.at[i + 2]) >= 0 && hex_digit(p.at[i + 3]) >= 0) {
			c = (char)(hex_digit(p.at[i + 2]) << 4 | hex_digit(p.at[i + 3]));
			i += 3;
		}
		if (!c || used + 1 >= size)
			return false;
		id[used++] = c;
	}
	id[used] = 0;
	return used > 0;
}

/* "docker-HEX.scope", "cri-containerd-HEX.scope", "…:cri-containerd:HEX", "HEX" */
static bool hex_id(struct piece p, char *id, size_t size)
{
	struct piece digits;

	p = without_end(p, ".scope");
	if (p.length < HEX_DIGITS)
		return false;
	digits = without_start(p, p.length - HEX_DIGITS);
	if (!is_hex(digits))
		return false;
	if (p.length > HEX_DIGITS && digits.at[-1] != '-' && digits.at[-1] != ':')
		return false;
	/* the process that watches over a container is not inside it */
	if (begins(p, "libpod-conmon-") || begins(p, "crio-conmon-"))
		return false;
	return copy(digits, id, size);
}

/* "machine-NAME.scope", "systemd-nspawn@NAME.service": containers of systemd, but not its VMs */
static bool machine_id(struct piece p, char *id, size_t size)
{
	struct piece name = without_end(p, ".scope");

	if (begins(p, "machine-") && name.length < p.length) {
		name = without_start(name, strlen("machine-"));
		return !begins(name, "qemu\\x2d") && copy_unit_name(name, id, size);
	}
	name = without_end(p, ".service");
	if (begins(p, "systemd-nspawn@") && name.length < p.length)
		return copy_unit_name(without_start(name, strlen("systemd-nspawn@")), id, size);
	return false;
}

/* "lxc.payload.NAME", and NAME below "lxc" or "lxc.payload" */
static bool lxc_id(struct piece parent, struct piece p, char *id, size_t size)
{
	if (begins(p, "lxc.payload."))
		return copy(without_start(p, strlen("lxc.payload.")), id, size);
	if ((parent.length == 3 && !memcmp(parent.at, "lxc", 3)) ||
	    (parent.length == 11 && !memcmp(parent.at, "lxc.payload", 11)))
		return copy(p, id, size);
	return false;
}

bool container_of_cgroup(const char *path, char *id, size_t size)
{
	struct piece parent = {path, 0};
	char inner[ID_MAX];

	id[0] = 0;
	while (*path) {
		struct piece p;

		path += strspn(path, "/");
		p = (struct piece){path, strcspn(path, "/")};
		path += p.length;
		if ((hex_id(p, inner, sizeof(inner)) || machine_id(p, inner, sizeof(inner)) ||
		     lxc_id(parent, p, inner, sizeof(inner))) &&
		    strlen(inner) < size)
			strcpy(id, inner);
		parent = p;
	}
	return id[0] != 0;
}
