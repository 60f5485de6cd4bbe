// SPDX-License-Identifier: Apache-2.0
import type { ValuesText } from './values_en';

export const values: ValuesText = {
	title: '参数与返回值',
	count: (calls) => `${calls} 次调用`,
	search: '包含此文本的参数',
	distinct: (n) => `${n} 个不同的值`,
	always: '始终为',
	value: '值',
	calls: '调用次数',
	total: '时间',
	average: '平均',
	longest: '最长',
	others: '其他',
	heat: (of) => `按 ${of} 的调用耗时`,
	heatHint: '每列为耗时的一个 2 的幂',
	heatOf: (calls, from) => `${calls} 次调用，耗时不少于 ${from}`,
	choose: '按此值查看调用耗时',
	sorts: { slowest: '最慢', latest: '最新' },
	began: '开始',
	took: '耗时',
	thread: '线程',
	goroutine: (number) => `goroutine ${number}`,
	call: '调用',
	unseen: '未见其结束',
	listed: (calls) => `列出 ${calls} 次调用。`,
	none: '没有调用具有这样的值。',
};
