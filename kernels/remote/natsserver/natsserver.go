// Package natsserver embeds a NATS server with JetStream, so that two machines need nothing but tune.
package natsserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tune/internal/files"
)

// Config says where a server listens, and who may connect.
type Config struct {
	Address string // HOST:PORT, or :PORT for all networks; port 0 takes a free one
	Token   string // that clients must have; "" for none, which is for loopback addresses alone
	// Cert and Key are files with a certificate and its key, for TLS; "" for none.
	Cert, Key string
}

// Server is a server that runs.
type Server struct {
	server *server.Server
	store  string
}

// starts is how long a server may take to start.
const starts = 10 * time.Second

// OpenError says that a server without a token would be open to a network.
type OpenError struct{ Address, Port string }

func (e *OpenError) Error() string {
	return fmt.Sprintf("%s is open to the network, and anybody could give work to your workers: give a token, or listen on 127.0.0.1:%s", e.Address, e.Port)
}

// Validate reports a server that must not be started.
func (c Config) Validate() error {
	host, port, err := net.SplitHostPort(c.Address)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no address: want HOST:PORT or :PORT, such as :4222", c.Address)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !loopback && c.Token == "" {
		return &OpenError{c.Address, port}
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("a certificate and its key belong together")
	}
	return nil
}

// Start starts a server, and returns when it takes connections. It stores nothing that outlives it.
func Start(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(c.Address)
	number, _ := strconv.Atoi(port)
	if host == "" {
		host = server.DEFAULT_HOST
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	store, err := files.Scratch("tune-nats-")
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: "tune", Host: host, Port: number, Authorization: c.Token, JetStream: true, StoreDir: store,
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			os.RemoveAll(store)
			return nil, fmt.Errorf("the certificate of the server: %w", err)
		}
		o.TLS, o.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		o.TLSTimeout = 5
	}
	// The server ends the process where it cannot listen.
	probe, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(number, 0))))
	if err != nil {
		os.RemoveAll(store)
		return nil, fmt.Errorf("cannot listen on %s: %w", c.Address, err)
	}
	probe.Close()
	s, err := server.NewServer(o)
	if err != nil {
		os.RemoveAll(store)
		return nil, err
	}
	go s.Start()
	if !s.ReadyForConnections(starts) {
		s.Shutdown()
		os.RemoveAll(store)
		return nil, fmt.Errorf("the NATS server on %s has not started within %v", c.Address, starts)
	}
	return &Server{s, store}, nil
}

// Port is the port on which the server listens.
func (s *Server) Port() int { return s.server.Addr().(*net.TCPAddr).Port }

// Close ends the server.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	os.RemoveAll(s.store)
}
