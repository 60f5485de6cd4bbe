// SPDX-License-Identifier: Apache-2.0
/*
 * RESP 2 and 3, which Redis, Valkey and others speak. A message is a line that says what it is, and
 * what it consists of: bytes, whose number it says, or other messages. So long values need not be
 * there: they are counted. Pushed messages of RESP 3 are no answers.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/protocols.h"

#define KERNEL_REDIS 2 /* REQUESTS_REDIS */

/* What is between the parts of a key; not what may be in a secret. */
#define PARTS " :/|,{}"

enum {
	LINE_MAX_BYTES = 64,	/* what is looked at of a line */
	WORD_MAX = 64,		/* of a command's name, and of its key */
	ELEMENTS_MAX = 1 << 20, /* of one message */
	BULK_MAX = 512 << 20,	/* the limit of Redis itself */
};

struct resp_side {
	char line[LINE_MAX_BYTES];
	uint32_t line_size;
	uint64_t left;	  /* bytes of a value and its line's end */
	uint64_t pending; /* elements of the message that have not ended; 0: none is begun */
	bool is_lost;	  /* where a message begins is not known */
	bool is_push;
	uint64_t bytes; /* of the message, in this piece */
	/* of requests: which word of the command is at hand, and the first two */
	uint32_t word;
	char words[2][WORD_MAX];
	uint32_t sizes[2];
};

struct redis {
	struct resp_side sides[SIDES];
	uint64_t waiting;  /* requests without an answer */
	bool is_answering; /* the first of them has the beginning of one */
	bool has_subscribed;
};

struct reading {
	struct redis *redis;
	struct resp_side *side;
	enum side number;
	const struct piece *piece;
	const struct protocol_sink *sink;
	uint32_t at;
};

/* Commands by which a client is known, if it is met in the middle. */
static const char *const commands[] = {
	"GET",	   "SET",     "DEL",	"INCR",	  "DECR",     "MGET",	 "MSET",      "PING",
	"AUTH",	   "HELLO",   "SELECT", "EXISTS", "EXPIRE",   "TTL",	 "HGET",      "HSET",
	"HGETALL", "HMGET",   "HMSET",	"HDEL",	  "HINCRBY",  "LPUSH",	 "RPUSH",     "LPOP",
	"RPOP",	   "LRANGE",  "LLEN",	"SADD",	  "SREM",     "SPOP",	 "SMEMBERS",  "SISMEMBER",
	"ZADD",	   "ZREM",    "ZRANGE", "ZSCORE", "ZPOPMIN",  "EVAL",	 "EVALSHA",   "MULTI",
	"EXEC",	   "DISCARD", "WATCH",	"INFO",	  "CONFIG",   "CLIENT",	 "COMMAND",   "PUBLISH",
	"XADD",	   "XREAD",   "XRANGE", "SCAN",	  "SETEX",    "SETNX",	 "GETSET",    "INCRBY",
	"UNLINK",  "TYPE",    "KEYS",	"DBSIZE", "FLUSHALL", "FLUSHDB", "SUBSCRIBE", "REPLCONF",
	"BLPOP",   "BRPOP",   "APPEND", "STRLEN", "ECHO",     "QUIT",	 "CLUSTER",   "SENTINEL",
};

