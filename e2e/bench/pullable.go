package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pullable measures how long after its start a registry over the bundle, in
// place, answers for every image; and what a verified copy costs beside cp.
func (b *bench) pullable(ctx context.Context, w io.Writer) error {
	stick := filepath.Join(b.Work, "ours")
	took, err := b.servedIn(ctx, stick)
	if err != nil {
		return err
	}
	seconds("pullable-in-place", took, "limit", time.Second, 1.0).print(w)
	seconds("pullable-in-place-vs-zarf", took, "zarf-mirror-resources", zarfPullable, 1.0).print(w)
	store, copied := filepath.Join(b.Work, "store"), filepath.Join(b.Work, "copy")
	a, c, err := pairs(runs, func() (measured, error) {
		if err := os.RemoveAll(store); err != nil {
			return measured{}, err
		}
		return measure(ctx, b.env, b.Program, "registry", "import", filepath.Join(stick, "bank"), "--store", store, "--progress", "json")
	}, func() (measured, error) {
		if err := os.RemoveAll(copied); err != nil {
			return measured{}, err
		}
		return measure(ctx, nil, "sh", "-c", fmt.Sprintf("cp -r %s %s && sync -f %s", stick, copied, copied))
	})
	if err != nil {
		return err
	}
	seconds("import-verified", a.took, "cp-and-sync", c.took, 1.2).print(w)
	return nil
}

// servedIn starts the registry over the stick itself and waits until every
// image of the bundle answers with its manifest.
func (b *bench) servedIn(ctx context.Context, stick string) (time.Duration, error) {
	addr, err := freePort()
	if err != nil {
		return 0, err
	}
	_, port, _ := net.SplitHostPort(addr)
	pki := filepath.Join(b.Work, "pki")
	client, err := selfSigned(ctx, pki)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.Program, "registry", "serve", "--store", stick, "--pki", pki, "--port", port)
	cmd.Env = append(os.Environ(), b.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = b.everyImage(ctx, client, addr)
	took := time.Since(began)
	cancel()
	_ = cmd.Wait() // ended by us
	return took, err
}

func (b *bench) everyImage(ctx context.Context, client *http.Client, addr string) error {
	for _, image := range b.images {
		repo, tag, _ := strings.Cut(image, ":")
		for {
			err := get(ctx, client, "https://"+addr+"/v2/"+repo+"/manifests/"+tag)
			if err == nil {
				break
			}
			if errors.Is(err, errNotThere) || ctx.Err() != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond) // it is still starting
		}
	}
	return nil
}

var errNotThere = errors.New("not there")

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s: %w", url, resp.Status, errNotThere)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// selfSigned makes a certificate for loopback with stock openssl.
func selfSigned(ctx context.Context, dir string) (*http.Client, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	crt := filepath.Join(dir, "registry.crt")
	out, err := exec.CommandContext(ctx, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", filepath.Join(dir, "registry.key"), "-out", crt).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w: %s", err, out)
	}
	pem, err := os.ReadFile(crt)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}, nil
}
