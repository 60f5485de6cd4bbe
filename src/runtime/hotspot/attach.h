/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_HOTSPOT_ATTACH_H
#define RUNTIME_HOTSPOT_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fail.h"

/*
 * Has a running JVM load an agent, as jcmd's JVMTI.agent_load does it, by HotSpot's attach
 * mechanism: a file .attach_pidPID in the JVM's /tmp and SIGQUIT have it open the socket
 * /tmp/.java_pidPID, which then takes commands. A JVM without that socket that does not handle
 * SIGQUIT would be killed by it, and one whose attach mechanism is switched off would print all its
 * stacks: neither gets one.
 *
 * path: as this process sees the agent; refused where the JVM has another file there. options: what
 * the agent gets; without a comma at its end. *result: what the agent's Agent_OnAttach() returned.
 * Waits for at most some seconds. Returns 0; or with *why filled -EAGAIN: the JVM is still
 * starting; other negative errnos.
 */
int hotspot_load_agent(pid_t pid, const char *path, const char *options, int *result,
		       struct fail *why);

/*
 * Turns a class's signature (JVMS 4.3.2) of at most size bytes into its name, as frames and classes
 * have it: "[Ljava/lang/String;" becomes java.lang.String[].
 */
void hotspot_name_of_signature(char *name, size_t size);

/* -- for tests --------------------------------------------------------------------------------- */

/*
 * What a JVM answers to "load". Returns 0 and the agent's result, or -EPROTO. text: ends with a
 * zero byte.
 */
int hotspot_read_answer(const char *text, int *result);

/* May the JVM be asked by SIGQUIT? status: as of /proc/PID/status. */
bool hotspot_handles_quit(const char *status);

#endif
