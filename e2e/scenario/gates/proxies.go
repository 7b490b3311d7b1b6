package gates

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/e2e/scenario"
)

// blockPage is the answer of a web filter.
const blockPage = "<!DOCTYPE html><html><head><title>Access denied by policy 4711</title></head><body>Ask the service desk.</body></html>"

// command runs a program of this machine with the connected host's environment.
func (s *stage) command(args ...string) (scenario.Result, error) {
	return s.Command(exec.Command(args[0], args[1:]...))
}

// through plays a middlebox; prepare sets its behaviour. It returns further variables.
func through(prepare func(m *middlebox) []string) func(context.Context, *stage) (scenario.Result, error) {
	return func(_ context.Context, s *stage) (scenario.Result, error) {
		m, err := newMiddlebox(s)
		if err != nil {
			return scenario.Result{}, err
		}
		defer m.Close()
		env := prepare(m)
		return m.build(s, m.ca, env...)
	}
}

// inside is through for the answers inside of TLS.
func inside(content func(w http.ResponseWriter, r *http.Request, m *middlebox) bool) func(context.Context, *stage) (scenario.Result, error) {
	return through(func(m *middlebox) []string {
		m.content = func(w http.ResponseWriter, r *http.Request) bool { return content(w, r, m) }
		return nil
	})
}

// once calls do for the first matching request.
func once(matches func(*http.Request) bool, do func(w http.ResponseWriter, r *http.Request, m *middlebox)) func(context.Context, *stage) (scenario.Result, error) {
	var first sync.Once
	return inside(func(w http.ResponseWriter, r *http.Request, m *middlebox) (answered bool) {
		if matches(r) {
			first.Do(func() { do(w, r, m); answered = true })
		}
		return answered
	})
}

func isBlob(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/")
}

func isManifest(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }
func isKey(r *http.Request) bool      { return strings.Contains(r.URL.Path, "RPM-GPG-KEY") }
func isMetadata(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "repomd.xml") }

func page(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	fmt.Fprint(w, blockPage)
}

// blocks answers the matching requests with a page.
func blocks(matches func(*http.Request) bool, status int) func(http.ResponseWriter, *http.Request, *middlebox) bool {
	return func(w http.ResponseWriter, r *http.Request, _ *middlebox) bool {
		if matches(r) {
			page(w, status)
		}
		return matches(r)
	}
}

func proxyTrials() []trial {
	return append(refusals(), survived()...)
}

