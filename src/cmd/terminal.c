// SPDX-License-Identifier: Apache-2.0
#include "cmd/terminal.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* xterm's private modes, which all terminals of today know: the other screen, the cursor. */
#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define USUAL_SCREEN "\033[?25h\033[?1049l"

bool terminal_begin(struct terminal *terminal)
{
	struct termios keys;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &terminal->before))
		return false;
	keys = terminal->before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys))
		return false;
	fputs(OTHER_SCREEN, stdout);
	fflush(stdout);
	return true;
}

void terminal_end(const struct terminal *terminal)
{
	fputs(USUAL_SCREEN, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
}

void terminal_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){0};
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}
