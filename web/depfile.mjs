// SPDX-License-Identifier: Apache-2.0
// What a build read, for ninja: depfile.mjs META.json TARGET >FILE.d, in the folder that META's paths start from.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [meta, target] = process.argv.slice(2);
const { inputs } = JSON.parse(readFileSync(meta, 'utf8'));
const files = Object.keys(inputs).map((path) => resolve(path).replace(/[ \\#$]/g, '\\$&'));
process.stdout.write(`${target}: ${files.join(' \\\n ')}\n`);
