/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_OWN_SOCKET_H
#define HOST_OWN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/fail.h"

/*
 * A Unix socket by which a process is asked, in a folder that no other user can write to, so that
 * no other user can take its name: the folder that systemd made for the service
 * (RUNTIME_DIRECTORY); for root /run/stackcam; the user's folder of this session (XDG_RUNTIME_DIR);
 * or a new folder in /tmp. The file is stackcam-flight-PID. Clients find it wherever it is in
 * /proc/net/unix, and then ask the kernel which process listens.
 */
struct own_socket {
	int fd; /* listens */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	bool is_folder_ours; /* made for this socket alone */
};

/*
 * Makes the socket of this process, and removes those that processes left behind that were killed.
 * Returns 0 or a negative errno with *why filled; after success own_socket_close() is needed.
 */
int own_socket_listen(struct own_socket *s, struct fail *why);

/* Removes the file, too: the thread that calls it must be allowed to. */
void own_socket_close(struct own_socket *s);

/*
 * Connects to that of a process, and to no other. Returns a descriptor, or a negative errno with
 * *why filled.
 */
int own_socket_connect(pid_t pid, struct fail *why);

#endif
