package remote

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"tune/internal/files"
	"tune/internal/plain"
)

// secretSize is the most bytes of a file with a secret.
const secretSize = 64 << 10

// Login says how to reach a NATS server.
type Login struct {
	// URL is nats://HOST:PORT or tls://HOST:PORT, perhaps with TOKEN@ or USER:PASSWORD@ before the host.
	URL       string
	TokenFile string // a file that holds the token; "" for none
	Creds     string // a file of NATS credentials (JWT and seed); "" for none
	NKey      string // a file with the seed of an nkey; "" for none
	CA        string // a file with certificates of authorities that are trusted; "" for the system's
	// Cert and Key are files with a certificate of the client and its key; "" for none.
	Cert, Key string
}

// AddressError says that a text is no address.
type AddressError struct{ URL string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is no address of a NATS server: want nats://HOST:4222 or tls://HOST:4222", e.URL)
}

// AbsentError says that no server answers.
type AbsentError struct{ URL string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%s does not answer: is a NATS server there?", e.URL)
}

// UnsafeError says that a server on a network takes anybody.
type UnsafeError struct{ URL string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s is on a network and takes anybody, who could give work to workers and outcomes to runs: start that server with authentication, or use it by 127.0.0.1", e.URL)
}

// ErrPair says that a certificate is given without its key, or a key without its certificate.
var ErrPair = errors.New("a certificate and its key belong together")

// Validate reports a login that cannot be one.
func (l Login) Validate() error {
	u, err := url.Parse(l.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return &AddressError{Redact(l.URL)}
	}
	if (l.Cert == "") != (l.Key == "") {
		return ErrPair
	}
	return nil
}

// Redact hides the secret in a URL.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "…")
	} else {
		u.User = url.User("…")
	}
	return strings.ReplaceAll(u.String(), url.QueryEscape("…"), "…")
}

// Events are what may happen to a connection. Each may be nil.
type Events struct {
	Lost      func(err error) // the server is not reached; the connection is tried again
	Reached   func()          // it is reached again
	Abandoned func(err error) // the connection is not tried again: the server refuses it
}

// Connect connects to the server under a name. A connection that is lost is made again for as long as it takes.
func (l Login) Connect(name string, on Events) (*nats.Conn, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if on.Lost != nil && err != nil { // nil where this side has closed it
				on.Lost(err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			if on.Reached != nil {
				on.Reached()
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); err != nil && on.Abandoned != nil {
				on.Abandoned(l.explain(err))
			}
		}),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // a slow subscription shows in what is asked again
	}
	if l.TokenFile != "" {
		token, err := ReadToken(l.TokenFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Token(token))
	}
	if l.Creds != "" {
		text, err := files.Read(l.Creds, secretSize)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("NATS USER JWT")) || !bytes.Contains(text, []byte("USER NKEY SEED")) {
			return nil, fmt.Errorf("%s holds no NATS credentials: want a user's JWT and its seed", l.Creds)
		}
		options = append(options, nats.UserCredentials(l.Creds))
	}
	if l.NKey != "" {
		if _, err := files.Read(l.NKey, secretSize); err != nil {
			return nil, err
		}
		o, err := nats.NkeyOptionFromSeed(l.NKey)
		if err != nil {
			return nil, fmt.Errorf("%s holds no seed of an nkey: %w", l.NKey, err)
		}
		options = append(options, o)
	}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	if l.Cert != "" {
		options = append(options, nats.ClientCert(l.Cert, l.Key))
	}
	nc, err := nats.Connect(l.URL, options...)
	if err != nil {
		return nil, l.explain(err)
	}
	if !nc.AuthRequired() && !isLoopback(nc.ConnectedAddr()) && (l.Cert == "" || l.needless()) {
		nc.Close()
		return nil, &UnsafeError{Redact(l.URL)}
	}
	return nc, nil
}

// needless reports whether the server also takes who has no certificate.
func (l Login) needless() bool {
	options := []nats.Option{nats.Name("tune: is a certificate needed?"), nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	nc, err := nats.Connect(l.URL, options...)
	if err != nil {
		return false
	}
	nc.Close()
	return true
}

// explain says what an error of a connection means.
func (l Login) explain(err error) error {
	where, text := Redact(l.URL), err.Error()
	_, stranger := errors.AsType[x509.UnknownAuthorityError](err)
	host, other := errors.AsType[x509.HostnameError](err)
	slow, silent := errors.AsType[net.Error](err)
	// With TLS 1.3 a side hears only after the handshake that the other does not take its certificate.
	mine := strings.Contains(text, "remote error: tls: ") || strings.Contains(text, "after TLS handshake")
	switch {
	case errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || strings.Contains(strings.ToLower(text), "authorization violation"):
		return fmt.Errorf("%s refuses the token, the user or the key: %w", where, err)
	case errors.Is(err, nats.ErrNoServers), silent && slow.Timeout(), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &AbsentError{where} // or what is there says nothing, so that it is no NATS server
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%s has no TLS: give its address as nats://, or start it with a certificate: %w", where, err)
	case stranger:
		return fmt.Errorf("%s: no authority that is trusted here has signed the certificate of the server: give that authority's as the one to trust: %w", where, err)
	case other:
		return fmt.Errorf("%s: the certificate of the server is not one of %s: give the address by a name that it has: %w", where, plain.Line(host.Host), err)
	case mine && l.Cert == "":
		return fmt.Errorf("%s wants a certificate of this side: %w", where, err)
	case mine:
		return fmt.Errorf("%s refuses the certificate of this side: %w", where, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ReadToken reads the token in a file.
func ReadToken(path string) (string, error) {
	text, err := files.Read(path, secretSize)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s holds no token: want one word", path)
	}
	return token, nil
}
