/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_DOCTOR_PROCESS_H
#define CMD_DOCTOR_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Prints in which ways the memory of a process can be recorded. Returns an exit status. */
int doctor_process(pid_t pid, bool as_json);

#endif
