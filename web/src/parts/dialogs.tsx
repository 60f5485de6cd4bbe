// SPDX-License-Identifier: Apache-2.0
// The help, and the prompt for a token.
import { useState } from 'preact/hooks';
import { setToken } from '../api/client';
import { language, LANGUAGES, setLanguage } from '../text/language';
import { text } from '../text/text';
import { timelineText } from '../text/timeline';
import { Dialog, KeyList } from './dialog';

export function Help({ onClose }: { onClose(): void }) {
	const words = text.keysHelp;
	return <Dialog id="help-dialog" title={words.title} onClose={onClose}>
		<div class="columns">
			<KeyList title={words.page} keys={words.keys} />
			<KeyList title={words.graph} keys={text.flame.keys} />
			<KeyList title={timelineText.help} keys={timelineText.keys} />
		</div>
		<p>{words.links} {words.about}</p>
		<form method="dialog" class="row">
			<label class="choice"><span>{words.language}</span>
				<select name="language" value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
					{Object.entries(LANGUAGES).map(([name, its]) => <option key={name} value={name} lang={name}>{its}</option>)}
				</select>
			</label>
			<button type="submit" class="primary">{words.close}</button>
		</form>
	</Dialog>;
}

/** isWrong: one was given, and refused. With another one all is asked anew. */
export function TokenPrompt({ isWrong, onClose }: { isWrong: boolean; onClose(): void }) {
	const [value, setValue] = useState('');
	const submit = (event: Event) => {
		event.preventDefault();
		setToken(value.trim());
		location.reload();
	};
	return <Dialog id="token-dialog" title={text.token.title} isForm onClose={onClose}>
		<p>{text.token.why}</p>
		<form class="form" onSubmit={submit}>
			<label>{text.token.label}
				<input type="password" name="token" required value={value} autocomplete="current-password"
					onInput={(event) => setValue(event.currentTarget.value)} />
			</label>
			{isWrong && <p class="wrong" role="alert">{text.token.wrong}</p>}
			<p class="hint">{text.token.kept}</p>
			<button type="submit" class="primary">{text.token.enter}</button>
		</form>
	</Dialog>;
}
