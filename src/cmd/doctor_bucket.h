/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_DOCTOR_BUCKET_H
#define CMD_DOCTOR_BUCKET_H

#include <stdbool.h>

/*
 * Puts, reads, lists and deletes one small object in a bucket (send/bucket.h), and prints what
 * fails. Returns an exit status.
 */
int doctor_bucket(const char *address, const char *key_file, const char *ca, bool as_json);

#endif
