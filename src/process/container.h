/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_CONTAINER_H
#define PROCESS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The id of the container that a control group belongs to, by the conventions of those who make
 * them: 64 hexadecimal digits (docker, containerd, cri-o, podman, kubepods), a name (lxc,
 * systemd-nspawn). The innermost one if containers are nested. False, and "": none is recognised.
 */
bool container_of_cgroup(const char *path, char *id, size_t size);

#endif
