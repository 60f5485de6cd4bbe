// SPDX-License-Identifier: Apache-2.0
/*
 * MySQL's protocol (the manual's chapter "Client/Server Protocol"; MariaDB's knowledge base):
 * packets of a length, a number and a payload. A client's packet with the number 0 is a command,
 * and nothing else is asked before its answer has ended. So an answer whose end was not copied
 * ends, at the latest, before the next command. What is in rows need not be there: it is counted.
 *
 * If a connection is compressed, all of that lies in packets of another kind (mysql_packed.h), from
 * when the client is let in on. One from before the recording is known by its first command.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/mysql_packed.h"
#include "protocol/protocols.h"
#include "protocol/statements.h"

#define KERNEL_MYSQL 5 /* REQUESTS_MYSQL */

enum {
	HEADER = 4,
	BODY_MAX = 2048,       /* what is looked at of a packet */
	PACKET_MAX = 0xffffff, /* one of that size goes on in the next */

	CLIENT_COMPRESS = 1 << 5,
	CLIENT_SSL = 1 << 11,
	CLIENT_DEPRECATE_EOF = 1 << 24,
	CLIENT_ZSTD = 1 << 26,
	CLIENT_COMPRESSES = CLIENT_COMPRESS | CLIENT_ZSTD,

	MORE_RESULTS = 8, /* of an answer's state */
	HAS_CURSOR = 64,
};

enum command {
	COM_QUIT = 1,
	COM_INIT_DB = 2,
	COM_QUERY = 3,
	COM_FIELD_LIST = 4,
	COM_STATISTICS = 9,
	COM_PING = 14,
	COM_STMT_PREPARE = 22,
	COM_STMT_EXECUTE = 23,
	COM_STMT_SEND_LONG_DATA = 24,
	COM_STMT_CLOSE = 25,
	COM_STMT_FETCH = 28,
	COM_STMT_BULK_EXECUTE = 250,
};

/* Of those that do not carry a statement. */
static const char *const names[] = {
	[COM_INIT_DB] = "INIT DB",
	[COM_FIELD_LIST] = "FIELD LIST",
	[5] = "CREATE DB",
	[6] = "DROP DB",
	[7] = "REFRESH",
	[8] = "SHUTDOWN",
	[COM_STATISTICS] = "STATISTICS",
	[10] = "PROCESS INFO",
	[12] = "KILL",
	[13] = "DEBUG",
	[COM_PING] = "PING",
	[17] = "CHANGE USER",
	[18] = "BINLOG DUMP",
	[26] = "RESET STATEMENT",
	[27] = "SET OPTION",
	[COM_STMT_FETCH] = "FETCH",
	[31] = "RESET CONNECTION",
};

struct packet_side {
	uint8_t header[HEADER];
	uint32_t have, left; /* bytes of the header; of the payload, still to come */
	uint32_t size;	     /* of the payload */
	uint8_t body[BODY_MAX];
	uint32_t kept;
	bool goes_on;	/* the packet before was of the largest size: this one continues it */
	bool is_lost;	/* where a packet begins is not known, until the direction turns */
	uint64_t bytes; /* of the packet */
};

/* What an answer has still to say. */
enum expected {
	NOTHING,
	FIRST,	/* its first packet */
	ENDS,	/* packets, up to a number of ends */
	COUNTED /* a number of packets */
};

struct mysql {
	struct packet_side sides[SIDES];
	struct statements statements;
	char prepared[PROTOCOL_ENDPOINT_MAX]; /* the statement that is being prepared */
	enum expected expected;
	uint32_t count; /* ends, or packets */
	uint8_t command;
	bool is_answering;
	bool is_asked;	/* a command without a complete answer */
	bool no_ends;	/* definitions of columns have no end of their own */
	bool is_tunnel; /* encrypted */
	bool is_met;
	bool is_greeted;	     /* it was seen how it began */
	bool will_pack;		     /* once the client is let in */
	uint32_t refused;	     /* of CLIENT_COMPRESSES: what the server does not offer */
	struct mysql_packed *packed; /* of SIDES; null: it is not compressed */
};

