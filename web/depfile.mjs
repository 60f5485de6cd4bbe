// SPDX-License-Identifier: Apache-2.0
// What a build read, for ninja: depfile.mjs TARGET META.json… >FILE.d, in the folder that the paths in them start from.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [target, ...metas] = process.argv.slice(2);
const read = metas.flatMap((meta) => Object.keys(JSON.parse(readFileSync(meta, 'utf8')).inputs));
const files = [...new Set(read)].map((path) => resolve(path).replace(/[ \\#$]/g, '\\$&'));
process.stdout.write(`${target}: ${files.join(' \\\n ')}\n`);
