/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sched.h: context switches and wake-ups as 8-byte words in one memory-mapped ring per CPU.
 *
 * Only the CPU itself writes its ring, and the reader maps it, so there is no lock, no system
 * call and nothing to flush: an idle CPU's words can be read where they are. A word says by
 * itself whether it was written: its top bit is flipped at every lap, so the reader needs no
 * ordering between words and a head counter (plain stores have none on arm64). The reader
 * publishes how far it has read in tail; a full ring drops the newest and counts.
 *
 *   63   lap
 *   61   kind (2 bits): 0 switch, 1 waking, 2 time, 3 note
 *
 *   switch, waking:  39 tid (22 bits: PID_MAX_LIMIT is 4,194,304)
 *                    36 enum task_state (3; waking: 0)
 *                    27 system call (9; 511 is none)
 *                     0 time in units of 8 ns, modulo 2^27 (1.07 s)
 *   time:             0 time in units of 8 ns (61 bits): comes before the first word, after a gap
 *                       of over 1.07 s and after a loss
 *   note:            56 enum note_kind (5)
 *                     0 payload (56 bits), about the word that follows
 */
#ifndef BOOTSCOPE_SCHED_H
#define BOOTSCOPE_SCHED_H

#define SCHED_RING_WORDS 65536 /* a power of two; 512 KiB per CPU */
#define SCHED_RING_HALF (SCHED_RING_WORDS / 2)

enum word_kind { WORD_SWITCH, WORD_WAKING, WORD_TIME, WORD_NOTE };

enum note_kind {
	NOTE_LOST = 1,    /* payload: how many events were lost here because the ring was full */
	NOTE_NESTED = 2,  /* payload: how many because one interrupted another */
	NOTE_CURRENT = 3, /* payload: tid that runs now */
	NOTE_SYSCALL = 4, /* payload: bit 31 compat, below it the system call's full number */
	NOTE_WAKER = 5,   /* payload: enum waker, from bit 16 on the interrupt's number */
};

#define WORD_TID_SHIFT 39
#define WORD_STATE_SHIFT 36
#define WORD_SYSCALL_SHIFT 27
#define WORD_TIME_MASK ((1ULL << 27) - 1)
#define WORD_NO_SYSCALL 511
#define NOTE_COMPAT_BIT (1ULL << 31)

struct sched_ring {
	/* The CPU's own. */
	__u64 head;
	__u64 last_time; /* of the last word, in units of 8 ns */
	__u64 lost_full, lost_nested;   /* in all */
	__u64 noted_full, noted_nested; /* of these, told to the reader */
	__u32 busy;
	__u32 untold; /* of these, some are not told yet */
	__u32 reserved[16];
	/* The reader's. On a cache line of its own. */
	__u64 tail;
	__u64 reader_line[15];
	__u64 words[SCHED_RING_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the loader sets the number of possible CPUs */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sched_ring);
} sched_rings SEC(".maps");

static __always_inline void put_word(struct sched_ring *ring, __u64 word)
{
	__u64 head = ring->head;
	__u64 lap = (~head & SCHED_RING_WORDS) ? 1ULL << 63 : 0;

	*(volatile __u64 *)&ring->words[head & (SCHED_RING_WORDS - 1)] = word | lap;
	ring->head = head + 1;
}

static __always_inline __u64 note(enum note_kind kind, __u64 payload)
{
	return (__u64)WORD_NOTE << 61 | (__u64)kind << 56 | payload;
}

/* After a loss: how many of each kind. */
static __noinline int put_loss_notes(struct sched_ring *ring)
{
	if (!ring)
		return 0;
	ring->untold = 0;
	if (ring->lost_full != ring->noted_full) {
		put_word(ring, note(NOTE_LOST, ring->lost_full - ring->noted_full));
		ring->noted_full = ring->lost_full;
	}
	if (ring->lost_nested != ring->noted_nested) {
		put_word(ring, note(NOTE_NESTED, ring->lost_nested - ring->noted_nested));
		ring->noted_nested = ring->lost_nested;
	}
	return 0;
}

/* The most words that one event needs: two losses, current, time, system call or waker, itself. */
#define WORDS_PER_EVENT 6

/*
 * Wakes the reader each time half a ring was written. The ring buffer's lock must not be taken
 * here on PREEMPT_RT before 6.12 (8b62645b09f8), where it may sleep: there the reader polls.
 */
static __always_inline void signal_reader(void)
{
	struct event_header wake = {};

	bpf_ringbuf_output(&events, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
}

/* about: what a note in front of the word says, or 0. */
static __always_inline void sched_event(enum word_kind kind, __u32 tid, __u32 state, __u32 syscall, __u32 current,
					__u64 about)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct sched_ring *ring = bpf_map_lookup_elem(&sched_rings, &cpu);
	__u64 now, last, head;

	if (!ring)
		return;
	/* The waking of the current task itself may be interrupted by another. */
	if (ring->busy) {
		ring->lost_nested++;
		ring->untold = 1;
		return;
	}
	*(volatile __u32 *)&ring->busy = 1;
	head = ring->head;
	if (head + WORDS_PER_EVENT - *(volatile __u64 *)&ring->tail > SCHED_RING_WORDS) {
		ring->lost_full++;
		ring->untold = 1;
		*(volatile __u32 *)&ring->busy = 0;
		return;
	}
	now = bpf_ktime_get_boot_ns() >> 3;
	last = ring->last_time;
	if (__builtin_expect(!last || now - last > WORD_TIME_MASK || *(volatile __u32 *)&ring->untold, 0)) {
		if (!last || ring->untold) {
			put_loss_notes(ring);
			/* The switch that said who runs was lost, or came before the first word. */
			put_word(ring, note(NOTE_CURRENT, current));
		}
		put_word(ring, (__u64)WORD_TIME << 61 | now);
	}
	ring->last_time = now;
	if (about)
		put_word(ring, about);
	put_word(ring, (__u64)kind << 61 | (__u64)tid << WORD_TID_SHIFT |
			       (__u64)state << WORD_STATE_SHIFT | (__u64)syscall << WORD_SYSCALL_SHIFT |
			       (now & WORD_TIME_MASK));
	*(volatile __u32 *)&ring->busy = 0;
	if (signal_from_sched && (head ^ ring->head) & SCHED_RING_HALF)
		signal_reader();
}

#endif