/* The others of Redis 7.0, where they are in capitals: values of answers may be such words, too. */
static const char more_commands[] =
	" "
	"ACL ASKING BGREWRITEAOF BGSAVE BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS "
	"BLMOVE BLMPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN COPY DEBUG DECRBY DUMP "
	"EVALSHA_RO EVAL_RO EXPIREAT EXPIRETIME FAILOVER FCALL FCALL_RO FUNCTION "
	"GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEOSEARCH "
	"GEOSEARCHSTORE GETBIT GETDEL GETEX GETRANGE HEXISTS HINCRBYFLOAT HKEYS "
	"HLEN HRANDFIELD HSCAN HSETNX HSTRLEN HVALS INCRBYFLOAT LASTSAVE LATENCY "
	"LCS LINDEX LINSERT LMOVE LMPOP LOLWUT LPOS LPUSHX LREM LSET LTRIM MEMORY "
	"MIGRATE MODULE MONITOR MOVE MSETNX OBJECT PERSIST PEXPIRE PEXPIREAT "
	"PEXPIRETIME PFADD PFCOUNT PFMERGE PSETEX PSUBSCRIBE PSYNC PTTL PUBSUB "
	"PUNSUBSCRIBE RANDOMKEY READONLY READWRITE RENAME RENAMENX REPLICAOF RESET "
	"RESTORE RESTORE-ASKING ROLE RPOPLPUSH RPUSHX SAVE SCARD SCRIPT SDIFF "
	"SDIFFSTORE SETBIT SETRANGE SHUTDOWN SINTER SINTERCARD SINTERSTORE SLAVEOF "
	"SLOWLOG SMISMEMBER SMOVE SORT SORT_RO SPUBLISH SRANDMEMBER SSCAN "
	"SSUBSCRIBE SUBSTR SUNION SUNIONSTORE SUNSUBSCRIBE SWAPDB SYNC TIME TOUCH "
	"UNSUBSCRIBE UNWATCH WAIT XACK XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN "
	"XPENDING XREADGROUP XREVRANGE XSETID XTRIM ZCARD ZCOUNT ZDIFF ZDIFFSTORE "
	"ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX "
	"ZRANDMEMBER ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREMRANGEBYLEX "
	"ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE "
	"ZREVRANK ZSCAN ZUNION ZUNIONSTORE ";

/*
 * Commands whose answers, which say how many subscriptions there are, repeat them: "*3\r\n$9\r\n
 * subscribe\r\n$4\r\nnews\r\n:1\r\n"; and what comes for a subscription (RESP 2).
 */
static const char *const subscribing[] = {"SUBSCRIBE",	  "UNSUBSCRIBE", "PSUBSCRIBE",
					  "PUNSUBSCRIBE", "SSUBSCRIBE",	 "SUNSUBSCRIBE"};
static const char *const published[] = {"message", "pmessage", "smessage"};

/* Commands whose first word is not a key: it may be a secret, or says nothing. */
static const char *const keyless[] = {"AUTH", "HELLO", "EVAL",	 "EVALSHA",
				      "PING", "ECHO",  "PUBLISH"};

static bool is_among(const char *const *all, size_t count, const char *word, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(all[i]) == size && !strncasecmp(all[i], word, size))
			return true;
	return false;
}

#define IS_AMONG(all, word, size) is_among(all, sizeof(all) / sizeof((all)[0]), word, size)

/* Whether the word is in a list, which has a space around each. */
static bool is_listed(const char *list, const char *word, size_t size)
{
	char between[32];

	return !memchr(word, ' ', size) &&
	       (size_t)snprintf(between, sizeof(between), " %.*s ", (int)size, word) <
		       sizeof(between) &&
	       strstr(list, between);
}

/* Of a message whose second element is at rest: whether the third one is a number, no word. */
static enum side side_of_third(const char *rest)
{
	int length, used = 0;

	if (sscanf(rest, "$%9d\r\n%n", &length, &used) != 1 || !used)
		return SIDES;
	rest += used;
	/* a client may unsubscribe from none */
	if (length >= 0) {
		if (strlen(rest) < (size_t)length + 3)
			return SIDES;
		rest += length + 2;
	}
	return !*rest ? SIDES : *rest == ':' ? SIDE_ANSWERS : SIDE_REQUESTS;
}

/*
 * "*2\r\n$3\r\nGET": a command that is known; an answer of several values looks the same, and may
 * be one to a client whose commands are not known: which it is the next piece tells.
 */
static enum side side_of(const struct piece *piece)
{
	char head[512], *name;
	size_t size = piece->copied < sizeof(head) - 1 ? piece->copied : sizeof(head) - 1;
	int words, length, used = 0;

