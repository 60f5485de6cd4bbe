// SPDX-License-Identifier: Apache-2.0
/*
 * Makes children after a function was called often, and the children call it, too. The function
 * begins with a nop of 5 bytes, as those that are compiled for a tracer do; the kernel may replace
 * such a nop under a probe by a call, which a child has without the page that it leads to.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20
#define CALLS	 2000

unsigned long harm_patchable(unsigned long number);

__asm__(".pushsection .text\n"
	".balign 16\n"
	".globl harm_patchable\n"
	".type harm_patchable, @function\n"
	"harm_patchable:\n"
	".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"lea 1(%rdi), %rax\n"
	"ret\n"
	".size harm_patchable, . - harm_patchable\n"
	".popsection\n");

static int child(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < CALLS; i++)
		sum = harm_patchable(sum);
	return sum == CALLS ? 0 : 1;
}

int main(void)
{
	int well = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid;

		if (child())
			return 1;
		pid = fork();
		if (!pid)
			_exit(child());
		if (waitpid(pid, &status, 0) == pid && !status)
			well++;
	}
	printf("%d of %d children ended well\n", well, CHILDREN);
	return well == CHILDREN ? 0 : 1;
}
