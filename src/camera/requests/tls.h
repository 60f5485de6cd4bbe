/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_REQUESTS_TLS_H
#define CAMERA_REQUESTS_TLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/image.h"

/*
 * Libraries that encrypt, and their probes: OpenSSL's libssl, programs that have it in them with
 * their symbols, and programs of Go that have crypto/tls. Ends of calls are probed at the
 * instructions that return. Programs of Go that have the client of net/http are probed where it
 * asks, too (bpf/requests_go.h).
 */
struct requests_tls;
struct bpf_program;

/*
 * bind: probes are set for each process by itself, where the kernel can; else wherever the file
 * runs. Returns 0 or a negative errno.
 */
int requests_tls_new(struct bpf_program *site, bool bind, struct requests_tls **result);
/* Takes the probes away. */
void requests_tls_detach(struct requests_tls *tls);
void requests_tls_free(struct requests_tls *tls); /* null is allowed */

/* A process maps a file. Returns enum source_image: the outcome. */
unsigned int requests_tls_meet(struct requests_tls *tls, pid_t pid, const struct image *image);

/* Takes the probes away where the runtime of a process of Go makes goroutines, if it has any. */
bool requests_tls_leave_starts(struct requests_tls *tls, pid_t pid);

/* The process has ended. */
void requests_tls_ended(struct requests_tls *tls, pid_t pid);

/* Files that could not be probed. */
uint64_t requests_tls_refused(const struct requests_tls *tls);

#endif
