/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_OFF_CPU_ROW_H
#define CAMERA_OFF_CPU_ROW_H

#include "bpf/off_cpu_abi.h"
#include "camera/samples.h"
#include "film/film.h"

/* What a film has of a wait, from what the kernel's side has. */

/* A row with the evidence of a wait, without its time. */
struct film_wait off_cpu_row(const struct off_cpu_wait *wait, const struct samples_place *place);

/* enum film_wait_context: where its waker ran. */
uint8_t off_cpu_context(const struct off_cpu_wait *wait);

#endif
