/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

/*
 * A terminal that is drawn on: its other screen, without a cursor, and keys as they are pressed.
 * terminal_end() puts all of that back; it is needed only after terminal_begin() returned true.
 */
struct terminal {
	struct termios before;
};

/* Of standard input and output. False: one of them is not a terminal. */
bool terminal_begin(struct terminal *terminal);
void terminal_end(const struct terminal *terminal);

/* 24 and 80 where the terminal does not say. */
void terminal_size(unsigned int *rows, unsigned int *columns);

#endif
