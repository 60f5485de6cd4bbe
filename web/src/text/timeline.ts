// SPDX-License-Identifier: Apache-2.0
import { timeline as en, type TimelineText } from './timeline_en';
import { foreign } from './foreign';

export const timelineText: TimelineText = foreign?.timeline ?? en;
