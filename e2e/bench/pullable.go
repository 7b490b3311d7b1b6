package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/e2e/scenario"
)

// pullable measures the time from the start of a registry that serves the bundle in place
// until every image can be pulled. It also compares a verified import with cp.
func (b *bench) pullable(ctx context.Context, w *figures) error {
	stick := b.ours()
	took, err := b.servedIn(ctx, stick)
	if err != nil {
		return err
	}
	seconds("pullable-in-place", took, "limit", time.Second, 1.0).print(w)
	store, copied := filepath.Join(b.Work, "store"), filepath.Join(b.Work, "copy")
	m, err := rounds(func() (measured, error) {
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
	seconds("import-verified", m[0].took, "cp-and-sync", m[1].took, 1.2).print(w)
	return nil
}

// servedIn starts the registry with the stick as its store and waits until every image of
// the bundle can be pulled.
func (b *bench) servedIn(ctx context.Context, stick string) (time.Duration, error) {
	pki := filepath.Join(b.Work, "pki")
	transport, err := selfSigned(ctx, pki)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	s, err := b.serve(ctx, transport, stick, pki)
	if err != nil {
		return 0, err
	}
	defer s.end()
	err = b.everyImage(ctx, transport, s.addr)
	return time.Since(began), err
}

// everyImage starts to pull each image: it reads manifests and configuration completely,
// and the first byte of each layer.
func (b *bench) everyImage(ctx context.Context, rt http.RoundTripper, addr string) error {
	for _, image := range b.images {
		ref, err := name.ParseReference(addr + "/" + image)
		if err != nil {
			return err
		}
		held, err := remote.Image(ref, remote.WithContext(ctx), remote.WithTransport(rt), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
		if err != nil {
			return err
		}
		if _, err := held.RawConfigFile(); err != nil {
			return err
		}
		if err := beginLayers(held); err != nil {
			return fmt.Errorf("start to pull %s: %w", ref, err)
		}
	}
	return nil
}

// answering waits until the registry responds.
func (b *bench) answering(ctx context.Context, rt http.RoundTripper, addr string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/v2/", nil)
		if err != nil {
			return err
		}
		resp, err := rt.RoundTrip(req)
		if err == nil {
			return resp.Body.Close()
		}
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func beginLayers(image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			return err
		}
		_, err = content.Read(make([]byte, 1))
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// selfSigned creates a certificate for loopback with openssl, and returns a transport that
// trusts it.
func selfSigned(ctx context.Context, dir string) (http.RoundTripper, error) {
	pem, err := scenario.SelfSigned(ctx, dir, loopback)
	if err != nil {
		return nil, err
	}
	return trusting(pem), nil
}

func trusting(pems ...string) http.RoundTripper {
	pool := x509.NewCertPool()
	for _, pem := range pems {
		pool.AppendCertsFromPEM([]byte(pem))
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
}
