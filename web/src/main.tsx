// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { takeToken } from './api/client';
import { App } from './app';
import { listenToKeys } from './parts/keys';
import { showTheme } from './state/theme';
import './style/base.css';
import './style/parts.css';
import './style/views.css';
import { language } from './text/language';

document.documentElement.lang = language;
takeToken();
showTheme();
listenToKeys();
render(<App />, document.body);
