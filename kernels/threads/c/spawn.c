struct crew_call { struct crew_job job; int64_t tasks, next; };
struct crew_hand { struct crew_call *call; int worker; };

static void crew_work(struct crew_call *c, int worker);

static void *crew_main(void *p)
{
	struct crew_hand *h = p;
	crew_work(h->call, h->worker);
	return 0;
}

static void parallel(void (*task)(void *context, int64_t i, int worker), void *context, int64_t tasks)
{
	struct crew_call c = { { task, context }, tasks, 0 };
	struct crew_hand hands[CREW_WORKERS];
	pthread_t threads[CREW_WORKERS];
	int started = 1;
	for (; started < CREW_WORKERS && started < tasks; started++) {
		hands[started].call = &c;
		hands[started].worker = started;
		if (pthread_create(&threads[started], 0, crew_main, &hands[started]) != 0)
			break;
	}
	crew_work(&c, 0);
	// The tasks of threads that could not be started are left to this one, when their numbers are free.
	for (int w = started; w < CREW_WORKERS && w < tasks; w++)
		crew_work(&c, w);
	for (int w = 1; w < started; w++)
		pthread_join(threads[w], 0);
}
