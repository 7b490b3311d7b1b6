// Package apitest runs a real API server for tests: etcd and kube-apiserver on loopback ports, with
// data in the test's temporary directory. Controllers and kubelets do not run, so a test writes the
// status of objects.
//
// Tests that import it use client-go's cache mutation detector, so a change of a cached object
// panics.
//
// The programs are in the directory AIRGAP_LAB_BIN or, if it is not set, in the lab's cache, each in
// the directory or one level below. Without the programs a test is skipped. If AIRGAP_LAB_BIN is
// set, the test fails.
package apitest

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"airgap.dev/airgap/internal/porttest"
	_ "airgap.dev/airgap/verify/apitest/mutationtest" // before client-go
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const startLimit = 3 * time.Minute

// Server is one API server with its etcd.
type Server struct {
	Config *rest.Config // with the identity of a member of system:masters

	dir     string
	binary  string
	etcdURL string
	port    string
	flags   []string

	mu      sync.Mutex // Stop and Resume may come from different goroutines
	running *process
}

// Start runs a server until the test ends, with additional flags.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	return StartOn(t, filepath.Join(t.TempDir(), "etcd"), flags...)
}

// StartOn is Start with etcd's data directory, which may have data.
func StartOn(t testing.TB, data string, flags ...string) *Server {
	t.Helper()
	etcd, apiserver := Program(t, "etcd"), Program(t, "kube-apiserver")
	dir := t.TempDir()
	s := &Server{dir: dir, binary: apiserver, port: porttest.Reserve(t), etcdURL: "http://127.0.0.1:" + porttest.Reserve(t), flags: flags}
	if err := writeIdentity(dir); err != nil {
		t.Fatal(err)
	}
	store := start(t, filepath.Join(dir, "etcd.log"), etcd,
		"--data-dir="+data, "--unsafe-no-fsync",
		"--listen-client-urls="+s.etcdURL, "--advertise-client-urls="+s.etcdURL,
		"--listen-peer-urls=http://127.0.0.1:0")
	t.Cleanup(store.end)
	s.Config = &rest.Config{
		Host: "https://127.0.0.1:" + s.port, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "pki", "apiserver.crt")},
	}
	s.Restart(t)
	t.Cleanup(s.Stop)
	return s
}

// StartSecond runs another API server on the same etcd until the test ends, with the same certificate and
// users. It is, for example, a second server of a load balancer.
func (s *Server) StartSecond(t testing.TB) *Server {
	t.Helper()
	twin := &Server{Config: rest.CopyConfig(s.Config), dir: s.dir, binary: s.binary, etcdURL: s.etcdURL, port: porttest.Reserve(t), flags: s.flags}
	twin.Config.Host = "https://127.0.0.1:" + twin.port
	twin.Restart(t)
	t.Cleanup(twin.Stop)
	return twin
}

// Address returns the server's HOST:PORT.
func (s *Server) Address() string { return "127.0.0.1:" + s.port }

// Client returns a client for the server.
func (s *Server) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Etcd returns the URL of the server's etcd.
func (s *Server) Etcd() string { return s.etcdURL }

// Stop kills the API server; etcd keeps its data.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.end()
}

// Shutdown starts a graceful shutdown, like a rollout. With --shutdown-delay-duration, the server still
// answers for that time but its readiness fails.
func (s *Server) Shutdown(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.running.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the API server after Stop, at the same address, and returns
// when it is ready.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	log := filepath.Join(s.dir, "kube-apiserver.log")
	s.running = start(t, log, s.binary, append([]string{
		"--etcd-servers=" + s.etcdURL,
		"--bind-address=127.0.0.1", "--secure-port=" + s.port, "--cert-dir=" + filepath.Join(s.dir, "pki"),
		"--token-auth-file=" + filepath.Join(s.dir, "tokens.csv"), "--authorization-mode=RBAC",
		"--enable-bootstrap-token-auth", // like kubeadm
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(s.dir, "sa.key"),
		"--service-account-signing-key-file=" + filepath.Join(s.dir, "sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=ServiceAccount", // without controllers, there are no default ServiceAccounts
	}, s.flags...)...)
	if err := s.waitReady(); err != nil {
		s.running.end()
		tail, _ := os.ReadFile(log)
		t.Fatalf("start API server: %v\n%s", err, tail[max(0, len(tail)-2000):])
	}
}

func (s *Server) waitReady() error {
	var last error
	for began := time.Now(); time.Since(began) < startLimit; time.Sleep(50 * time.Millisecond) {
		select {
		case <-s.running.exited:
			return errors.New("it has exited")
		default:
		}
		// The server writes the file first. client-go would cache an empty file as a CA without
		// certificates.
		ca, err := os.ReadFile(s.Config.CAFile)
		if err != nil || !x509.NewCertPool().AppendCertsFromPEM(ca) {
			last = cmp.Or(err, errors.New("its certificate is not written yet"))
			continue
		}
		client, err := kubernetes.NewForConfig(s.Config)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		cancel()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("not ready after %s: %w", startLimit, last)
}

// Program returns the path of a real program of the lab.
func Program(t testing.TB, program string) string {
	t.Helper()
	dir, required := os.LookupEnv("AIRGAP_LAB_BIN")
	if !required {
		dir = filepath.Join(cache(), "bin")
	}
	for _, pattern := range []string{filepath.Join(dir, program), filepath.Join(dir, "*", program)} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	if required {
		t.Fatalf("AIRGAP_LAB_BIN=%s has no %s", dir, program)
	}
	t.Skipf("no %s below %s: make lab builds it", program, dir)
	return ""
}

func cache() string {
	if dir := os.Getenv("AIRGAP_LAB_CACHE"); dir != "" {
		return dir
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".cache", "airgap-lab")
}
