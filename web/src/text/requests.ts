// SPDX-License-Identifier: Apache-2.0
import { language, type Language } from './language';
import { requests as en, type RequestsText } from './requests_en';
import { requests as zh } from './requests_zh';

const TEXTS: Record<Language, RequestsText> = { en, zh };

export const requestsText: RequestsText = TEXTS[language];
