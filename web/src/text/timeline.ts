// SPDX-License-Identifier: Apache-2.0
import { language, type Language } from './language';
import { timeline as en, type TimelineText } from './timeline_en';
import { timeline as zh } from './timeline_zh';

const TEXTS: Record<Language, TimelineText> = { en, zh };

export const timelineText: TimelineText = TEXTS[language];