struct reading {
	struct mysql *mysql;
	struct packet_side *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at;
};

static uint32_t little_at(const uint8_t *data, uint32_t bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | data[bytes];
	return value;
}

/* A client's command, or what servers begin with. */
static enum side side_of(const struct piece *piece)
{
	if (piece->copied <= HEADER)
		return SIDES;
	if (mysql_packed_is_command(piece))
		return SIDE_REQUESTS;
	if (piece->data[3])
		return SIDE_ANSWERS;
	return piece->data[HEADER] == 10 && piece->copied > 40 ? SIDE_ANSWERS : SIDE_REQUESTS;
}

/* -- what the client says ---------------------------------------------------------------------- */

static void end_answer(struct mysql *mysql, const struct protocol_sink *sink, bool sure)
{
	if (mysql->is_answering)
		sink->done(sink->context, sure);
	mysql->is_answering = mysql->is_asked = false;
	mysql->expected = NOTHING;
}

static void put_statement(char *to, size_t size, const struct packet_side *side)
{
	protocol_put_sql_of(to, size, (const char *)side->body + 1, side->kept - 1, "'\"");
}

static uint64_t statement_of(const struct packet_side *side)
{
	return side->kept >= 5 ? little_at(side->body + 1, 4) : 0;
}

static void emit_request(struct reading *r, const char *words, const char *text)
{
	struct protocol_request request = {0};
	size_t length = strlen(words);

	memcpy(request.endpoint, words, length);
	protocol_put_text(request.endpoint + length, sizeof(request.endpoint) - length, text,
			  strlen(text));
	r->sink->request(r->sink->context, &request);
}

static void handle_command(struct reading *r)
{
	struct mysql *mysql = r->mysql;
	const struct packet_side *side = r->side;
	uint8_t command = *side->body;
	char sql[PROTOCOL_ENDPOINT_MAX];

	end_answer(mysql, r->sink, true);
	/* what comes then is of this one */
	mysql->sides[SIDE_ANSWERS].is_lost = mysql->sides[SIDE_ANSWERS].goes_on = false;
	mysql->sides[SIDE_ANSWERS].have = mysql->sides[SIDE_ANSWERS].left = 0;
	if (mysql->packed)
		mysql->packed[SIDE_ANSWERS].have = mysql->packed[SIDE_ANSWERS].left = 0;
	if (mysql->packed)
		mysql->packed[SIDE_ANSWERS].is_lost = false;
	mysql->command = command;
	switch (command) {
	case COM_QUIT:
	case COM_STMT_SEND_LONG_DATA:
		return;
	case COM_STMT_CLOSE:
		statements_forget(&mysql->statements, statement_of(side));
		return;
	case COM_QUERY:
		put_statement(sql, sizeof(sql), side);
		emit_request(r, "", sql);
		break;
	case COM_STMT_PREPARE:
		put_statement(mysql->prepared, sizeof(mysql->prepared), side);
		emit_request(r, "PREPARE ", mysql->prepared);
		break;
	case COM_STMT_EXECUTE:
	case COM_STMT_BULK_EXECUTE:
		/* MariaDB has a number for the one that was prepared last */
		emit_request(r, "",
			     statement_of(side) == UINT32_MAX
				     ? mysql->prepared
				     : statements_find(&mysql->statements, statement_of(side)));
		break;
	default:
		if (command >= sizeof(names) / sizeof(names[0]) || !names[command]) {
			r->sink->losses->strange++;
			return;
		}
		emit_request(r, names[command], "");
	}
	mysql->is_asked = true;
	mysql->expected = command == COM_STMT_FETCH || command == COM_FIELD_LIST ? ENDS : FIRST;
	mysql->count = 1;
}

/* The answer to the server's greeting says what the client wants. */
static void handle_greeting(struct mysql *mysql, const struct packet_side *side)
{
	uint32_t wants = little_at(side->body, 4);

	if (side->header[3] > 2)
		return;
	mysql->no_ends = wants & CLIENT_DEPRECATE_EOF;
	mysql->is_tunnel = wants & CLIENT_SSL && side->size == 32;
	mysql->will_pack = wants & CLIENT_COMPRESSES & ~mysql->refused;
	mysql->is_greeted = true;
}

