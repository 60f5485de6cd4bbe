/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_OFF_CPU_ROW_H
#define SOURCES_SCHED_OFF_CPU_ROW_H

#include "bpf/sched/off_cpu_abi.h"
#include "resolve/samples.h"
#include "film/film.h"

/* What a film has of a wait, from what the kernel's side has. */

/*
 * The wait behind a record's frames; null: the record is damaged, or its times are not in their
 * order, of which no length can be told.
 */
const struct off_cpu_wait *off_cpu_wait_of(const struct capture_record *record);

/* A row with the evidence of a wait, without its time. */
struct film_wait off_cpu_row(const struct off_cpu_wait *wait, const struct samples_place *place);

/* The same without thread, stack and arguments. */
struct film_wait off_cpu_evidence(const struct off_cpu_wait *wait);

/* enum film_wait_context: where its waker ran, an enum off_cpu_context. */
uint8_t off_cpu_context(uint8_t waker_context);

#endif
