package clients

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/e2e/freeport"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/secrets"
)

// site has two registries on loopback: airgap's with a bundle, and registry:3.
type site struct {
	*scenario.Env

	ours, theirs string // HOST:PORT
	ca           string // file with both certificates
	logins       string // directory with config.json, as docker and podman write it
	password     string
	engines      string // root directory with podman and Docker
	transport    http.RoundTripper
	running      []*exec.Cmd
}

// newSite makes a bundle and starts both registries. The caller stops them.
func newSite(ctx context.Context, e *scenario.Env) (*site, error) {
	s := &site{Env: e, password: rand.Text(), logins: filepath.Join(e.Work, "logins"), ca: filepath.Join(e.Work, "ca.pem")}
	if err := e.Book.Add(secrets.Password, "of "+scenario.Pusher, s.password); err != nil {
		return nil, err
	}
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return nil, err
	}
	if err := e.Do(ctx, 0, nil, "bundle", "-f", config, "-o", s.store()); err != nil {
		return nil, err
	}
	ours, err := address()
	if err != nil {
		return nil, err
	}
	theirs, err := address()
	if err != nil {
		return nil, err
	}
	s.ours, s.theirs = ours.String(), theirs.String()
	if err := s.start(ctx, ours, theirs); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, s.login()
}

func (s *site) store() string { return filepath.Join(s.Work, "store") }

func address() (netip.AddrPort, error) {
	port, err := freeport.Next()
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)), err
}

func (s *site) start(ctx context.Context, ours, theirs netip.AddrPort) error {
	pki, users := filepath.Join(s.Work, "pki"), filepath.Join(s.Work, "users")
	pem, err := scenario.SelfSigned(ctx, pki, ours.Addr())
	if err != nil {
		return err
	}
	registry3, err := scenario.NewRegistry3(ctx, s.Env, filepath.Join(s.Work, "registry3"), theirs)
	if err != nil {
		return err
	}
	if err := s.trust(pem + registry3.CA); err != nil {
		return err
	}
	passwd := exec.CommandContext(ctx, s.Program, "registry", "passwd", scenario.Pusher, "--users", users)
	passwd.Stdin = strings.NewReader(s.password + "\n")
	if r, err := s.Command(passwd); err != nil || r.Code != 0 {
		return errors.Join(err, r.Want("registry passwd", 0))
	}
	serve := exec.CommandContext(ctx, s.Program, "registry", "serve", "--store", s.store(), "--pki", pki,
		"--pushed", filepath.Join(s.Work, "pushed"), "--users", users, "--join", "", "--port", fmt.Sprint(ours.Port()))
	serve.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(s.Work, "config"))
	if err := s.run(serve, "airgap.log"); err != nil {
		return err
	}
	if err := s.run(exec.CommandContext(ctx, registry3.Argv[0], registry3.Argv[1:]...), "registry3.log"); err != nil {
		return err
	}
	return errors.Join(s.answers(ctx, s.ours), s.answers(ctx, s.theirs))
}

// trust writes the file of the certificates, and makes the transport of the scenario's own requests.
func (s *site) trust(pem string) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(pem)) {
		return errors.New("read the certificates of the registries")
	}
	s.transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return os.WriteFile(s.ca, []byte(pem), 0o644)
}

// run starts a program that runs until stop. Its output is a file of the work directory.
func (s *site) run(cmd *exec.Cmd, log string) error {
	file, err := os.Create(filepath.Join(s.Work, log))
	if err != nil {
		return err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running = append(s.running, cmd)
	return nil
}

// stop ends the programs, the last one first.
func (s *site) stop() error {
	for ; len(s.running) > 0; s.running = s.running[:len(s.running)-1] {
		cmd := s.running[len(s.running)-1]
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop %s: %w", cmd.Path, err)
		}
		_ = cmd.Wait() // ended by the signal
	}
	return nil
}

// answers waits until a registry answers.
func (s *site) answers(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/v2/", nil)
		if err != nil {
			return err
		}
		resp, err := s.transport.RoundTrip(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the registry at %s: %w", addr, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// login writes the password where all clients look for it.
func (s *site) login() error {
	auth := base64.StdEncoding.EncodeToString([]byte(scenario.Pusher + ":" + s.password))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, s.ours, auth)
	return errors.Join(os.MkdirAll(s.logins, 0o700), os.WriteFile(filepath.Join(s.logins, "config.json"), []byte(text), 0o600))
}
