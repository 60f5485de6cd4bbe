// SPDX-License-Identifier: Apache-2.0
import { language, type Language } from './language';
import { explain as en, type ExplainText } from './explain_en';
import { explain as zh } from './explain_zh';

const TEXTS: Record<Language, ExplainText> = { en, zh };

export const explainText: ExplainText = TEXTS[language];
