static void crew_work(struct crew_call *c, int worker)
{
	for (int64_t i; (i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->tasks;)
		c->job.task(c->job.context, i, worker);
}
