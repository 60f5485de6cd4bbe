/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_TLS_H
#define SOURCES_REQUESTS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sources/probed_images.h"

/*
 * Libraries that encrypt, and their probes: OpenSSL's libssl, programs that have it in them with
 * their symbols, and programs of Go that have crypto/tls. Ends of calls are probed at the
 * instructions that return. Programs of Go that have the client of net/http are probed where it
 * asks, too (bpf/requests/go.h).
 */
extern const struct probed_kind requests_tls_kind;

/* Takes the probes away where the runtime of a process of Go makes goroutines, if it has any. */
bool requests_tls_leave_starts(struct probed_images *tls, pid_t pid);

#endif