	if (!size)
		return SIDES;
	memcpy(head, piece->data, size);
	head[size] = 0;
	if (strchr("+-:$", *head))
		return SIDE_ANSWERS;
	if (sscanf(head, "*%9d\r\n$%9d\r\n%n", &words, &length, &used) != 2 || !used)
		return SIDES;
	name = head + used;
	if (length <= 0 || (size_t)length > strlen(name))
		return SIDES;
	if (words == 3 && IS_AMONG(subscribing, name, (size_t)length))
		return strlen(name) < (size_t)length + 2 ? SIDES : side_of_third(name + length + 2);
	if (IS_AMONG(commands, name, (size_t)length) ||
	    is_listed(more_commands, name, (size_t)length))
		return SIDE_REQUESTS;
	return words >= 3 && IS_AMONG(published, name, (size_t)length) ? SIDE_ANSWERS : SIDES;
}

/* -- requests and answers ---------------------------------------------------------------------- */

static void emit_request(struct reading *r)
{
	struct resp_side *side = r->side;
	struct protocol_request request = {0};
	size_t length = side->sizes[0];
	char name[WORD_MAX + 1], raw[2 * WORD_MAX + 2];

	for (size_t i = 0; i < length; i++)
		name[i] = (char)toupper((unsigned char)side->words[0][i]);
	name[length] = 0;
	if (side->sizes[1] && !IS_AMONG(keyless, name, length)) {
		length = (size_t)snprintf(raw, sizeof(raw), "%s %.*s", name, (int)side->sizes[1],
					  side->words[1]);
		protocol_put_key(request.endpoint, sizeof(request.endpoint), 0, raw, length);
		protocol_hide_random(request.endpoint, PARTS);
		protocol_hide_random(raw, PARTS);
		length = strlen(raw);
	} else {
		length = (size_t)snprintf(raw, sizeof(raw), "%s", name);
		protocol_put_text(request.endpoint, sizeof(request.endpoint), raw, length);
	}
	if (!protocol_put_text(request.path, sizeof(request.path), raw, length) ||
	    side->sizes[1] == WORD_MAX)
		request.flags |= FILM_REQUEST_PATH_CUT;
	r->redis->waiting++;
	r->redis->has_subscribed |= IS_AMONG(subscribing, name, side->sizes[0]);
	r->sink->request(r->sink->context, &request);
	r->sink->sent(r->sink->context, side->bytes);
}

static void begin_answer(struct reading *r, bool failed)
{
	const struct protocol_answer answer = {.failed = failed};

	if (!r->redis->waiting || r->redis->is_answering)
		return;
	r->redis->is_answering = true;
	r->sink->answer(r->sink->context, &answer);
}

static void end_answer(struct redis *redis, const struct protocol_sink *sink, bool sure)
{
	if (!redis->is_answering)
		return;
	redis->is_answering = false;
	redis->waiting--;
	sink->done(sink->context, sure);
}

/* Bytes of a message that goes on in the next piece, or has ended. */
static void emit_bytes(struct reading *r)
{
	if (r->number == SIDE_ANSWERS && r->redis->is_answering && !r->side->is_push)
		r->sink->answered(r->sink->context, r->side->bytes);
	if (r->number == SIDE_ANSWERS)
		r->side->bytes = 0;
}

static void end_message(struct reading *r)
{
	struct resp_side *side = r->side;

	if (r->number == SIDE_REQUESTS) {
		emit_request(r);
	} else {
		emit_bytes(r);
		if (!side->is_push)
			end_answer(r->redis, r->sink, true);
	}
	side->bytes = 0;
	side->is_push = false;
	side->word = 0;
	side->sizes[0] = side->sizes[1] = 0;
}

/* -- messages ---------------------------------------------------------------------------------- */

static void end_element(struct reading *r)
{
	struct resp_side *side = r->side;

	side->word++;
	if (!--side->pending)
		end_message(r);
}

