/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_DISK_H
#define PROCESS_DISK_H

#include <stdint.h>

#define DISK_NAME_MAX 64

/*
 * The name of the whole disk that a file system lies on, as in /sys/block: "vda" of the partition
 * vda1, too, and of a logical or encrypted volume that lies on vda alone; one that lies on several
 * has a name of its own. device: the file system's, as the kernel has it (MKDEV()). "": it has none
 * of its own, as tmpfs, overlay and btrfs, or it is not known. Returns to.
 */
const char *disk_of_device(uint32_t device, char to[DISK_NAME_MAX]);

/* The same, with sysfs mounted elsewhere. */
const char *disk_of_device_in(const char *sysfs, uint32_t device, char to[DISK_NAME_MAX]);

#endif
