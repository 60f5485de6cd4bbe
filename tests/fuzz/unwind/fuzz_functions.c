// SPDX-License-Identifier: Apache-2.0
/* Any bytes as an ELF image: each address that it is asked for lies in what is answered. */
#include <stdint.h>
#include <stdlib.h>

#include "unwind/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COUNT 1024

struct asked {
	uint64_t addresses[COUNT];
	uint8_t found[COUNT];
};

static void take(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct asked *asked = context;

	if (index >= COUNT || asked->found[index] || !start || asked->addresses[index] < start ||
	    asked->addresses[index] - start >= size)
		abort();
	asked->found[index] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asked asked = {0};
	struct fail why = {0};
	size_t i;

	/* libraries begin at 0, programs that lie at fixed addresses here */
	for (i = 0; i < COUNT; i++)
		asked.addresses[i] = (i % 2 ? 0x400000 : 0) + i * 5;
	asked.addresses[7] = UINT64_MAX;
	if (unwind_functions_of_memory(data, size, asked.addresses, COUNT, take, &asked, &why) &&
	    !why.err)
		abort();
	return 0;
}