static void lose(struct reading *r, bool strange)
{
	r->sink->losses->strange += strange;
	r->sink->losses->unseen += !strange && r->number == SIDE_REQUESTS;
	r->side->is_lost = true;
	r->side->pending = r->side->left = 0;
	r->side->line_size = 0;
	r->side->is_push = false;
}

/* A command as a person types it: words in a line. */
static void parse_inline(struct reading *r)
{
	struct resp_side *side = r->side;
	uint32_t at = 0;

	for (side->word = 0; side->word < 2; side->word++) {
		while (at < side->line_size && side->line[at] == ' ')
			at++;
		while (at < side->line_size && side->line[at] != ' ')
			side->words[side->word][side->sizes[side->word]++] = side->line[at++];
	}
	if (side->sizes[0])
		end_element(r);
	else
		side->pending = 0;
}

/* Room for elements: each stands for a message. */
static void add_elements(struct reading *r, int64_t count)
{
	struct resp_side *side = r->side;

	if (count > ELEMENTS_MAX || side->pending > ELEMENTS_MAX) {
		lose(r, true);
		return;
	}
	if (count > 0)
		side->pending += (uint64_t)count;
	/* the words of a command begin with its first element */
	if (!--side->pending)
		end_message(r);
}

static void handle_bulk(struct reading *r, int64_t size)
{
	if (size > BULK_MAX)
		lose(r, true);
	else if (size < 0)
		end_element(r);
	else
		r->side->left = (uint64_t)size + 2;
}

/* Whether what begins with the line is published, and no answer: RESP 2 has no other mark. */
static bool is_published(const struct reading *r, int64_t count)
{
	const char *text = (const char *)r->piece->data + r->at;
	size_t left = r->at < r->piece->copied ? r->piece->copied - r->at : 0;
	char head[16];
	int length, used = 0;

	if (!r->redis->has_subscribed || count < 3 || count > 4)
		return false;
	left = left < sizeof(head) - 1 ? left : sizeof(head) - 1;
	memcpy(head, text, left);
	head[left] = 0;
	if (sscanf(head, "$%2d\r\n%n", &length, &used) != 1 || !used || length < 1)
		return false;
	return (size_t)length <= strlen(head + used) &&
	       IS_AMONG(published, head + used, (size_t)length);
}

static void handle_line(struct reading *r)
{
	struct resp_side *side = r->side;
	bool is_first = !side->pending;
	char type = *side->line;
	int64_t number;

	side->line[side->line_size < LINE_MAX_BYTES ? side->line_size : LINE_MAX_BYTES - 1] = 0;
	number = strtoll(side->line + 1, NULL, 10);
	if (is_first)
		side->pending = 1;
	if (is_first && r->number == SIDE_ANSWERS) {
		side->is_push = type == '>' || (type == '*' && is_published(r, number));
		if (!side->is_push)
			begin_answer(r, type == '-' || type == '!');
	}
	switch (type) {
	case '$':
	case '=':
	case '!':
		handle_bulk(r, number);
		break;
	case '%':
	case '|':
		/* an attribute stands before what it is of */
		add_elements(r, number > ELEMENTS_MAX ? number : 2 * number + (type == '|'));
		break;
	case '*':
	case '~':
	case '>':
		add_elements(r, number);
		break;
	case '+':
	case '-':
	case ':':
	case '_':
	case '#':
	case ',':
	case '(':
		end_element(r);
		break;
	default:
		if (is_first && r->number == SIDE_REQUESTS && isalpha((unsigned char)type))
			parse_inline(r);
		else
			lose(r, true);
	}
	side->line_size = 0;
}

/* Bytes of a value: those of a command's first words are kept. */
static void read_value(struct reading *r)
{
	struct resp_side *side = r->side;
	uint64_t rest = r->piece->length - r->at, n = side->left < rest ? side->left : rest;

	for (uint64_t i = 0; i < n && r->number == SIDE_REQUESTS && side->word < 2; i++) {
		uint32_t *size = &side->sizes[side->word];

		if (side->left - i <= 2 || r->at + i >= r->piece->copied || *size == WORD_MAX)
			break;
		side->words[side->word][(*size)++] = (char)r->piece->data[r->at + i];
	}
	r->at += (uint32_t)n;
	side->bytes += n;
	side->left -= n;
	if (!side->left)
		end_element(r);
}

