/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MACHINE_PORTS_H
#define SOURCES_MACHINE_PORTS_H

#include "sources/machine/read.h"

#define MACHINE_PORTS_FOLDER "/sys/class/infiniband"

/*
 * What the ports of RDMA devices have sent and received, whichever program or GPU asked for it, as
 * values of an interface "mlx5_0/1". A port without these counters is passed over.
 */
void machine_read_ports(const char *folder, const struct machine_to *to);

#endif
