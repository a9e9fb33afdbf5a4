static void crew_work(int worker, uint64_t mine)
{
	for (uint64_t t = CREW_READ(crew.ticket); CREW_GENERATION(t) == CREW_GENERATION(mine) && CREW_TASKS(t) > 0; t = CREW_READ(crew.ticket))
		if (__atomic_compare_exchange_n(&crew.ticket, &t, t - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			crew_task(worker, (int64_t)CREW_TASKS(t) - 1);
}
