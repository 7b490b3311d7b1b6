package exampletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni/cnitest"
)

const recordedDir = "testdata/upstream"

// The user of the proxy and of the mirror of the company; and the CDN of Red Hat, which requires the
// certificate of a subscriber.
const (
	user, password = "svc-airgap", "s3cret"
	cdn            = "cdn.redhat.com"
)

// upstream emulates the internet behind a proxy: every host by name, over TLS, with the data in
// testdata. No connection goes to the real internet.
type upstream struct {
	proxy  string // HOST:PORT
	key    *rpm.Key
	images *images
	files  map[string][]byte // by HOST/PATH
	sizes  map[string]int64  // of files without content, by HOST/PATH

	public, redhat, company *ca

	mu    sync.Mutex
	asked map[string]bool // hosts with a connection
	// inspected: the proxy intercepts TLS, so that every host presents a certificate of the company.
	inspected bool
}

// connect starts the proxy.
func connect(t testing.TB) *upstream {
	t.Helper()
	u := &upstream{
		images: readImages(t), files: map[string][]byte{}, sizes: map[string]int64{}, asked: map[string]bool{},
		public: newCA(t, "public"), redhat: newCA(t, "Red Hat"), company: newCA(t, "company"),
	}
	var err error
	u.key, err = rpm.NewKey(signedAt.Add(-time.Hour))
	must(t, err)
	u.record(t)
	quiet := log.New(io.Discard, "", 0)
	behind := &handedOver{conns: make(chan net.Conn)}
	behind.ended, behind.end = context.WithCancel(context.Background())
	inside := &http.Server{Handler: http.HandlerFunc(u.serve), ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	u.proxy = listener.Addr().String()
	outside := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { u.tunnel(w, r, behind) }), ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	go func() { _ = inside.Serve(tls.NewListener(behind, u.identity())) }()
	go func() { _ = outside.Serve(listener) }()
	t.Cleanup(func() { outside.Close(); inside.Close() })
	return u
}

// handedOver is a listener for the connections of the clients of the proxy.
type handedOver struct {
	conns chan net.Conn
	ended context.Context
	end   context.CancelFunc
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended.Done():
		return nil, net.ErrClosed
	}
}

// give passes a connection to Accept.
func (h *handedOver) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.ended.Done():
		c.Close()
	}
}

func (h *handedOver) Close() error   { h.end(); return nil }
func (h *handedOver) Addr() net.Addr { return &net.TCPAddr{} }

// tunnel handles CONNECT for the user of the proxy. The other end of every tunnel is serve.
func (u *upstream) tunnel(w http.ResponseWriter, r *http.Request, to *handedOver) {
	who := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	if name, secret, _ := who.BasicAuth(); r.Method != http.MethodConnect || name != user || secret != password {
		http.Error(w, "the proxy requires a login", http.StatusProxyAuthRequired)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil || buffered.Reader.Buffered() > 0 {
		return
	}
	u.mu.Lock()
	u.asked[strings.TrimSuffix(r.Host, ":443")] = true
	u.mu.Unlock()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	to.give(conn)
}

// identity presents a certificate for every host name.
func (u *upstream) identity() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		switch {
		case u.inspected:
			return u.company.issue(hello.ServerName)
		case hello.ServerName == cdn:
			return u.redhat.issue(cdn)
		default:
			return u.public.issue(hello.ServerName)
		}
	}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if hello.ServerName != cdn {
			return nil, nil
		}
		c := config.Clone()
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, u.redhat.pool()
		return c, nil
	}
	return config
}

// mirrored maps the paths of the Artifactory of the company to upstream. Images of the company are only
// there.
func mirrored() map[string]string {
	return map[string]string{
		"/v2/k8s-images/": "registry.k8s.io/v2/", "/v2/ghcr-images/": "ghcr.io/v2/", "/v2/payments/": "artifactory.corp.example/v2/payments/",
		"/artifactory/rocky/": "dl.rockylinux.org/pub/rocky/", "/artifactory/k8s-rpms/": "pkgs.k8s.io/",
	}
}

// serve answers for every host.
func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	host, at := r.Host, r.URL.Path
	if host == "artifactory.corp.example" {
		if name, secret, _ := r.BasicAuth(); name != user || secret != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="Artifactory"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for prefix, upstream := range mirrored() {
			if rest, is := strings.CutPrefix(at, prefix); is {
				host, at, _ = strings.Cut(upstream+rest, "/")
				at = "/" + at
			}
		}
	}
	if host == "index.docker.io" {
		host = "docker.io"
	}
	if strings.HasPrefix(at, "/v2/") {
		u.images.serve(w, r, host, at)
		return
	}
	u.file(w, r, host+at)
}

func (u *upstream) file(w http.ResponseWriter, r *http.Request, name string) {
	if size, known := u.sizes[name]; known {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		return // a plan does not request the content
	}
	content, known := u.files[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, path.Base(name), time.Time{}, bytes.NewReader(content))
}

// record adds the files in testdata to their hosts.
func (u *upstream) record(t testing.TB) {
	t.Helper()
	public, err := u.key.Public()
	must(t, err)
	repositories, err := filepath.Glob(filepath.Join(recordedDir, "rpm/*.txt"))
	must(t, err)
	for _, file := range repositories {
		r := readRecorded(t, file)
		if r.key != "" {
			u.files[hostPath(r.key)] = public
		}
		for name, content := range r.repodata(t, u.key) {
			for _, at := range r.at {
				u.files[hostPath(at)+name] = content
			}
		}
	}
	u.recordFiles(t)
	maps.Copy(u.files, cnitest.Charts(t))
	u.recordChart(t, "metrics-server", "3.13.0", "kubernetes-sigs.github.io/metrics-server/")
	u.recordChart(t, "traefik", "37.1.1", "traefik.github.io/charts/")
}

func (u *upstream) recordFiles(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedDir, "files.txt"))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || line[0] == '#' {
			continue
		}
		at := hostPath(words[0])
		u.sizes[at], err = strconv.ParseInt(words[1], 10, 64)
		must(t, err)
		u.files[path.Dir(at)+"/"+words[2]] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256([]byte(at)), path.Base(at))
	}
}

func (u *upstream) recordChart(t testing.TB, name, version, at string) {
	t.Helper()
	archive, err := chart.Pack(filepath.Join(recordedDir, "charts", name))
	must(t, err)
	file := name + "-" + version + ".tgz"
	u.files[at+file] = archive
	u.files[at+"index.yaml"] = fmt.Appendf(nil, "apiVersion: v1\nentries:\n  %s:\n    - {version: %s, digest: %x, urls: [%s]}\n", name, version, sha256.Sum256(archive), file)
}

func hostPath(url string) string { return strings.TrimPrefix(url, "https://") }

// hosts returns the hosts with a connection since the last call.
func (u *upstream) hosts() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := slices.Sorted(maps.Keys(u.asked))
	clear(u.asked)
	return all
}
