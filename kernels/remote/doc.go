// Package remote evaluates candidates on other machines. A Coordinator is the evaluator of a run; a Worker, in a process anywhere,
// evaluates what coordinators ask for. Between them is a NATS server with JetStream (package natsserver embeds one).
//
//  1. The coordinator announces its run: kernel, version, shape, fingerprint of the space, and which workers it wants.
//     The files of a user's kernel are asked for by checksum, where the worker's owner allows its code.
//  2. Where costs are measured, and for kernels of users, a worker evaluates the baseline (the reference of the job). The coordinator accepts
//     the worker if its costs agree with those of the coordinator and of the other workers. The worker compares itself again now and then,
//     and is set aside while it disagrees.
//  3. Each trial becomes a message in the work queue of the run, a stream of JetStream.
//  4. A worker that can serve the run takes a message. That is a lease, which it renews while it evaluates. If it does not, because it died,
//     hangs or is cut off, JetStream gives the message to another worker.
//  5. The worker asks the coordinator to take the outcome, and gives the message back only when the coordinator has it.
//
// The run directory of the coordinator is the source of truth. JetStream holds only what is in flight: where the queue loses a message, or all of
// them, the coordinator asks again. An outcome counts for the trial of its number, once; whatever comes later is dropped. So a failure of
// the machinery is a retry, and only the pipeline of the kernel (kernels.Evaluator) makes an outcome of a failing candidate.
//
// A run can be tuned for the machine of one worker. A Target opens the kernel there and returns it as a
// kernels.Kernel whose candidates are on that machine. What uses the kernel need not know that.
package remote
