package upstream

import (
	"context"
	"crypto/tls"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/web"
)

// Server is the running internet of the lab.
type Server struct {
	*web.Server
	CA string // path of the certificate, in PEM, that clients have to trust; "" without TLS
}

// Fault is a misbehaviour that Server.Inject orders.
type Fault = web.Fault

// Serve gives out what Build made, until ctx ends or the server is closed:
//
//	URL/HOST/PATH         files, with ranges
//	URL/v2/HOST/REPO/...  images
//
// An addr with port 0 takes a free one. The certificate is good for 127.0.0.1,
// ::1, localhost, and 10.88.0.1, the router of the lab's network, where a
// scenario may let the internet in.
func Serve(ctx context.Context, cache, addr string) (*Server, error) {
	p := places(cache)
	if err := os.MkdirAll(p.keys(), 0o700); err != nil {
		return nil, err
	}
	authority, err := web.OpenAuthority(CA(cache), p.path("keys", "ca.key"))
	if err != nil {
		return nil, err
	}
	config, err := authority.Config([]string{"localhost"}, []net.IP{
		net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 88, 0, 1),
	})
	if err != nil {
		return nil, err
	}
	server, err := web.Serve(ctx, p.site(config), addr)
	if err != nil {
		return nil, err
	}
	return &Server{Server: server, CA: CA(cache)}, nil
}

// Warm reads all that is served, for measurements: whoever comes first would
// otherwise wait for the disk, and those after them not.
func Warm(cache string) error {
	return filepath.WalkDir(places(cache).path("site"), func(path string, d fs.DirEntry, err error) error {
		if path == places(cache).largeImages() {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(io.Discard, f)
		return err
	})
}

// ServePlain is Serve without TLS, for measurements: encryption would cost more
// than what is measured.
func ServePlain(ctx context.Context, cache, addr string) (*Server, error) {
	server, err := web.Serve(ctx, places(cache).site(nil), addr)
	if err != nil {
		return nil, err
	}
	return &Server{Server: server}, nil
}

func (p places) site(config *tls.Config) web.Site {
	return web.Site{Files: p.files(), Layouts: []string{p.images(), p.benchImages(), p.largeImages()}, TLS: config}
}
