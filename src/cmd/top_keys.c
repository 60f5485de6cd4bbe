// SPDX-License-Identifier: Apache-2.0
#include "cmd/top_keys.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

/* Keys that are more than a byte, or no letter. */
enum {
	KEY_NONE = 256,
	KEY_NEXT,     /* the cursor key to the right */
	KEY_PREVIOUS, /* to the left */
	KEY_ESCAPE = 27,
	KEY_BACKSPACE = 8,
	KEY_DELETE = 127,
};

const char top_keys_help[] = "\n"
			     "  space       stop the screen, and let it go on\n"
			     "  tab, right  the next event alone; left: the one before\n"
			     "  1 to 9, 0   this event alone; all\n"
			     "  < and >     order: by value, name, count, longest\n"
			     "  R           reverse the order\n"
			     "  /           only processes of a name, or a PID\n"
			     "  h or ?      this help\n"
			     "  q           end\n";

/*
 * One key of bytes, of which *used are taken. ECMA-48: what a cursor key sends begins with ESC and
 * [ (or O) and ends with a byte from @ to ~.
 */
static int next_key(const char *bytes, size_t count, size_t *used)
{
	*used = 1;
	if (bytes[0] != KEY_ESCAPE || count < 2 || (bytes[1] != '[' && bytes[1] != 'O'))
		return (unsigned char)bytes[0];
	for (*used = 2; *used < count; (*used)++) {
		char byte = bytes[*used];

		if (byte < '@' || byte > '~')
			continue;
		(*used)++;
		return byte == 'C' ? KEY_NEXT : byte == 'D' ? KEY_PREVIOUS : KEY_NONE;
	}
	return KEY_NONE;
}

/* The last character of a text in UTF-8. */
static void erase(char *text)
{
	size_t length = strlen(text);

	while (length && (text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = 0;
}

static enum top_action type(struct top_keys *keys, int key)
{
	size_t length = strlen(keys->typed);

	switch (key) {
	case '\n':
	case '\r':
		keys->is_typing = false;
		memcpy(keys->processes, keys->typed, sizeof(keys->typed));
		return TOP_SUM_UP;
	case KEY_ESCAPE:
		keys->is_typing = false;
		return TOP_DRAW;
	case KEY_BACKSPACE:
	case KEY_DELETE:
		erase(keys->typed);
		return TOP_DRAW;
	default:
		if (key < ' ' || key >= KEY_NONE || length + 1 >= sizeof(keys->typed))
			return TOP_DRAW;
		keys->typed[length] = (char)key;
		keys->typed[length + 1] = 0;
		return TOP_DRAW;
	}
}

static enum top_action order(struct top_keys *keys, unsigned int steps)
{
	keys->order = (enum summary_order)((keys->order + steps) % SUMMARY_ORDERS);
	return TOP_SUM_UP;
}

/*
 * The event after the chosen one, or the one before, of those with findings; 0, all events, stands
 * between the last and the first.
 */
static uint32_t event_beside(const struct top_keys *keys, const struct summary *summary,
			     bool is_next)
{
	uint32_t best = 0;

	if (!summary)
		return 0;
	vec_foreach (&summary->findings, f) {
		bool is_beyond =
			is_next ? f->event > keys->event : !keys->event || f->event < keys->event;

		if (is_beyond && (!best || (is_next ? f->event < best : f->event > best)))
			best = f->event;
	}
	return best;
}

static enum top_action press(struct top_keys *keys, int key, const struct summary *summary)
{
	switch (key) {
	case 'q':
	case 'Q':
		return TOP_END;
	case ' ':
		keys->is_stopped = !keys->is_stopped;
		return TOP_DRAW;
	case 'h':
	case '?':
		keys->has_help = !keys->has_help;
		return TOP_DRAW;
	case KEY_ESCAPE:
		keys->has_help = false;
		return TOP_DRAW;
	case '<':
		return order(keys, SUMMARY_ORDERS - 1);
	case '>':
		return order(keys, 1);
	case 'R':
		keys->is_reversed = !keys->is_reversed;
		return TOP_SUM_UP;
	case '\t':
	case KEY_NEXT:
		keys->event = event_beside(keys, summary, true);
		return TOP_DRAW;
	case KEY_PREVIOUS:
		keys->event = event_beside(keys, summary, false);
		return TOP_DRAW;
	case '/':
		keys->is_typing = true;
		keys->typed[0] = 0;
		return TOP_DRAW;
	default:
		if (key >= '0' && key <= '9')
			keys->event = (uint32_t)(key - '0');
		return TOP_DRAW;
	}
}

enum top_action top_keys_press(struct top_keys *keys, const char *bytes, size_t count,
			       const struct summary *summary)
{
	enum top_action most = TOP_DRAW;
	size_t used;

	for (; count; bytes += used, count -= used) {
		int key = next_key(bytes, count, &used);
		enum top_action action =
			keys->is_typing ? type(keys, key) : press(keys, key, summary);

		if (action == TOP_END)
			return action;
		most = action > most ? action : most;
	}
	return most;
}

int top_keys_filter(const struct top_keys *keys, struct question *question)
{
	uint64_t pid;

	if (!*keys->processes)
		return 0;
	if (!text_parse_u64(keys->processes, 1, UINT32_MAX, &pid))
		return vec_push(&question->filter.pids, (uint32_t)pid) ? 0 : -ENOMEM;
	return vec_push(&question->filter.comms, keys->processes) ? 0 : -ENOMEM;
}
