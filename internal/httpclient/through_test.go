package httpclient_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/internal/proxytest"
)

// noProxySettings removes the settings of the machine that runs the test.
func noProxySettings(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
}

// server answers "here" under the name example.com, which only the proxy can resolve.
func server(t *testing.T) (*httptest.Server, func(context.Context, string, string) (net.Conn, error)) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
}

func get(t *testing.T, p *httpclient.Proxies, trusts *x509.Certificate, url string) (string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(trusts)
	c := httpclient.New(httpclient.Through(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}, p))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// TestProxyRefuses: the error names the proxy, the reason and the next step, and no password.
func TestProxyRefuses(t *testing.T) {
	noProxySettings(t)
	upstream, dial := server(t)
	p := proxytest.New()
	p.Dial = dial
	proxy := httptest.NewServer(p)
	defer proxy.Close()
	at := strings.TrimPrefix(proxy.URL, "http://")
	closed := "http://127.0.0.1:" + porttest.Reserve(t)
	basic := proxytest.Fault{Login: []string{"Negotiate", `Basic realm="bank"`}, User: "kim:s3cret"}
	for name, c := range map[string]struct {
		fault proxytest.Fault
		login string
		to    string
		says  []string
	}{
		"NTLM":              {fault: proxytest.Fault{Login: []string{"Negotiate", "NTLM", "Kerberos"}}, says: []string{"accepts only logins with Kerberos or NTLM or Negotiate (407", "such as px or cntlm"}},
		"no login":          {fault: basic, says: []string{"requires a login (407 Proxy Authentication Required", "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"}},
		"a wrong login":     {fault: basic, login: "kim:wr0ng@", says: []string{"refuses the user name or password in HTTPS_PROXY"}},
		"a login":           {fault: basic, login: "kim:s3cret@"},
		"403":               {fault: proxytest.Fault{Status: 403, Title: "Blocked & logged"}, says: []string{`(403 Forbidden, with the web page "Blocked & logged")`, "ask the operator"}},
		"503":               {fault: proxytest.Fault{Status: 503}, says: []string{"did not connect to example.com:443 (503 Service Unavailable)"}},
		"a closed port":     {to: closed, says: []string{"did not connect to example.com", "connection refused", "check the address of the proxy in HTTPS_PROXY"}},
		"no proxy":          {to: upstream.URL, says: []string{"the proxy https://"}},
		"everything's fine": {},
	} {
		p.Set(func(*http.Request) proxytest.Fault { return c.fault })
		address := "http://" + c.login + at
		if c.to != "" {
			address = c.to
		}
		t.Setenv("HTTPS_PROXY", address)
		proxies, err := httpclient.EnvironmentProxies()
		if err != nil {
			t.Fatal(err)
		}
		text, err := get(t, proxies, upstream.Certificate(), "https://example.com/x")
		if len(c.says) == 0 {
			if err != nil || text != "here" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
			continue
		}
		proxyError, is := errors.AsType[*httpclient.ProxyError](err)
		if !is {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, says := range c.says {
			if all := proxyError.Error() + "\n" + advice.Of(err); !strings.Contains(all, says) || strings.Contains(all, "wr0ng") || !strings.Contains(all, "the proxy http") {
				t.Errorf("%s: %q is missing in\n%s", name, says, all)
			}
		}
	}
}

// TestProxySettings: a value that is no proxy is an error without the value, and ALL_PROXY and NO_PROXY count.
func TestProxySettings(t *testing.T) {
	for _, c := range []struct {
		environment, url, want, says string
	}{
		{environment: "", url: "https://a.example/", want: ""},
		{environment: "HTTPS_PROXY=http://me:s3cret@p:3128", url: "https://a.example/", want: "http://p:3128"},
		{environment: "HTTPS_PROXY=http://p:3128", url: "http://a.example/", want: ""},
		{environment: "http_proxy=p:3128", url: "http://a.example/", want: "http://p:3128"},
		{environment: "ALL_PROXY=socks5h://p:1080", url: "https://a.example/", want: "socks5h://p:1080"},
		{environment: "all_proxy=socks://p:1080", url: "http://a.example/", want: "socks5://p:1080"},
		{environment: "ALL_PROXY=socks5://p:1080 HTTPS_PROXY=http://q:3128", url: "https://a.example/", want: "http://q:3128"},
		{environment: "ALL_PROXY=http://p:3128 NO_PROXY=.bank.example,10.0.0.0/8", url: "https://harbor.bank.example/", want: ""},
		{environment: "ALL_PROXY=http://p:3128 NO_PROXY=.bank.example,10.0.0.0/8", url: "https://10.1.2.3:8443/", want: ""},
		{environment: "HTTPS_PROXY=https://[fd00::1]:3128", url: "https://A.example/", want: "https://[fd00::1]:3128"},
		{environment: "HTTPS_PROXY=http://me:s3cret@@p:port", says: "read HTTPS_PROXY: its value is not the address of a proxy"},
		{environment: "HTTPS_PROXY=http://me:s3cret/x@p:3128", says: "read HTTPS_PROXY: "},
		{environment: "https_proxy=http://me:12#s3cret@p:3128", says: "read https_proxy: "},
		{environment: "HTTP_PROXY=http:/s3cret:3128", says: "read HTTP_PROXY: "},
		{environment: "ALL_PROXY=socks4://me:s3cret@p:1080", says: "read ALL_PROXY: proxies of type socks4 are not supported"},
		{environment: "HTTPS_PROXY=s3cret://p:1080", says: "read HTTPS_PROXY: the type of the proxy is not supported"},
		{environment: "HTTPS_PROXY=http://s3cret:99999", says: "read HTTPS_PROXY: its port is not a number from 1 to 65535"},
		{environment: "HTTPS_PROXY=http://%zz:s3cret", says: "read HTTPS_PROXY: "},
	} {
		noProxySettings(t)
		for one := range strings.FieldsSeq(c.environment) {
			name, value, _ := strings.Cut(one, "=")
			t.Setenv(name, value)
		}
		p, err := httpclient.EnvironmentProxies()
		if c.says != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error()+advice.Of(err), "s3cret") || advice.Of(err) == "" {
				t.Errorf("%s: %v; %s", c.environment, err, advice.Of(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.environment, err)
			continue
		}
		u, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.For(u.URL); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.environment, c.url, got, c.want)
		}
	}
}

