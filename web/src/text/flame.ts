// SPDX-License-Identifier: Apache-2.0
import { flame as en, type FlameText } from './flame_en';
import { flame as zh } from './flame_zh';
import { language, type Language } from './language';

const TEXTS: Record<Language, FlameText> = { en, zh };

/** The words of profiles: the page of one flame graph has no others. */
export const flameText: FlameText = TEXTS[language];
