/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_FLIGHT_SOCKET_H
#define HOST_FLIGHT_SOCKET_H

#include "host/flight.h"

/*
 * How 'stackcam keep --pid' reaches a flight recorder on its machine (own_socket.h). Root and the
 * user that the process belongs to may ask. A client sends a reason, of one line or nothing, and
 * shuts down its side; it gets "film PATH" or "error WHY".
 */
struct flight_socket;

/* The most bytes of a reason, and of an answer. */
#define FLIGHT_SOCKET_REASON_MAX 500
#define FLIGHT_SOCKET_ANSWER_MAX 4400

/* flight: must live until flight_socket_free(). Returns 0 or a negative errno with *why filled. */
int flight_socket_start(struct flight *flight, struct flight_socket **result, struct fail *why);
/* To be called before flight_join(). Null is allowed. */
void flight_socket_free(struct flight_socket *socket);

/*
 * Asks that of a process, and waits for it. path: that of the film. Returns 0 or a negative errno
 * with *why filled.
 */
int flight_socket_ask(pid_t pid, const char *reason, char *path, size_t size, struct fail *why);

#endif
