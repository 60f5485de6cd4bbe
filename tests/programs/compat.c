// SPDX-License-Identifier: Apache-2.0
/*
 * A 32-bit program: leaf() runs nearly all the time. It needs no library, so that no compiler needs
 * one for 32 bits.
 */
unsigned int leaf(unsigned int n);
__attribute__((noipa)) unsigned int leaf(unsigned int n)
{
	unsigned int s = 1;

	for (unsigned int i = 0; i < n; i++) {
		s = s * 1103515245 + i;
		s ^= s >> 7;
		__asm__ volatile("" : "+r"(s));
	}
	return s;
}

void _start(void);
void _start(void)
{
	unsigned int s = 0;

	for (int i = 0; i < 1000; i++)
		s += leaf(1000000) & 1;
	__asm__ volatile("int $0x80" : : "a"(1), "b"(s & 0)); /* exit */
	__builtin_unreachable();
}
