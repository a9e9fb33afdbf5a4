struct crew_job {
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};