// refusals end the build. The error names the proxy, the certificate or the page.
func refusals() []trial {
	return []trial{
		{"TLS inspection with an unknown CA", func(_ context.Context, s *stage) (scenario.Result, error) {
			m, err := newMiddlebox(s)
			if err != nil {
				return scenario.Result{}, err
			}
			defer m.Close()
			return m.build(s, s.Upstream.CA)
		}, 1, []string{"Bank Inspection CA", "sources.ca"}},
		{"a proxy that asks for NTLM", through(func(m *middlebox) []string {
			m.connect = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Add("Proxy-Authenticate", "NTLM")
				w.Header().Add("Proxy-Authenticate", "Negotiate")
				w.WriteHeader(http.StatusProxyAuthRequired)
				return true
			}
			return nil
		}), 1, []string{"127.0.0.1:", "NTLM", "cntlm"}},
		{"a proxy that refuses CONNECT", through(func(m *middlebox) []string {
			m.connect = func(w http.ResponseWriter, _ *http.Request) bool { page(w, http.StatusForbidden); return true }
			return nil
		}), 1, []string{"proxy", "127.0.0.1:"}},
		{"a block page in place of a manifest", inside(blocks(isManifest, http.StatusOK)), 1, []string{"Access denied by policy 4711"}},
		{"a 403 page for a manifest", inside(blocks(isManifest, http.StatusForbidden)), 1,
			[]string{"a proxy or login page answered through the proxy http://127.0.0.1:", "403 Forbidden", "Access denied by policy 4711", "not the registry", "to allow https://" + mirror}},
		{"a 403 page for repository metadata", inside(blocks(isMetadata, http.StatusForbidden)), 1,
			[]string{"repomd.xml: a proxy or login page answered through the proxy http://127.0.0.1:", "Access denied by policy 4711", "to allow https://" + mirror}},
		{"a block page in place of a key", inside(blocks(isKey, http.StatusOK)), 1, []string{"RPM-GPG-KEY", "Access denied by policy 4711"}},
		{"a block page in place of repository metadata", inside(blocks(isMetadata, http.StatusOK)), 1, []string{"repomd.xml", "Access denied by policy 4711"}},
		{"an HTTPS_PROXY that is no URL", func(_ context.Context, s *stage) (scenario.Result, error) {
			r, err := s.command("env", "HTTPS_PROXY=http://user:pass%word@proxy.bank.example:3128", s.Program, "bundle", "-f", s.Work+"/airgap.yaml", "-o", s.dir+"/out")
			if strings.Contains(r.Stdout+r.Stderr, "pass%word") {
				err = fmt.Errorf("the password of the proxy is in the output:\n%s%s", r.Stdout, r.Stderr)
			}
			return r, err
		}, anyCode, []string{"HTTPS_PROXY"}},
		{"a proxy that changes every blob", inside(func(w http.ResponseWriter, r *http.Request, _ *middlebox) bool {
			if isBlob(r) {
				w.Header().Set("Content-Length", "4")
				fmt.Fprint(w, "junk")
			}
			return isBlob(r)
		}), 1, []string{"image ", "4 bytes", "in two downloads: a proxy or a mirror on the way sends other bytes"}},
	}
}

// survived are faults that the build repairs.
func survived() []trial {
	status := func(code int, header ...string) func(http.ResponseWriter, *http.Request, *middlebox) {
		return func(w http.ResponseWriter, _ *http.Request, _ *middlebox) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	return []trial{
		{"TLS inspection with its CA in sources.ca", through(func(*middlebox) []string { return nil }), 0, []string{"RPM key"}},
		{"a proxy that strips the lengths", inside(func(w http.ResponseWriter, r *http.Request, m *middlebox) bool {
			m.behind.ServeHTTP(&withoutLength{w}, r)
			return true
		}), 0, nil},
		{"a proxy that holds a blob for 65 s", once(isBlob, func(w http.ResponseWriter, r *http.Request, m *middlebox) {
			time.Sleep(65 * time.Second)
			m.behind.ServeHTTP(w, r)
		}), 0, nil},
		{"a proxy that cuts a blob", once(isBlob, func(w http.ResponseWriter, r *http.Request, m *middlebox) {
			m.behind.ServeHTTP(&cut{w, 100_000}, r)
		}), 0, nil},
		{"a blob that is wrong once", once(isBlob, func(w http.ResponseWriter, r *http.Request, m *middlebox) {
			m.behind.ServeHTTP(&inverted{w}, r)
		}), 0, nil},
		{"403 once", once(isBlob, status(http.StatusForbidden)), 0, nil},
		{"429 with Retry-After", once(isManifest, status(http.StatusTooManyRequests, "Retry-After", "2")), 0, nil},
		{"503 with Retry-After", once(isBlob, status(http.StatusServiceUnavailable, "Retry-After", "2")), 0, nil},
		{"405 for HEAD", inside(func(w http.ResponseWriter, r *http.Request, _ *middlebox) bool {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			return r.Method == http.MethodHead
		}), 0, nil},
	}
}

// withoutLength removes the length of an answer, as a proxy does that scans the content.
type withoutLength struct{ http.ResponseWriter }

func (w *withoutLength) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}

// cut closes the connection after a number of bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// inverted changes every byte.
type inverted struct{ http.ResponseWriter }

func (i *inverted) Write(p []byte) (int, error) {
	wrong := make([]byte, len(p))
	for n, b := range p {
		wrong[n] = ^b
	}
	return i.ResponseWriter.Write(wrong)
}
