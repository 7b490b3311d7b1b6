package destinations

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/fetch"
)

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

// TestList: a registry with a token service and storage, a mirror list, a chart repository, a mirror, and a
// host without an answer.
func TestList(t *testing.T) {
	var r Recorder
	for _, a := range []struct {
		url, purpose, from, proxy string
		err                       error
	}{
		{url: "https://index.docker.io/v2/library/a/manifests/1", purpose: "image docker.io/library/a:1"},
		{url: "https://auth.docker.io/token", purpose: "image docker.io/library/a:1"},
		{url: "https://cdn.example/blob", from: "https://index.docker.io/v2/library/a/blobs/x", purpose: "image docker.io/library/a:1"},
		{url: "https://index.docker.io:443/v2/library/b/manifests/1", purpose: "image docker.io/library/b:1"},
		{url: "https://mirrors.example/list", purpose: "packages of repository baseos"},
		{url: "http://m1.example/os/repodata/repomd.xml", purpose: "packages of repository baseos"},
		{url: "https://charts.example/index.yaml", purpose: "chart till of cash"},
		{url: "https://storage.example/till.tgz", purpose: "chart till of cash"},
		{url: "https://[fd00::1]:8443/gh/runc", purpose: "file runc", proxy: "http://proxy.example:3128"},
		{url: "https://closed.example/x", purpose: "images.manifests", err: errors.New("connection refused")},
	} {
		r.See(fetch.Asked{URL: parsed(t, a.url), Purpose: a.purpose, From: parsed(t, a.from), Proxy: parsed(t, a.proxy), Err: a.err})
	}
	list := r.List(fetch.Sources{Rewrite: []fetch.Rewrite{{From: "github.com", To: "[fd00::1]:8443/gh"}}}, errors.New("x"))
	var text strings.Builder
	require.NoError(t, list.Write(&text))
	assert.Equal(t, `auth.docker.io:443  https
    issues the tokens of a registry
    for image docker.io/library/a:1
    moved by: sources.rewrite with from: docker.io
cdn.example:443  https
    redirect from index.docker.io:443
    for image docker.io/library/a:1
    moved by: sources.rewrite with from: docker.io
charts.example:443  https
    for chart till of cash
    moved by: addons[].chart.repository; or sources.rewrite with from: charts.example
closed.example:443  https
    for images.manifests
    moved by: sources.rewrite with from: closed.example
    no answer: connection refused
[fd00::1]:8443  https, through the proxy proxy.example:3128
    for file runc
    moved by: sources.rewrite[0].to: it is the mirror of github.com
index.docker.io:443  https
    for image docker.io/library/a:1
    for image docker.io/library/b:1
    moved by: sources.rewrite with from: docker.io
m1.example:80  http
    for packages of repository baseos
    moved by: packages.repositories, entry baseos; or sources.rewrite with from: m1.example
mirrors.example:443  https
    for packages of repository baseos
    moved by: packages.repositories, entry baseos; or sources.rewrite with from: mirrors.example
storage.example:443  https
    for chart till of cash
    moved by: addons[].chart.repository; or sources.rewrite with from: storage.example
incomplete: closed.example:443 did not answer, so the hosts that its answers name are unknown
incomplete: the plan failed, so later requests are unknown
9 destinations; object storage and mirrors can change with the day and the place: ask for them by domain, or set a mirror
`, text.String())
	got, err := json.Marshal(list.Destinations[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"host": "cdn.example", "port": 443, "protocol": "https", "for": ["image docker.io/library/a:1"],
		"redirectedBy": ["index.docker.io:443"], "setting": "sources.rewrite with from: docker.io"}`, string(got))
}

// TestAnsweredLater: a host that answers once is no failure.
func TestAnsweredLater(t *testing.T) {
	var r Recorder
	r.See(fetch.Asked{URL: parsed(t, "https://a.example/"), Err: errors.New("timeout")})
	r.See(fetch.Asked{URL: parsed(t, "https://a.example/")})
	list := r.List(fetch.Sources{}, nil)
	assert.Empty(t, list.Incomplete)
	assert.Empty(t, list.Destinations[0].Failure)
}
