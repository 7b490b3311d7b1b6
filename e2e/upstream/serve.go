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

// Server is the running upstream of the lab.
type Server struct {
	*web.Server
	CA string // path of the certificate, in PEM, that clients must trust; "" without TLS
}

// Fault is a fault for Server.Inject.
type Fault = web.Fault

// Serve serves the results of Build until ctx ends or the server is closed:
//
//	URL/HOST/PATH         files, with ranges
//	URL/v2/HOST/REPO/...  images
//
// If the port in addr is 0, the server uses a free one. The certificate is valid for
// 127.0.0.1, ::1, localhost, and 10.88.0.1, the router of the lab's network, where a scenario
// may make the upstream available.
func Serve(ctx context.Context, cache, addr string) (*Server, error) {
	p := places(cache)
	if err := os.MkdirAll(p.keys(), 0o700); err != nil {
		return nil, err
	}
	ca, err := web.OpenCA(CA(cache), p.path("keys", "ca.key"))
	if err != nil {
		return nil, err
	}
	config, err := ca.Config([]string{"localhost"}, []net.IP{
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

// WarmPageCache reads all served files into the page cache, except for those of LargeImage. Otherwise
// the first measured program would wait for the disk, and later ones would not.
func WarmPageCache(cache string) error {
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

// ServePlain is Serve without TLS, for measurements: encryption would take more time than the
// measured work.
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