static void handle_client_packet(struct reading *r)
{
	const struct packet_side *side = r->side;

	if (!side->header[3] && side->kept)
		handle_command(r);
	else if (!r->mysql->is_asked && side->kept >= 4 && !side->goes_on && !r->mysql->packed)
		handle_greeting(r->mysql, side);
	if (r->mysql->is_asked)
		r->sink->sent(r->sink->context, side->bytes);
}

/* -- what the server says ---------------------------------------------------------------------- */

/* Passes a number of variable length; 0: it is not there. */
static uint32_t pass_number(const struct packet_side *side, uint32_t at)
{
	static const uint32_t sizes[] = {3, 4, 9}; /* 0xfc to 0xfe */
	uint8_t first;

	if (!at || at >= side->kept)
		return 0;
	first = side->body[at];
	return at + (first < 0xfb ? 1 : first >= 0xfc && first <= 0xfe ? sizes[first - 0xfc] : 1);
}

/* The state that a packet has which says that all is well, or that rows have ended. */
static uint32_t state_of(const struct mysql *mysql, const struct packet_side *side)
{
	uint32_t at = 3;

	/* with the form of "all is well": behind two numbers */
	if (*side->body != 0xfe || mysql->no_ends || side->size > 5)
		at = pass_number(side, pass_number(side, 1));
	return at && at + 2 <= side->kept ? little_at(side->body + at, 2) : 0;
}

/* An answer, or one of several, has ended. */
static void end_result(struct reading *r)
{
	if (state_of(r->mysql, r->side) & MORE_RESULTS)
		r->mysql->expected = FIRST;
	else
		end_answer(r->mysql, r->sink, true);
}

/* The number of a statement, and how much is said of its columns and parameters. */
static void handle_prepared(struct reading *r)
{
	struct mysql *mysql = r->mysql;
	const struct packet_side *side = r->side;
	uint32_t columns, parameters;

	if (side->kept < 9) {
		mysql->expected = NOTHING;
		return;
	}
	statements_keep(&mysql->statements, statement_of(side), mysql->prepared);
	columns = little_at(side->body + 5, 2);
	parameters = little_at(side->body + 7, 2);
	mysql->count = mysql->no_ends ? columns + parameters : 0u + !!columns + !!parameters;
	mysql->expected = mysql->no_ends ? COUNTED : ENDS;
	if (!mysql->count)
		end_answer(mysql, r->sink, true);
}

static void handle_first(struct reading *r)
{
	struct mysql *mysql = r->mysql;
	uint8_t first = *r->side->body;

	if (mysql->command == COM_STATISTICS) {
		end_answer(mysql, r->sink, true);
	} else if (first == 0xfb) {
		/* it wants a file of the client's, and says then how it went */
	} else if (!first && mysql->command == COM_STMT_PREPARE) {
		handle_prepared(r);
	} else if (!first || first == 0xfe) {
		end_result(r);
	} else {
		mysql->expected = ENDS;
		mysql->count = mysql->no_ends ? 1 : 2;
	}
}

static bool is_end(const struct mysql *mysql, const struct packet_side *side)
{
	return *side->body == 0xfe &&
	       (side->size < 9 || (mysql->no_ends && side->size < PACKET_MAX));
}

static void handle_packet(struct reading *r)
{
	struct mysql *mysql = r->mysql;

	switch (mysql->expected) {
	case NOTHING:
		break;
	case FIRST:
		handle_first(r);
		break;
	case ENDS:
		if (!is_end(mysql, r->side))
			break;
		if (!--mysql->count || state_of(mysql, r->side) & HAS_CURSOR)
			end_result(r);
		break;
	case COUNTED:
		if (!--mysql->count)
			end_answer(mysql, r->sink, true);
		break;
	}
}

static void begin_answer(struct reading *r)
{
	static const struct protocol_answer answer;

	if (!r->mysql->is_asked || r->mysql->is_answering)
		return;
	r->mysql->is_answering = true;
	r->sink->answer(r->sink->context, &answer);
}

