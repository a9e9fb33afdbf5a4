package cgen

import (
	"tune/kernels"
	"tune/kernels/threads"
	"tune/space"
)

// CrewParameters returns the parameters of threads that share the work in chunks: how chunks are assigned to workers, when the
// workers are started, and how long they spin. The parameters are active where the condition holds.
func CrewParameters(condition string) []space.Parameter {
	return []space.Parameter{
		space.Enum("hand_out", string(threads.Static), string(threads.Dynamic)).If(condition).
			Describe("how chunks are assigned: fixed to a worker, or to any worker that is free"),
		space.Enum("start", string(threads.Pool), string(threads.Spawn)).If(condition).
			Describe("threads: kept between calls, or started by each"),
		space.Ints("spin", 0, 1000, 20000).WithDefault(1000).If(condition + " && start == '" + string(threads.Pool) + "'").
			Describe("looks for news before a waiting thread sleeps"),
	}
}

// Crew returns the thread configuration of a point with more than one worker. It reads the parameter workers and those of
// CrewParameters.
func Crew(p space.Point) threads.Config {
	return threads.Config{
		Workers: p.Int("workers"),
		HandOut: threads.HandOut(p.Str("hand_out")),
		Start:   threads.Start(p.Str("start")),
		Spin:    p.Int("spin"),
	}
}

// The values of the field cache.
const (
	cacheAuto = "auto"
	cacheWarm = "warm"
	cacheCold = "cold"
)

// Fields returns the last fields of a shape: threads and cache.
func Fields() []kernels.Field {
	return []kernels.Field{
		{Name: "threads", Doc: "threads that a point may use at most", Default: "1", Min: 1, Max: 256},
		{Name: "cache", Doc: "where the operands are when a call begins: as their size decides, in the caches, or in memory", Default: cacheAuto, Options: []string{cacheAuto, cacheWarm, cacheCold}},
	}
}

// Cold reports whether the kernel is timed with its operands in memory rather than in the caches. It takes the value of the field
// cache; auto is the answer for the value "auto".
func Cold(word string, auto bool) bool { return word == cacheCold || word == cacheAuto && auto }

// Up to FewRows rows of activations find their weights in memory, because the rest of a model has gone through the caches since they
// were there last. coldBytes is the size of the operands above which that is assumed.
const (
	FewRows   = 32
	coldBytes = 1 << 20
)

// ColdProduct is Cold for a product of m rows by weights. Its operands have so many bytes together; cache is that of the machine.
func ColdProduct(word string, m int, bytes, cache int64) bool {
	return Cold(word, bytes > cache || m <= FewRows && bytes > coldBytes)
}

// Blocks returns the values of a parameter that cuts a dimension into blocks: 0, for no blocking, and those sizes that are below the
// whole.
func Blocks(whole int, sizes ...int) []int {
	out := []int{0}
	for _, s := range sizes {
		if s < whole {
			out = append(out, s)
		}
	}
	return out
}
