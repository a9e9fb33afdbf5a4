package main

import (
	"errors"
	"net"
	"strings"
	"testing"

	"tune/kernels/remote"
)

// TestByFlags: an error of a login names flags only where one of them may be at fault.
func TestByFlags(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string // after the error
	}{
		{&remote.AddressError{URL: "a:1"}, ""},
		{&remote.AbsentError{URL: "nats://a:1"}, ""},
		{&remote.UnsafeError{URL: "nats://a:1"}, ""},
		{&net.DNSError{Err: "no such host", Name: "a"}, ""},
		{remote.ErrPair, " (--tls-cert, --tls-key)"},
		{errors.New("the token is refused"), " (--token-file, --creds, --nkey, --tls-ca)"},
	} {
		got := byFlags(c.err)
		if tail, ok := strings.CutPrefix(got.Error(), c.err.Error()); !ok || tail != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v: %v, want %q after it", c.err, got, c.want)
		}
	}
}