// TestPlainProxy: without TLS a proxy answers itself.
func TestPlainProxy(t *testing.T) {
	noProxySettings(t)
	p := proxytest.New()
	proxy := httptest.NewServer(p)
	defer proxy.Close()
	p.Set(func(*http.Request) proxytest.Fault { return proxytest.Fault{Login: []string{"NTLM"}} })
	proxies, err := httpclient.FixedProxy("sources.proxy", proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s, _ := server(t)
	_, err = get(t, proxies, s.Certificate(), "http://packages.example/x")
	if known, is := errors.AsType[*httpclient.ProxyError](err); !is || known.Temporary() || !known.Itself() || !strings.Contains(advice.Of(err), "sources.proxy") || time.Since(began) > time.Second {
		t.Errorf("%v; %s", err, advice.Of(err))
	}
}

func TestAgain(t *testing.T) {
	wrong := errors.New("wrong content")
	for name, c := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"right":       {[]error{nil}, 1, nil},
		"wrong once":  {[]error{wrong, nil}, 2, nil},
		"wrong":       {[]error{wrong, wrong}, 2, wrong},
		"other error": {[]error{io.EOF}, 1, io.EOF},
	} {
		calls := 0
		err := httpclient.Again(t.Context(), func(err error) bool { return errors.Is(err, wrong) }, func(ctx context.Context) error {
			calls++
			if httpclient.IsFresh(ctx) != (calls == 2) {
				t.Errorf("%s: call %d", name, calls)
			}
			return c.errs[calls-1]
		})
		if calls != c.calls || !errors.Is(err, c.want) {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
}
