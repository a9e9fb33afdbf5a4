static void crew_work(struct crew_call *c, int worker)
{
	for (int64_t i = worker; i < c->tasks; i += CREW_WORKERS)
		c->job.task(c->job.context, i, worker);
}
