// Package web serves the files and images of the lab's internet like a corporate mirror: on
// one TLS port, with the real host name at the beginning of the path.
//
//	/HOST/PATH             a file
//	/v2/HOST/REPO/...      the read half of the OCI distribution API
//
// Images come directly from OCI layouts, in which annotations have their names. The server
// copies nothing, and reads a layout again after a change. Inject adds faults for single
// repositories and blobs while it runs.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Server is a running server.
type Server struct {
	URL    string // https://ADDRESS, or http://ADDRESS
	faults *faults
	tls    *tls.Config // nil: plain HTTP
	http   *http.Server
	done   chan error
}

// Site has the content to serve.
type Site struct {
	Files   string      // directory of HOST/PATH
	Layouts []string    // OCI layouts; missing ones are left out
	TLS     *tls.Config // nil: plain HTTP
}

// Serve serves a site on addr until ctx ends.
func Serve(ctx context.Context, site Site, addr string) (*Server, error) {
	images := &library{layouts: site.Layouts}
	if _, err := images.images(); err != nil {
		return nil, err
	}
	files, err := os.OpenRoot(site.Files)
	if err != nil {
		return nil, fmt.Errorf("open the served files: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), faults: &faults{}, tls: site.TLS, done: make(chan error, 1)}
	if site.TLS != nil {
		s.URL = "https://" + listener.Addr().String()
	}
	s.http = &http.Server{Handler: handler(files, images, s.faults), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	go func() {
		err := s.http.Serve(s.secured(listener))
		stop()
		files.Close()
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.done <- err
	}()
	return s, nil
}

// Also serves on an additional listener, with TLS as on the first one.
func (s *Server) Also(l net.Listener) {
	go func() { _ = s.http.Serve(s.secured(l)) }() // ends when the server does
}

// secured adds TLS. It does not offer HTTP/2, which would slow down large transfers over
// loopback.
func (s *Server) secured(l net.Listener) net.Listener {
	if s.tls == nil {
		return l
	}
	return tls.NewListener(l, s.tls)
}

// Wait waits until the server ends. It returns nil after Close or the end of the context.
func (s *Server) Wait() error {
	err := <-s.done
	s.done <- err
	return err
}

// Close stops the server and closes its connections.
func (s *Server) Close() error {
	s.http.Close()
	return s.Wait()
}

func handler(files *os.Root, images *library, faults *faults) http.Handler {
	static := serveFiles(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "this mirror is read-only", http.StatusMethodNotAllowed)
			return
		}
		path, ok := strings.CutPrefix(r.URL.Path, "/v2")
		if !ok || path != "" && !strings.HasPrefix(path, "/") {
			static(w, r)
			return
		}
		all, err := images.images()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all.serve(w, r, strings.Trim(path, "/"), faults)
	})
}

// serveFiles serves files. Directories have no listing.
func serveFiles(root *os.Root) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := root.Open(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, r.URL.Path, info.ModTime(), f)
	}
}
