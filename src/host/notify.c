// SPDX-License-Identifier: Apache-2.0
#include "host/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

void notify(const char *words)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, length);
	/* a name of the abstract kind */
	if (path[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* a parent that does not listen need not hear it */
	(void)!sendto(fd, words, strlen(words), MSG_NOSIGNAL, (const struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}

uint64_t notify_watchdog(void)
{
	const char *every = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, number;

	if (!every || text_parse_u64(every, 1, UINT64_MAX / 1000, &us))
		return 0;
	if (pid && (text_parse_u64(pid, 1, INT32_MAX, &number) || (pid_t)number != getpid()))
		return 0;
	return us * 1000;
}
