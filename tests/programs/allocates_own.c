// SPDX-License-Identifier: Apache-2.0
/* Brings its own malloc(), which takes memory from an array and gets none back. */
#include <stddef.h>
#include <stdio.h>

static char all[1 << 20];
static size_t used;

void *malloc(size_t size);
void free(void *memory);

void *malloc(size_t size)
{
	void *memory = all + used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(all) ? memory : NULL;
}

void free(void *memory)
{
	(void)memory;
}

int main(void)
{
	char *volatile memory = malloc(1000);

	printf("%d\n", memory != NULL);
	free(memory);
	return 0;
}
