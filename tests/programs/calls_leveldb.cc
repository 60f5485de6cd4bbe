// SPDX-License-Identifier: Apache-2.0
/*
 * LevelDB at work: puts 50,000 keys (or as many as the second argument says) into a database in the
 * folder of the first one, gets each, and goes through all. The checksum is of what was read.
 */
#include <leveldb/db.h>

#include <memory>
#include <string>

#include "calls.h"

static std::string key_of(unsigned long i)
{
	return "key" + std::to_string(i * 7919 % 1000003);
}

static void add_text(const std::string &text)
{
	for (char c : text)
		calls_add(static_cast<unsigned char>(c));
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], nullptr, 10) : 50000;
	leveldb::Options options;
	leveldb::DB *opened;
	std::string value;
	unsigned long seen = 0;

	if (argc < 2)
		return 2;
	options.create_if_missing = true;
	options.error_if_exists = true;
	if (!leveldb::DB::Open(options, argv[1], &opened).ok())
		return 1;
	std::unique_ptr<leveldb::DB> db(opened);
	for (unsigned long i = 0; i < count; i++)
		if (!db->Put(leveldb::WriteOptions(), key_of(i), "value" + std::to_string(i)).ok())
			return 1;
	for (unsigned long i = 0; i < count; i++) {
		if (!db->Get(leveldb::ReadOptions(), key_of(i), &value).ok())
			return 1;
		add_text(value);
	}
	std::unique_ptr<leveldb::Iterator> at(db->NewIterator(leveldb::ReadOptions()));
	for (at->SeekToFirst(); at->Valid(); at->Next()) {
		add_text(at->key().ToString());
		seen++;
	}
	printf("keys %lu\n", seen);
	return calls_end();
}
