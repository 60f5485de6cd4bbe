// SPDX-License-Identifier: Apache-2.0
/* What is looked for in a program of Go to see its goroutines wait; the input is an image. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime/go/waits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct go_waits waits;
	struct image image = {.fd = -1, .memory = data, .memory_size = size};
	struct fail why = {0};

	if (go_waits_of(&waits, &image, &why))
		return 0;
	/* both or none, and never the same */
	if (!waits.all != !waits.all_count || (waits.all && waits.all == waits.all_count))
		abort();
	for (unsigned int i = 0; i < 256; i++)
		go_waits_reason(&waits, (uint8_t)i);
	go_waits_is_idle(go_waits_code(&waits, waits.all));
	go_waits_free(&waits);
	return 0;
}