static void read_byte(struct reading *r)
{
	struct resp_side *side = r->side;
	char c = (char)r->piece->data[r->at++];

	side->bytes++;
	if (c == '\n') {
		if (side->line_size)
			handle_line(r);
	} else if (c != '\r' && side->line_size < LINE_MAX_BYTES) {
		side->line[side->line_size++] = c;
	}
}

/*
 * A piece after one with a message that could not be followed: a command begins with it, or none
 * does. All that was asked before is answered by then.
 */
static bool find_place(struct reading *r)
{
	struct redis *redis = r->redis;

	if (r->number == SIDE_ANSWERS || side_of(r->piece) != SIDE_REQUESTS) {
		begin_answer(r, false);
		if (r->number == SIDE_ANSWERS && redis->is_answering)
			r->sink->answered(r->sink->context, r->piece->length);
		return false;
	}
	r->side->is_lost = false;
	return true;
}

/* What was asked is all answered, once more is asked: for a client without pipelines. */
static void settle(struct redis *redis, const struct protocol_sink *sink)
{
	const struct protocol_answer answer = {0};

	while (redis->waiting) {
		if (!redis->is_answering)
			sink->answer(sink->context, &answer);
		redis->is_answering = true;
		end_answer(redis, sink, false);
	}
	redis->sides[SIDE_ANSWERS] = (struct resp_side){0};
}

static void ended(void *state, const struct protocol_sink *sink)
{
	struct redis *redis = state;

	if (redis->sides[SIDE_ANSWERS].is_lost && redis->waiting == 1)
		end_answer(redis, sink, false);
}

static void parse(void *state, enum side number, const struct piece *piece,
		  const struct protocol_sink *sink)
{
	struct redis *redis = state;
	struct reading r = {redis, &redis->sides[number], number, piece, sink, 0};

	if (number == SIDE_REQUESTS && redis->sides[SIDE_ANSWERS].is_lost)
		settle(redis, sink);
	if (r.side->is_lost && !find_place(&r))
		return;
	while (r.at < piece->length) {
		if (r.side->left) {
			read_value(&r);
		} else if (r.at >= piece->copied) {
			lose(&r, false);
			break;
		} else {
			read_byte(&r);
		}
		if (r.side->is_lost)
			break;
	}
	emit_bytes(&r);
}

#define FOR_WORK FILM_ROLE_FOR_WORK, FILM_FRAME_MARK

/* Commands that wait for an element, as queues of jobs use them. */
static const struct film_role_row roles[] = {
	{FOR_WORK, "BLPOP"},
	{FOR_WORK, "BLPOP *"},
	{FOR_WORK, "BRPOP"},
	{FOR_WORK, "BRPOP *"},
	{FOR_WORK, "BRPOPLPUSH"},
	{FOR_WORK, "BRPOPLPUSH *"},
	{FOR_WORK, "BLMOVE"},
	{FOR_WORK, "BLMOVE *"},
	{FOR_WORK, "BLMPOP"},
	{FOR_WORK, "BLMPOP *"},
	{FOR_WORK, "BZPOPMIN"},
	{FOR_WORK, "BZPOPMIN *"},
	{FOR_WORK, "BZPOPMAX"},
	{FOR_WORK, "BZPOPMAX *"},
	{FOR_WORK, "BZMPOP"},
	{FOR_WORK, "BZMPOP *"},
	{FOR_WORK, "XREAD BLOCK"},
	{FOR_WORK, "XREAD BLOCK *"},
	{0},
};

const struct protocol protocol_redis = {
	.id = FILM_PROTOCOL_REDIS,
	.kernel = KERNEL_REDIS,
	.size = sizeof(struct redis),
	.side_of = side_of,
	.parse = parse,
	.ended = ended,
	.roles = roles,
};
