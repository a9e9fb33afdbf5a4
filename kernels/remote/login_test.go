package remote_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"tune/kernels/remote"
)

// serverWith starts a NATS server of its own kind, and returns its address.
func serverWith(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog = cmp.Or(o.Host, "127.0.0.1"), server.RANDOM_PORT, true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.Addr().String()
}

// tries connects, and compares the error: want is a part of it, "" for none.
func tries(t *testing.T, l remote.Login, want string) {
	t.Helper()
	nc, err := l.Connect("test", remote.Events{})
	if err == nil {
		nc.Close()
	}
	switch {
	case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %q", remote.Redact(l.URL), err, want)
	case err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")):
		t.Errorf("the error shows a secret, or has several lines: %v", err)
	}
}

func writeFile(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUsers: a server with users takes those, with their passwords.
func TestUsers(t *testing.T) {
	at := serverWith(t, &server.Options{Users: []*server.User{{Username: "ada", Password: "hunter2"}}})
	tries(t, remote.Login{URL: "nats://ada:hunter2@" + at}, "")
	for _, who := range []string{"ada:hunter21@", "bob:hunter2@", "hunter2@", ""} {
		tries(t, remote.Login{URL: "nats://" + who + at}, "refuses the token, the user or the key")
	}
}

// seedOf makes a key, and returns its public part and a file with its seed.
func seedOf(t *testing.T, make func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public, file string) {
	t.Helper()
	key, err := make()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err = key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public, writeFile(t, append(seed, '\n'))
}

// TestNKeys: a server with nkeys takes who has the seed of one.
func TestNKeys(t *testing.T) {
	_, public, file := seedOf(t, nkeys.CreateUser)
	_, _, other := seedOf(t, nkeys.CreateUser)
	at := "nats://" + serverWith(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}})
	tries(t, remote.Login{URL: at, NKey: file}, "")
	tries(t, remote.Login{URL: at, NKey: other}, "refuses the token, the user or the key")
	tries(t, remote.Login{URL: at}, "refuses the token, the user or the key")
	tries(t, remote.Login{URL: at, NKey: writeFile(t, []byte("hunter2\n"))}, "holds no seed of an nkey")
	tries(t, remote.Login{URL: at, NKey: filepath.Join(t.TempDir(), "absent")}, "no such file")
}

// TestCredentials: a server with accounts takes who has a JWT that an account has signed, and its seed.
func TestCredentials(t *testing.T) {
	operator, operatorID, _ := seedOf(t, nkeys.CreateOperator)
	account, accountID, _ := seedOf(t, nkeys.CreateAccount)
	sign := func(c jwt.Claims, by nkeys.KeyPair) string {
		t.Helper()
		text, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	oc := jwt.NewOperatorClaims(operatorID)
	sign(oc, operator)
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(accountID, sign(jwt.NewAccountClaims(accountID), operator)); err != nil {
		t.Fatal(err)
	}
	at := "nats://" + serverWith(t, &server.Options{TrustedOperators: []*jwt.OperatorClaims{oc}, AccountResolver: resolver})
	creds := func(by nkeys.KeyPair) string {
		user, userID, _ := seedOf(t, nkeys.CreateUser)
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(sign(jwt.NewUserClaims(userID), by), seed)
		if err != nil {
			t.Fatal(err)
		}
		return writeFile(t, text)
	}
	stranger, _, _ := seedOf(t, nkeys.CreateAccount)
	tries(t, remote.Login{URL: at, Creds: creds(account)}, "")
	tries(t, remote.Login{URL: at, Creds: creds(stranger)}, "refuses the token, the user or the key")
	tries(t, remote.Login{URL: at, Creds: writeFile(t, []byte("hunter2"))}, "holds no NATS credentials")
	tries(t, remote.Login{URL: at}, "refuses the token, the user or the key")
}

// authority is one that signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

// sign makes a certificate, and returns the files of it and its key. The authority signs itself where it has no certificate yet.
func (a *authority) sign(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(cmp.Or(outside(), "127.0.0.1"))}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, by := a.cert, a.key
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage, template.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
		parent, by = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = writeFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		a.key, a.file = private, cert
	}
	return cert, writeFile(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}))
}

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	a.sign(t, "authority")
	return a
}

// TestClientCertificates: with TLS both ways, each side has to show a certificate that the other's authority has signed.
func TestClientCertificates(t *testing.T) {
	ours, strange := newAuthority(t), newAuthority(t)
	cert, key := ours.sign(t, "server")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	at := serverWith(t, &server.Options{
		TLS: true, TLSVerify: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12},
	})
	good, goodKey := ours.sign(t, "worker")
	bad, badKey := strange.sign(t, "worker")
	for _, scheme := range []string{"tls://", "nats://"} { // the server says that it wants TLS
		tries(t, remote.Login{URL: scheme + at, CA: ours.file, Cert: good, Key: goodKey}, "")
	}
	tries(t, remote.Login{URL: "tls://" + at, CA: ours.file}, "wants a certificate of this side")
	tries(t, remote.Login{URL: "tls://" + at, CA: ours.file, Cert: bad, Key: badKey}, "refuses the certificate of this side")
	tries(t, remote.Login{URL: "tls://" + at, CA: strange.file, Cert: good, Key: goodKey}, "no authority that is trusted here has signed the certificate of the server")
	tries(t, remote.Login{URL: "tls://" + at, Cert: good, Key: goodKey}, "no authority that is trusted here has signed the certificate of the server")
	tries(t, remote.Login{URL: "tls://localhost:" + at[strings.LastIndexByte(at, ':')+1:], CA: ours.file, Cert: good, Key: goodKey}, "the certificate of the server is not one of localhost")
	tries(t, remote.Login{URL: "tls://" + at, CA: ours.file, Cert: good, Key: badKey}, "private key does not match")
	tries(t, remote.Login{URL: "tls://" + at, CA: filepath.Join(t.TempDir(), "absent"), Cert: good, Key: goodKey}, "no such file")
	if ip := outside(); ip != "" { // where it asks nobody for a certificate, one that is shown proves nothing
		config := func(auth tls.ClientAuthType) *tls.Config {
			return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: auth, ClientCAs: pool, MinVersion: tls.VersionTLS12}
		}
		open := serverWith(t, &server.Options{Host: ip, TLS: true, TLSTimeout: 5, TLSConfig: config(tls.NoClientCert)})
		tries(t, remote.Login{URL: "tls://" + open, CA: ours.file, Cert: good, Key: goodKey}, "takes anybody")
		closed := serverWith(t, &server.Options{Host: ip, TLS: true, TLSVerify: true, TLSTimeout: 5, TLSConfig: config(tls.RequireAndVerifyClientCert)})
		tries(t, remote.Login{URL: "tls://" + closed, CA: ours.file, Cert: good, Key: goodKey}, "")
	}
	plain := serverWith(t, &server.Options{Authorization: "hunter2"})
	tries(t, remote.Login{URL: "tls://hunter2@" + plain, CA: ours.file}, "has no TLS")
}
