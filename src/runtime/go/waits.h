/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_WAITS_H
#define RUNTIME_GO_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/vec.h"
#include "bpf/lanes/goroutines_abi.h"
#include "film/go_reasons.h"
#include "process/image.h"

/*
 * What must be known of a program that Go has built to see its goroutines wait: where probes go,
 * what its reasons to wait are called, and which of its code waits for new work. Its file is
 * hostile input.
 */

#define GO_REASONS_MAX	   128
#define GO_REASON_TEXT_MAX 48

/* Code that waits for new work; an address is one of the image. */
struct go_idle_code {
	uint64_t start, end;
	uint8_t rule; /* a number of go/waits.c's */
	bool is_exception;
};

struct go_waits {
	/* offsets in the file; 0: it is not there, which is so of lanes' only */
	uint64_t places[GOROUTINES_PLACES];
	struct goroutines_image image; /* but for since */
	/*
	 * Addresses of the image: of the pointer to the runtime's list of all goroutines, and of
	 * how many there are; both 0: they were not found.
	 */
	uint64_t all, all_count;
	size_t reason_count; /* 0: they were not found */
	char reasons[GO_REASONS_MAX][GO_REASON_TEXT_MAX];
	vec(struct go_idle_code) idle;
};

/*
 * Returns 0; -ENOENT: it is not Go's; -ENOTSUP: of a version or a kind that is not known, with *why
 * filled; another negative errno. go_waits_free() is due after 0.
 */
int go_waits_of(struct go_waits *waits, const struct image *image, struct fail *why);
void go_waits_free(struct go_waits *waits);

/* What the runtime's number of a reason means: "chan receive"; "": not known. */
const char *go_waits_reason(const struct go_waits *waits, uint8_t number);

/* What films call the reason that the runtime gives in those words. */
enum film_go_reason go_reason_of(const char *words);

/*
 * Which of the rules of idle code the function at an address says something of: bit 2n that rule
 * n's code is on the stack, bit 2n + 1 that its exception is.
 */
uint32_t go_waits_code(const struct go_waits *waits, uint64_t address);

/* Of the bits of all frames of a stack: whether it waits for new work. */
bool go_waits_is_idle(uint32_t code);

#endif
