// SPDX-License-Identifier: Apache-2.0
import { explain as en, type ExplainText } from './explain_en';
import { foreign } from './foreign';

export const explainText: ExplainText = foreign?.explain ?? en;
