// SPDX-License-Identifier: Apache-2.0
/* The library of plt.c: a function so short that much of a call's time is the PLT's. */
int tiny_next(int value);

int tiny_next(int value)
{
	return value + 1;
}