/* All that follows is compressed. */
static void pack(struct mysql *mysql)
{
	mysql->packed = calloc(SIDES, sizeof(*mysql->packed));
	/* without memory nothing is found there */
	mysql->is_tunnel = !mysql->packed;
	mysql->will_pack = false;
}

/* What a server offers (its capabilities stand behind its version), and that a client is let in. */
static void handle_welcome(struct mysql *mysql, const struct packet_side *side)
{
	const uint8_t *end = side->kept ? memchr(side->body, 0, side->kept) : NULL;
	/* behind the version: a number, eight bytes, and one */
	const uint8_t *offers = end ? end + 14 : NULL;

	if (!side->kept)
		return;
	if (*side->body == 10 && !side->header[3]) {
		mysql->refused = 0;
		if (end && offers + 7 <= side->body + side->kept)
			mysql->refused = CLIENT_COMPRESSES &
					 ~(little_at(offers, 2) | little_at(offers + 5, 2) << 16);
	} else if (mysql->will_pack && !*side->body) {
		pack(mysql);
	}
}

static void handle_server_packet(struct reading *r)
{
	struct packet_side *side = r->side;
	struct mysql *mysql = r->mysql;

	if (!mysql->is_asked) {
		if (!mysql->packed)
			handle_welcome(mysql, side);
		return;
	}
	begin_answer(r);
	r->sink->answered(r->sink->context, side->bytes);
	if (!side->kept || side->goes_on)
		return;
	if (*side->body == 0xff && mysql->expected != NOTHING) {
		r->sink->failed(r->sink->context);
		end_answer(mysql, r->sink, true);
	} else {
		handle_packet(r);
	}
}

/* -- packets ----------------------------------------------------------------------------------- */

static void end_packet(struct reading *r)
{
	struct packet_side *side = r->side;

	if (r->number == SIDE_ANSWERS)
		handle_server_packet(r);
	else
		handle_client_packet(r);
	side->goes_on = side->size == PACKET_MAX;
	side->have = side->kept = 0;
	side->bytes = 0;
}

static void read_header(struct reading *r)
{
	struct packet_side *side = r->side;

	side->header[side->have++] = r->piece->data[r->at++];
	side->bytes++;
	if (side->have < HEADER)
		return;
	side->size = side->left = little_at(side->header, 3);
	if (!side->left)
		end_packet(r);
}

static void read_body(struct reading *r)
{
	struct packet_side *side = r->side;
	uint32_t rest = r->piece->length - r->at, n = side->left < rest ? side->left : rest;
	uint32_t here = r->at < r->piece->copied ? r->piece->copied - r->at : 0;
	uint32_t keep = n < here ? n : here;

	/* only the beginning is of use: what was not there is not to be followed by what was */
	if (side->kept + side->left < side->size)
		keep = 0;
	if (keep > BODY_MAX - side->kept)
		keep = BODY_MAX - side->kept;
	if (keep)
		memcpy(side->body + side->kept, r->piece->data + r->at, keep);
	side->kept += keep;
	side->left -= n;
	side->bytes += n;
	r->at += n;
	if (!side->left)
		end_packet(r);
}

/* What is behind what was copied. A command begins with the piece that follows it. */
static void lose(struct reading *r)
{
	struct packet_side *side = r->side;

	r->sink->losses->unseen += r->number == SIDE_REQUESTS;
	side->is_lost = true;
	side->have = side->kept = side->left = 0;
	side->goes_on = false;
}

static bool begins_command(const struct piece *piece)
{
	return piece->copied >= HEADER && !piece->data[3] && little_at(piece->data, 3);
}

/* The end of rows, in either form; nothing else that is asked for comes behind it. */
static bool ends_rows(const struct mysql *mysql, const struct piece *piece)
{
	const uint8_t *end = piece->copied < piece->length ? piece->tail : NULL;

	if (!end)
		return false;
	if (mysql->no_ends)
		return end[1] == 0xfe && !end[2] && !end[3] && !(end[4] & MORE_RESULTS);
	return !end[0] && !end[1] && end[3] == 0xfe && !(end[6] & MORE_RESULTS);
}

