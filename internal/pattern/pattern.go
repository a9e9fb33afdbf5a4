// Package pattern compiles regular expressions when they are first used. A process of tune's is often short, and uses few of those that
// its packages declare.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles a regular expression at its first call. It then panics where the expression is wrong, like
// regexp.MustCompile.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
