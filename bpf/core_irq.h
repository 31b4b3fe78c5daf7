/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_irq.h: programs on interrupts and timers (CO-RE only). */
#ifndef BOOTSCOPE_CORE_IRQ_H
#define BOOTSCOPE_CORE_IRQ_H

SEC("tp_btf/irq_handler_entry")
int irq_entry(__u64 *ctx) { return irq_enter(WAKER_IRQ, ctx[0]); }

SEC("tp_btf/irq_handler_exit")
int irq_exit(__u64 *ctx) { return irq_leave(WAKER_IRQ); }

SEC("tp_btf/softirq_entry")
int softirq_entry(__u64 *ctx) { return irq_enter(WAKER_SOFTIRQ, ctx[0]); }

SEC("tp_btf/softirq_exit")
int softirq_exit(__u64 *ctx) { return irq_leave(WAKER_SOFTIRQ); }

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_entry(__u64 *ctx) { return irq_enter(WAKER_TIMER, 0); }

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_exit(__u64 *ctx) { return irq_leave(WAKER_TIMER); }

SEC("tp_btf/timer_expire_entry")
int timer_entry(__u64 *ctx) { return irq_enter(WAKER_TIMER_WHEEL, 0); }

SEC("tp_btf/timer_expire_exit")
int timer_exit(__u64 *ctx) { return irq_leave(WAKER_TIMER_WHEEL); }

#endif
