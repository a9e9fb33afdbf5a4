static void crew_work(int worker, uint64_t mine)
{
	for (uint64_t i = worker; i < CREW_TASKS(mine); i += crew.helpers + 1)
		crew_task(worker, (int64_t)i);
}