/* A piece of packets as they are. */
static void parse_packets(struct mysql *mysql, enum side number, const struct piece *piece,
			  const struct protocol_sink *sink)
{
	const struct mysql_packed *packed = mysql->packed;
	struct reading r = {mysql, &mysql->sides[number], number, piece, sink, 0};

	if (number == SIDE_REQUESTS && r.side->is_lost && begins_command(piece))
		r.side->is_lost = false;
	while (r.at < piece->length && !r.side->is_lost && !mysql->is_tunnel &&
	       mysql->packed == packed) {
		if (r.side->left)
			read_body(&r);
		else if (r.at >= piece->copied)
			lose(&r);
		else
			read_header(&r);
	}
	if (!r.side->is_lost || number != SIDE_ANSWERS || !mysql->is_asked)
		return;
	begin_answer(&r);
	sink->answered(sink->context, r.side->bytes + piece->length - r.at);
	r.side->bytes = 0;
	if (ends_rows(mysql, piece))
		end_answer(mysql, sink, true);
}

/* -- packets in others ------------------------------------------------------------------------- */

struct unpacking {
	struct mysql *mysql;
	enum side number;
	const struct protocol_sink *sink;
};

/* What counts is what was moved, and not what was packed. */
static void ignore(void *context, uint64_t bytes)
{
	(void)context;
	(void)bytes;
}

static void handle_unpacked(void *context, const struct piece *piece, uint32_t bytes)
{
	const struct unpacking *u = context;
	struct protocol_sink inner = *u->sink;

	inner.sent = inner.answered = ignore;
	parse_packets(u->mysql, u->number, piece, &inner);
	if (u->number == SIDE_REQUESTS && u->mysql->is_asked)
		u->sink->sent(u->sink->context, bytes);
}

static void parse_packed(struct mysql *mysql, enum side number, const struct piece *piece,
			 const struct protocol_sink *sink)
{
	struct reading r = {mysql, &mysql->sides[number], number, piece, sink, 0};
	struct mysql_packed *packed = &mysql->packed[number];
	struct unpacking u = {mysql, number, sink};

	if (number == SIDE_REQUESTS && packed->is_lost && mysql_packed_begins(piece))
		packed->is_lost = false;
	if (number == SIDE_ANSWERS && mysql->is_asked) {
		begin_answer(&r);
		sink->answered(sink->context, piece->length);
	}
	if (packed->is_lost)
		return;
	mysql_packed_parse(packed, piece, &sink->losses->strange, handle_unpacked, &u);
	if (packed->is_lost)
		lose(&r);
}

/*
 * Whether a client's piece of a connection from before the recording is compressed. A server that
 * reads heads by themselves shows it only then: no other packet goes on behind seven bytes.
 */
static bool is_packed(const struct mysql *mysql, const struct piece *piece)
{
	const struct packet_side *side = &mysql->sides[SIDE_REQUESTS];

	if (mysql->is_greeted || side->have || side->left)
		return false;
	return mysql_packed_is_command(piece) ||
	       (mysql->is_met && piece->length == MYSQL_PACKED_HEADER &&
		mysql_packed_begins(piece));
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct mysql *mysql = state;

	if (!mysql->packed && !mysql->is_tunnel && number == SIDE_REQUESTS &&
	    is_packed(mysql, piece))
		pack(mysql);
	mysql->is_met = true;
	if (mysql->is_tunnel)
		return;
	if (mysql->packed)
		parse_packed(mysql, number, piece, sink);
	else
		parse_packets(mysql, number, piece, sink);
}

/* The connection is quiet, or has ended: so has an answer. */
static void ended(void *state, const struct protocol_sink *sink)
{
	struct mysql *mysql = state;

	if (mysql->is_answering)
		end_answer(mysql, sink, false);
}

static void free_mysql(void *state)
{
	struct mysql *mysql = state;

	statements_free(&mysql->statements);
	free(mysql->packed);
}

const struct protocol protocol_mysql = {
	.id = FILM_PROTOCOL_MYSQL,
	.kernel = KERNEL_MYSQL,
	.size = sizeof(struct mysql),
	.side_of = side_of,
	.parse = parse,
	.ended = ended,
	.free = free_mysql,
};
