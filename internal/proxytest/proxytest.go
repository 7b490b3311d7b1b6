// Package proxytest is the proxy of a site's network, for tests. It tunnels TLS or decrypts it, and changes requests
// and answers as filtering, scanning and caching proxies do. It uses only the standard library, so that the lab
// can use it too.
package proxytest

import (
	"context"
	"crypto/tls"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault changes one request or its answer. The zero value changes nothing.
type Fault struct {
	Login      []string      // answer 407 with these ways to log in ("NTLM", `Basic realm="bank"`), unless the request has User
	User       string        // USER:PASSWORD that Login accepts; "" accepts none
	Hold       time.Duration // wait before the first byte
	Status     int           // answer with this status, in upstream's place
	Title      string        // title of the HTML page of Status; Status 200 is a portal
	RetryAfter string        // header of Status
	Flip       bool          // change the last byte of the body
	NoLength   bool          // remove Content-Length; the end of the connection ends the body
	NoRange    bool          // remove Range, so that upstream sends the whole file
	Range      string        // replace Content-Range
	Cut        int64         // close the connection after these bytes of the body; 0: do not
	Type       string        // replace Content-Type
	Drop       []string      // remove these headers of the answer
}

// Proxy is an http.Handler for CONNECT and for requests with a whole URL.
type Proxy struct {
	// Dial connects to a server. Its default is the network. Set it before the first request.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	authority *authority
	transport *http.Transport

	mu    sync.Mutex
	fault func(*http.Request) Fault
	asked []string
}

// New returns a proxy that tunnels TLS.
func New() *Proxy {
	p := &Proxy{Dial: (&net.Dialer{}).DialContext}
	p.transport = &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.Dial(ctx, network, address)
	}}
	return p
}

// Decrypt makes the proxy decrypt TLS with certificates of its own CA. upstream is its configuration as the client of
// servers. Decrypt returns the CA's certificate as PEM.
func (p *Proxy) Decrypt(upstream *tls.Config) ([]byte, error) {
	made, err := newAuthority()
	if err != nil {
		return nil, err
	}
	p.authority, p.transport.TLSClientConfig = made, upstream
	return made.pem, nil
}

// Set sets the fault of each request from now on: of a CONNECT, and of each request that the proxy can read.
func (p *Proxy) Set(fault func(*http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Asked lists the requests as METHOD HOST/PATH.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// note records a request and returns its fault.
func (p *Proxy) note(r *http.Request) Fault {
	p.mu.Lock()
	fault := p.fault
	path := r.URL.Path
	p.asked = append(p.asked, r.Method+" "+r.Host+path)
	p.mu.Unlock()
	if fault == nil {
		return Fault{}
	}
	return fault(r)
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.forward(w, r)
		return
	}
	f := p.note(r)
	if f.refuse(w, r) {
		return
	}
	var to net.Conn
	if p.authority == nil {
		var err error
		if to, err = p.Dial(r.Context(), "tcp", r.Host); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer to.Close()
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if to == nil {
		p.decrypt(from, r.Host)
		return
	}
	go func() { _, _ = io.Copy(to, buffered); to.Close() }()
	_, _ = io.Copy(from, to)
}

// decrypt serves a client's connection as its target.
func (p *Proxy) decrypt(from net.Conn, target string) {
	l := newOneConn(from)
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.authority.leaf(host) }}
	server := &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: quiet(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "https", target
		p.forward(w, r)
	})}
	_ = server.Serve(tls.NewListener(l, config))
}

// refuse answers in upstream's place, and waits. It reports whether it answered.
func (f Fault) refuse(w http.ResponseWriter, r *http.Request) bool {
	if len(f.Login) > 0 && (f.User == "" || r.Header.Get("Proxy-Authorization") != basic(f.User)) {
		for _, way := range f.Login {
			w.Header().Add("Proxy-Authenticate", way)
		}
		f.Status, f.Title = http.StatusProxyAuthRequired, "Authentication required"
	}
	if f.Hold > 0 {
		select {
		case <-time.After(f.Hold):
		case <-r.Context().Done():
			return true
		}
	}
	if f.Status == 0 {
		return false
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(f.Status)
	if f.Title != "" {
		fmt.Fprintf(w, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body></body></html>\n", html.EscapeString(f.Title))
	}
	return true
}

// forward sends a readable request to upstream, and its answer back.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	f := p.note(r)
	if f.refuse(w, r) {
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "Connection"} {
		out.Header.Del(name)
	}
	if f.NoRange {
		out.Header.Del("Range")
	}
	response, err := p.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	f.headers(response)
	if f.NoLength || f.Cut > 0 {
		f.raw(w, response)
		return
	}
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, f.body(response))
}

func (f Fault) headers(response *http.Response) {
	if f.NoLength {
		response.Header.Del("Content-Length")
	}
	if f.Range != "" && response.StatusCode == http.StatusPartialContent {
		response.Header.Set("Content-Range", f.Range)
	}
	if f.Type != "" {
		response.Header.Set("Content-Type", f.Type)
	}
	for _, name := range f.Drop {
		response.Header.Del(name)
	}
}

func (f Fault) body(response *http.Response) io.Reader {
	var body io.Reader = response.Body
	if f.Flip {
		body = &flipped{from: response.Body}
	}
	if f.Cut > 0 {
		body = io.LimitReader(body, f.Cut)
	}
	return body
}

// raw writes an answer as http.Server does not: without a length, or with a shorter body.
func (f Fault) raw(w http.ResponseWriter, response *http.Response) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", response.StatusCode, http.StatusText(response.StatusCode))
	response.Header.Set("Connection", "close")
	_ = response.Header.Write(&head)
	if _, err := io.WriteString(conn, head.String()+"\r\n"); err == nil {
		_, _ = io.Copy(conn, f.body(response))
	}
}
